//! The site: what the server sends to browsers besides pages.
//!
//! `target/site` holds `public/*`, and in `pkg/` the style sheet and the browser's code under the names that leptos
//! asks for, each with a brotli and a gzip copy beside it. Cargo decides whether the code is compiled again, a stamp
//! whether the folder is packed again. The folder is swapped in whole: a server that reads from it sees the old
//! site or the new one.

mod pack;
mod stamp;

pub(crate) use self::stamp::files_below;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::process::run_aside;
use crate::wasm_target::{self, TARGET};
use crate::workspace::Workspace;

use self::pack::{Packed, Precompressed};

/// What the browser's code may weigh over the wire. Beyond this the first page on a slow line takes seconds to
/// become live.
const WASM_LIMIT: u64 = 400_000;

/// How the browser's code is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WasmProfile {
    /// Small: what people get, and what the end-to-end tests load.
    Release,
    /// Quick to build, and large.
    Dev,
}

impl WasmProfile {
    fn name(self) -> &'static str {
        match self {
            Self::Release => "wasm-release",
            Self::Dev => "dev",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Release => "wasm-release",
            Self::Dev => "debug",
        }
    }

    fn precompressed(self) -> Precompressed {
        match self {
            Self::Release => Precompressed::Yes,
            Self::Dev => Precompressed::No,
        }
    }
}

/// Builds the site unless it is up to date.
pub(crate) fn build(workspace: &Workspace, profile: WasmProfile) -> Result<()> {
    let wasm = compile(workspace, profile)?;
    let sources = Sources {
        wasm,
        style: workspace.root().join("style/main.css"),
        public: workspace.root().join("public"),
    };
    let site = workspace.site();
    let stamp_file = site.with_extension("stamp");
    let stamp = stamp::of(&sources, profile.name())?;
    if site.is_dir() && fs::read_to_string(&stamp_file).is_ok_and(|old| old == stamp) {
        return Ok(());
    }
    let next = site.with_extension("next");
    let packed = pack::pack(&sources, &next, profile.precompressed())?;
    report(&packed);
    swap(&next, &site)?;
    fs::write(&stamp_file, stamp).context("writing the site's stamp")
}

/// Refuses a site whose code for the browser is too heavy. Asked by whoever tests or hands out a site; a demo on this
/// machine runs all the same.
pub(crate) fn check_weight(workspace: &Workspace) -> Result<()> {
    let file = workspace.site().join("pkg/stint.wasm.br");
    let weight = fs::metadata(&file)
        .with_context(|| format!("looking at {}", file.display()))?
        .len();
    ensure!(
        weight <= WASM_LIMIT,
        "the browser's code has {weight} bytes after brotli; the limit is {WASM_LIMIT}"
    );
    Ok(())
}

/// What a site is made of.
struct Sources {
    wasm: PathBuf,
    style: PathBuf,
    public: PathBuf,
}

fn compile(workspace: &Workspace, profile: WasmProfile) -> Result<PathBuf> {
    let cargo = wasm_target::ensure(workspace)?;
    let mut command = cargo.command(workspace);
    command
        .args([
            "build",
            "--package",
            "stint-app",
            "--lib",
            "--no-default-features",
            "--features",
            "hydrate",
        ])
        .args(["--target", TARGET, "--profile", profile.name()])
        .arg("--target-dir")
        .arg(workspace.target());
    run_aside(&mut command).context("compiling the browser's code")?;
    Ok(workspace
        .target()
        .join(TARGET)
        .join(profile.folder())
        .join("stint_app.wasm"))
}

fn report(packed: &Packed) {
    let kilobytes = |bytes: usize| bytes.div_ceil(1000);
    eprint!("site: stint.wasm {} kB", kilobytes(packed.raw));
    if packed.brotli > 0 {
        eprint!(
            ", {} kB gzip, {} kB brotli",
            kilobytes(packed.gzip),
            kilobytes(packed.brotli)
        );
    }
    eprintln!();
}

fn swap(next: &Path, site: &Path) -> Result<()> {
    if site.exists() {
        fs::remove_dir_all(site).context("removing the old site")?;
    }
    fs::rename(next, site).context("putting the new site in place")
}
