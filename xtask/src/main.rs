//! Set-up, site build, demo and tests, one command each.
//!
//! Every command installs what it misses, or says in one sentence what to do. Nothing here is part of the
//! product: this crate is the only one that starts other programs to build things. Absent on purpose: a
//! configuration file, a task graph. Cargo decides what to compile, a stamp decides what to pack.

#![expect(
    clippy::print_stdout,
    reason = "a command line tool answers on standard output"
)]

mod process;
mod serve;
mod site;
mod suite;
mod wasm_target;
mod watch;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::serve::Profile;
use crate::site::WasmProfile;
use crate::suite::Verdict;
use crate::workspace::Workspace;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  demo [--release] [-- ARGS]  build all, then serve the example on http://127.0.0.1:7400
                              (ARGS go to `stint demo`, see `stint demo --help`)
  dev [-- ARGS]               the same with quick builds, again at every change of a source
  test                        unit, property, store and API tests, then end to end in Chromium
  build [--release]           the site and the server; with --release one binary that holds the site
  wasm-target                 make wasm32-unknown-unknown buildable and print how to call cargo for it

STINT_WASM_ROUTE=rustup|debian chooses where the wasm target comes from; unset, both are tried.";

fn main() -> ExitCode {
    match dispatch(std::env::args().skip(1).collect()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: Vec<String>) -> Result<ExitCode> {
    let (own, passed_on) = split_at_dashes(&arguments);
    let workspace = Workspace::find()?;
    match own.as_slice() {
        ["demo"] => serve::demo(&workspace, Profile::Dev, passed_on)?,
        ["demo", "--release"] => serve::demo(&workspace, Profile::Release, passed_on)?,
        ["dev"] => watch::dev(&workspace, passed_on)?,
        ["build"] => build(&workspace, Profile::Dev)?,
        ["build", "--release"] => build(&workspace, Profile::Dist)?,
        ["wasm-target"] => println!("{}", wasm_target::ensure(&workspace)?),
        ["test"] => {
            return Ok(match suite::run(&workspace) {
                Verdict::Passed => ExitCode::SUCCESS,
                Verdict::Failed => ExitCode::FAILURE,
            });
        }
        ["help" | "--help" | "-h"] => println!("{USAGE}"),
        [] => bail!("a command is needed\n\n{USAGE}"),
        _ => bail!("unknown command `{}`\n\n{USAGE}", own.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}

fn build(workspace: &Workspace, profile: Profile) -> Result<()> {
    site::build(workspace, WasmProfile::Release)?;
    site::check_weight(workspace)?;
    let binary = serve::build(workspace, profile)?;
    println!("built {}", binary.display());
    Ok(())
}

/// What comes before a lone `--`, and what comes after it.
fn split_at_dashes(arguments: &[String]) -> (Vec<&str>, &[String]) {
    let at = arguments.iter().position(|argument| argument == "--");
    let (own, passed_on) = match at {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    (own.iter().map(String::as_str).collect(), passed_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn arguments_after_two_dashes_are_passed_on() {
        let given = words("demo --release -- --speed 60 -- x");
        let (own, passed_on) = split_at_dashes(&given);
        assert_eq!(own, ["demo", "--release"]);
        assert_eq!(passed_on, words("--speed 60 -- x"));
    }

    #[test]
    fn an_unknown_command_is_refused_with_the_usage() {
        let refusal = dispatch(words("bulid")).unwrap_err().to_string();
        assert!(refusal.starts_with("unknown command `bulid`"));
        assert!(refusal.contains("Usage: cargo xtask"));
    }
}
