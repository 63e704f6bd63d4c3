//! What the end-to-end tests need from the machine: Chromium, Node and the packages of `e2e`.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{answer, find_program, install_packages, run_aside};
use crate::workspace::Workspace;

/// What the test runner asks for.
const NODE_AT_LEAST: u32 = 18;

/// Installs what is missing.
pub(super) fn prepare(workspace: &Workspace) -> Result<()> {
    let mut missing = Vec::new();
    if chromium().is_none() {
        missing.push("chromium");
    }
    if find_program(&["node"]).is_none() {
        missing.push("nodejs");
    }
    if find_program(&["npm"]).is_none() {
        missing.push("npm");
    }
    if !missing.is_empty() {
        let names = missing.join(" and ");
        ensure!(
            install_packages(&missing).with_context(|| format!("installing {names}"))?,
            "the end-to-end tests need {names}: install them with your system's package manager"
        );
    }
    let version = answer(Command::new("node").arg("--version")).context("asking node for its version")?;
    ensure!(
        major(&version).is_some_and(|major| major >= NODE_AT_LEAST),
        "the end-to-end tests need Node {NODE_AT_LEAST} or newer; this is {version}"
    );
    install_node_packages(workspace)
}

/// The browser: the one that the environment names, else the first that the search path has.
pub(super) fn chromium() -> Option<PathBuf> {
    env::var_os("STINT_CHROMIUM").map(PathBuf::from).or_else(|| {
        find_program(&[
            "chromium",
            "chromium-browser",
            "google-chrome",
            "google-chrome-stable",
        ])
    })
}

/// The packages that the lock file names, unless they are there.
fn install_node_packages(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root().join("e2e");
    let wanted =
        fs::read_to_string(folder.join("package-lock.json")).context("reading e2e/package-lock.json")?;
    let stamp = folder.join("node_modules/.installed-lock.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    workspace.prepare(&mut npm);
    npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(&folder);
    run_aside(&mut npm).context("installing the packages of e2e")?;
    fs::write(&stamp, wanted).context("noting which packages are installed")
}

/// `v20.11.1` is 20.
fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_of_node_is_the_first_number() {
        assert_eq!(major("v18.20.4"), Some(18));
        assert_eq!(major("v20"), Some(20));
        assert_eq!(major("20.1"), None);
        assert_eq!(major(""), None);
    }
}
