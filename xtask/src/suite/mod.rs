//! Every test there is, and one line that counts them.
//!
//! The order is that of cost: tests in process first, the browser last. A step that fails does not hide the next
//! one; a step that can't run at all counts as one failure.

mod browser;
mod count;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};

use crate::process::{Stream, find_program, follow, on_terminal};
use crate::serve::Profile;
use crate::site::{self, WasmProfile};
use crate::workspace::Workspace;

use self::count::{Count, Runner};

/// Did everything pass?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
}

/// One call, so that the crates share one set of features. The server brings the app in with `ssr`; it is named here
/// so that leaving the server out would not leave the app without either face.
const PRODUCT: [&str; 8] = [
    "--package",
    "stint-core",
    "--package",
    "stint-app",
    "--package",
    "stint-server",
    "--features",
    "stint-app/ssr",
];

/// Apart from the product: the site packer's dependencies would change the features of the server's.
const SETUP: [&str; 2] = ["--package", "xtask"];

/// Runs everything and prints the count as the last line.
pub(crate) fn run(workspace: &Workspace) -> Verdict {
    // First, because it may ask for a password.
    let browser = browser::prepare(workspace);
    let product = native(workspace, &PRODUCT);
    // What an earlier call has left behind is not what is tested.
    let server = match &product {
        Ok(count) if count.passed > 0 => Ok(workspace.binary(Profile::Dev.folder())),
        _ => Err(anyhow!("the server was not built")),
    };
    let mut total = counted("tests in process", product);
    total += counted("tests of the set-up", native(workspace, &SETUP));
    let site = site::build(workspace, WasmProfile::Release);
    if site.is_ok() {
        let weight = site::check_weight(workspace).map(|()| Count { passed: 1, failed: 0 });
        total += counted("weight of the browser's code", weight);
    }
    let end_to_end = browser
        .and(server)
        .and_then(|server| site.and_then(|()| end_to_end(workspace, &server)));
    total += counted("end-to-end tests", end_to_end);
    println!("{total}");
    total.verdict()
}

fn counted(step: &str, outcome: Result<Count>) -> Count {
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask: {step}: {error:#}");
        Count { passed: 0, failed: 1 }
    })
}

/// By cargo-nextest where it is installed, else by cargo's own runner: the same tests, in one process a crate.
fn native(workspace: &Workspace, packages: &[&str]) -> Result<Count> {
    let mut cargo = workspace.cargo();
    if find_program(&["cargo-nextest"]).is_some() {
        cargo.args(["nextest", "run", "--no-fail-fast"]).args(packages);
        cargo.args(["--color", if on_terminal() { "always" } else { "never" }]);
        counting(&mut cargo, Runner::Nextest, Stream::Err)
    } else {
        cargo
            .args(["test", "--no-fail-fast", "--lib", "--bins", "--tests"])
            .args(packages);
        counting(&mut cargo, Runner::Libtest, Stream::Out)
    }
}

/// On the server that the tests in process have built: asking cargo for it alone, with another set of features, would
/// compile half of it again.
fn end_to_end(workspace: &Workspace, server: &Path) -> Result<Count> {
    ensure!(server.is_file(), "there is no server at {}", server.display());
    let folder = workspace.root().join("e2e");
    let mut playwright = Command::new("npx");
    workspace.prepare(&mut playwright);
    playwright
        .args(["--no-install", "playwright", "test"])
        .current_dir(folder)
        .env("STINT_BIN", server)
        .env(
            "STINT_CHROMIUM",
            browser::chromium().context("there is no Chromium")?,
        );
    counting(&mut playwright, Runner::Playwright, Stream::Out)
}

fn counting(command: &mut Command, runner: Runner, stream: Stream) -> Result<Count> {
    let mut total = Count::default();
    let status = follow(command, stream, |line| total += runner.count(line))?;
    if !status.success() && total.failed == 0 {
        total.failed = 1;
    }
    ensure!(total.passed + total.failed > 0, "no test was run");
    Ok(total)
}
