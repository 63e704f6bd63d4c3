//! Builds the server, and starts it on the example.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{run, run_aside};
use crate::site::{self, WasmProfile};
use crate::workspace::Workspace;

/// How the server is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Quick to build; reads the site from `target/site` while it runs.
    Dev,
    /// Optimised, cheap to link; holds the site.
    Release,
    /// What is handed out: optimised across crates; holds the site.
    Dist,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }

    /// The folder that cargo uses for the profile.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }
}

/// Compiles the server and says where it is. The site comes first: the optimised profiles embed it.
pub(crate) fn build(workspace: &Workspace, profile: Profile) -> Result<PathBuf> {
    let mut cargo = workspace.cargo();
    cargo.args([
        "build",
        "--package",
        "stint-server",
        "--bin",
        "stint",
        "--profile",
        profile.name(),
    ]);
    run_aside(&mut cargo).context("compiling the server")?;
    Ok(workspace.binary(profile.folder()))
}

/// Builds everything and serves the example until interrupted.
pub(crate) fn demo(workspace: &Workspace, profile: Profile, arguments: &[String]) -> Result<()> {
    site::build(workspace, WasmProfile::Release)?;
    let binary = build(workspace, profile)?;
    run(&mut demo_command(workspace, &binary, arguments))
}

/// The server on the example. It creates the database when there is none and prints its address when it is ready.
pub(crate) fn demo_command(workspace: &Workspace, binary: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(binary);
    workspace.prepare(&mut command);
    command.arg("demo").args(arguments);
    command
}
