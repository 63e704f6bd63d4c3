//! Rebuilds what changed and restarts the server, again and again.
//!
//! Modification times are polled: a few hundred files cost less than a dependency. A build that fails leaves the
//! running server alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::process::{find_program, run_aside};
use crate::serve::{self, Profile};
use crate::site::{self, WasmProfile, files_below};
use crate::workspace::Workspace;

/// Short enough to feel immediate, long enough for an editor to finish saving.
const POLL: Duration = Duration::from_millis(400);

/// Folders whose files the browser's code or the rest of the site is made of.
const SITE: [&str; 4] = ["core", "app", "style", "public"];
/// Folders whose files the server is made of.
const SERVER: [&str; 4] = ["core", "app", "server", "migrations"];

/// Serves the example and keeps up with the sources until interrupted.
pub(crate) fn dev(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut site_seen = modified(workspace, &SITE)?;
    let mut server_seen = modified(workspace, &SERVER)?;
    site::build(workspace, WasmProfile::Dev)?;
    let mut server = start(workspace, arguments)?;
    loop {
        thread::sleep(POLL);
        let (site_now, server_now) = (modified(workspace, &SITE)?, modified(workspace, &SERVER)?);
        if site_now != site_seen {
            site_seen = site_now;
            tell(site::build(workspace, WasmProfile::Dev));
        }
        if server_now != server_seen {
            server_seen = server_now;
            match serve::build(workspace, Profile::Dev) {
                Ok(_) => {
                    stop(&mut server)?;
                    server = start(workspace, arguments)?;
                }
                Err(error) => tell(Err(error)),
            }
        }
    }
}

fn start(workspace: &Workspace, arguments: &[String]) -> Result<Child> {
    let binary = serve::build(workspace, Profile::Dev)?;
    serve::demo_command(workspace, &binary, arguments)
        .spawn()
        .context("starting the server")
}

/// Asks the server to finish, where there is a way to ask, and waits for its end.
fn stop(server: &mut Child) -> Result<()> {
    if server.try_wait().context("looking at the server")?.is_none() {
        match find_program(&["kill"]) {
            Some(kill) => run_aside(Command::new(kill).arg("-TERM").arg(server.id().to_string()))?,
            None => server.kill().context("stopping the server")?,
        }
    }
    server.wait().context("waiting for the server's end")?;
    Ok(())
}

fn tell(outcome: Result<()>) {
    if let Err(error) = outcome {
        eprintln!("xtask: {error:#}; waiting for the next change");
    }
}

/// When each file of these folders was last written.
fn modified(workspace: &Workspace, folders: &[&str]) -> Result<BTreeMap<PathBuf, SystemTime>> {
    let mut times = BTreeMap::new();
    for folder in folders
        .iter()
        .map(|name| workspace.root().join(name))
        .filter(|folder| folder.is_dir())
    {
        for file in files_below(&folder)? {
            // A file may go between the listing and the look at it.
            if let Ok(time) = fs::metadata(&file).and_then(|metadata| metadata.modified()) {
                times.insert(file, time);
            }
        }
    }
    Ok(times)
}
