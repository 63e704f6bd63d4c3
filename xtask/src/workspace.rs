//! Where things are, and how cargo is called from inside a cargo call.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The checkout and its build directory.
pub(crate) struct Workspace {
    root: PathBuf,
    profile_dir: PathBuf,
}

impl Workspace {
    /// The workspace that the current directory lies in.
    pub(crate) fn find() -> Result<Self> {
        let here = env::current_dir().context("reading the current directory")?;
        let root = here
            .ancestors()
            .find(|dir| dir.join("xtask/Cargo.toml").is_file())
            .context("this is not inside a checkout of stint: no folder above has xtask/Cargo.toml")?;
        let program = env::current_exe().context("finding this program's own path")?;
        let profile_dir = program.parent().context("this program has no folder")?;
        Ok(Self {
            root: root.to_owned(),
            profile_dir: profile_dir.to_owned(),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's build directory, wherever the environment has put it.
    pub(crate) fn target(&self) -> &Path {
        // This program was built into `TARGET/debug`: that holds for every way of setting the directory.
        self.profile_dir.parent().unwrap_or(&self.profile_dir)
    }

    /// The site as the server embeds it. Inside the checkout always: the server names it relative to its manifest.
    pub(crate) fn site(&self) -> PathBuf {
        self.root.join("target/site")
    }

    /// The cargo that runs this program.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        self.prepare(&mut command);
        command
    }

    /// Runs the command in the root, as if it had been called by hand.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.current_dir(&self.root);
        for name in env::vars_os().map(|(name, _)| name).filter(is_of_this_package) {
            command.env_remove(name);
        }
    }

    /// The file that a build of the server leaves in a profile's folder.
    pub(crate) fn binary(&self, profile_folder: &str) -> PathBuf {
        self.target()
            .join(profile_folder)
            .join(format!("stint{}", env::consts::EXE_SUFFIX))
    }
}

/// Variables that `cargo run` sets for the package that it runs. Build scripts of dependencies (ring's, for
/// one) name them as inputs: passed on, they would make a nested build and one by hand rebuild each other's work.
fn is_of_this_package(name: &OsString) -> bool {
    let name = OsStr::to_string_lossy(name);
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || name == "CARGO_PRIMARY_PACKAGE"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_cargo_call_does_not_see_this_package() {
        for name in ["CARGO_PKG_VERSION", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
            assert!(is_of_this_package(&name.into()), "{name}");
        }
        for name in ["CARGO_TARGET_DIR", "CARGO_HOME", "CARGO_INCREMENTAL", "PATH"] {
            assert!(!is_of_this_package(&name.into()), "{name}");
        }
    }
}
