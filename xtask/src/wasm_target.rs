//! Makes `wasm32-unknown-unknown` buildable, by the first of these that works:
//!
//! 1. the active toolchain has the target: nothing is done;
//! 2. `rustup target add`: the ordinary way;
//! 3. Debian's packages: rustc and the source of its standard library from the package sources that the machine
//!    already has. Debian ships no standard library for this target, so it is compiled once from the compiler's
//!    own source and put where that compiler looks for it. For machines that reach package mirrors only.
//!
//! A second call does nothing and takes well under a second.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{answer, as_root, find_program, install_packages, run_aside};
use crate::workspace::Workspace;

/// The target triple of the browser's code.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// The name under which rustup knows Debian's compiler.
const TOOLCHAIN: &str = "debian-wasm";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// A machine without rustup's servers must not hang here.
const RUSTUP_LIMIT: Duration = Duration::from_mins(3);

/// How cargo is called for the browser's code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WasmCargo {
    /// The toolchain that everything else uses.
    Pinned,
    /// Debian's compiler.
    Debian,
}

impl WasmCargo {
    /// A cargo call in the root of the workspace.
    pub(crate) fn command(&self, workspace: &Workspace) -> Command {
        match self {
            Self::Pinned => workspace.cargo(),
            Self::Debian => {
                let mut command = Command::new(DEBIAN_CARGO);
                workspace.prepare(&mut command);
                // rustup puts its own toolchain first for everything that cargo starts.
                command
                    .env("RUSTC", DEBIAN_RUSTC)
                    .env_remove("RUSTUP_TOOLCHAIN")
                    .env_remove("LD_LIBRARY_PATH");
                command
            }
        }
    }
}

impl fmt::Display for WasmCargo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pinned => f.write_str("cargo"),
            Self::Debian if find_program(&["rustup"]).is_some() => write!(f, "cargo +{TOOLCHAIN}"),
            Self::Debian => write!(f, "env RUSTC={DEBIAN_RUSTC} {DEBIAN_CARGO}"),
        }
    }
}

/// Where the target may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Any,
    Rustup,
    Debian,
}

impl Route {
    fn parse(value: Option<&str>) -> Result<Self> {
        match value {
            None | Some("") => Ok(Self::Any),
            Some("rustup") => Ok(Self::Rustup),
            Some("debian") => Ok(Self::Debian),
            Some(other) => bail!("STINT_WASM_ROUTE is `{other}`; it may be `rustup`, `debian` or unset"),
        }
    }
}

/// Makes the target buildable and says how cargo is called for it.
pub(crate) fn ensure(workspace: &Workspace) -> Result<WasmCargo> {
    let route = Route::parse(env::var("STINT_WASM_ROUTE").ok().as_deref())?;
    if route != Route::Debian && (active_has_target(workspace) || added_by_rustup(workspace)) {
        return Ok(WasmCargo::Pinned);
    }
    ensure!(
        route != Route::Rustup,
        "the {TARGET} target is missing and rustup could not add it: connect to the network and run \
         `rustup target add {TARGET}`, or unset STINT_WASM_ROUTE"
    );
    from_debian(workspace).with_context(|| {
        format!("the {TARGET} target is missing: run `rustup target add {TARGET}` where rustup has a network")
    })?;
    Ok(WasmCargo::Debian)
}

fn active_has_target(workspace: &Workspace) -> bool {
    has_std(Command::new("rustc").current_dir(workspace.root()))
}

/// Does this compiler have a standard library for the target?
fn has_std(rustc: &mut Command) -> bool {
    answer(rustc.args(["--print", "target-libdir", "--target", TARGET])).is_some_and(|dir| {
        let files = fs::read_dir(dir).into_iter().flatten().flatten();
        files.map(|file| file.file_name()).any(|name| {
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    })
}

/// Asks rustup; the root's toolchain file says for which toolchain.
fn added_by_rustup(workspace: &Workspace) -> bool {
    let Some(rustup) = find_program(&["rustup"]) else {
        return false;
    };
    eprintln!("wasm-target: rustup target add {TARGET}");
    let started = Command::new(rustup)
        .args(["target", "add", TARGET])
        .current_dir(workspace.root())
        .spawn();
    let Ok(mut child) = started else { return false };
    let step = Duration::from_millis(100);
    let mut waited = Duration::ZERO;
    while waited < RUSTUP_LIMIT {
        match child.try_wait() {
            Ok(Some(status)) => return status.success() && active_has_target(workspace),
            Ok(None) => thread::sleep(step),
            Err(_) => return false,
        }
        waited += step;
    }
    // Both may fail only because it has just ended.
    let _ = child.kill();
    let _ = child.wait();
    false
}

fn from_debian(workspace: &Workspace) -> Result<()> {
    let library = Path::new("/usr/lib/rustlib").join(TARGET).join("lib");
    let stamp = library.join(".built-for");
    let is_ready = |version: &str| {
        fs::read_to_string(&stamp).is_ok_and(|built| built.trim() == version)
            && has_std(&mut Command::new(DEBIAN_RUSTC))
    };
    if package_version(DEBIAN_PACKAGES[0]).is_some_and(|version| is_ready(&version)) {
        return link_toolchain(workspace);
    }
    ensure!(
        install_packages(&DEBIAN_PACKAGES).context("installing Debian's compiler")?,
        "there is no apt-get here, or neither root nor sudo to use it"
    );
    let version = package_version(DEBIAN_PACKAGES[0]).context("rustc-web did not get installed")?;
    ensure!(
        package_version("rust-web-src").as_deref() == Some(version.as_str()),
        "rustc-web and rust-web-src differ in version: run `apt-get upgrade`"
    );
    let linker = linker()?;
    let scratch = workspace.target().join("debian-wasm-std");
    let built = compile_std(&scratch)?;
    put_in_place(&built, &library, &linker)?;
    fs::remove_dir_all(&scratch).context("removing the scratch folder")?;
    // Last, so that a broken run is begun again.
    let mut mark = as_root("sh").context("neither root nor sudo")?;
    run_aside(
        mark.args(["-c", "echo \"$1\" > \"$2\"", "sh", &version])
            .arg(&stamp),
    )?;
    ensure!(
        is_ready(&version),
        "the standard library was built but {DEBIAN_RUSTC} does not find it"
    );
    link_toolchain(workspace)
}

/// The version of a Debian package, if it is installed.
fn package_version(name: &str) -> Option<String> {
    let status =
        answer(Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status} ${Version}", name]))?;
    status.strip_prefix("installed ").map(str::to_owned)
}

/// The linker of the compiler's own LLVM version.
fn linker() -> Result<PathBuf> {
    let version = answer(Command::new(DEBIAN_RUSTC).arg("-vV")).context("asking rustc for its version")?;
    let llvm = field(&version, "LLVM version: ")
        .and_then(|version| version.split('.').next())
        .context("rustc does not say its LLVM version")?;
    let name = format!("lld-{llvm}");
    if find_program(&[&name]).is_none() {
        install_packages(&[&name]).context("installing the linker")?;
    }
    find_program(&[&name]).with_context(|| format!("{name} did not get installed"))
}

/// The rest of the line that begins with `label`.
fn field<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(label))
}

/// Compiles the standard library with the compiler's own source and that source's own lock file.
fn compile_std(scratch: &Path) -> Result<PathBuf> {
    let version = answer(Command::new(DEBIAN_RUSTC).arg("-vV")).context("asking rustc for its version")?;
    let release = field(&version, "release: ").context("rustc does not say its release")?;
    let source = PathBuf::from(format!("/usr/src/rustc-{release}/library"));
    ensure!(
        source.join("Cargo.lock").is_file(),
        "no standard library source at {}",
        source.display()
    );
    eprintln!("wasm-target: compiling the standard library of rustc {release} for {TARGET} (a minute, once)");
    if scratch.exists() {
        fs::remove_dir_all(scratch).context("emptying the scratch folder")?;
    }
    fs::create_dir_all(scratch).context("making the scratch folder")?;
    // A copy, because cargo would write beside the sources.
    let copy = scratch.join("library");
    run_aside(Command::new("cp").arg("-r").arg(&source).arg(&copy))?;
    let target = scratch.join("target");
    let mut cargo = Command::new(DEBIAN_CARGO);
    for name in [
        "RUSTC_WRAPPER",
        "CARGO_BUILD_TARGET",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTUP_TOOLCHAIN",
        "LD_LIBRARY_PATH",
    ] {
        cargo.env_remove(name);
    }
    // What Rust's own build passes: std needs unstable features, is marked unstable inside, and keeps its
    // bitcode so that link-time optimisation works.
    cargo
        .env("RUSTC", DEBIAN_RUSTC)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("__CARGO_DEFAULT_LIB_METADATA", "wasm-std")
        .env("RUSTFLAGS", "-Zforce-unstable-if-unmarked -Cembed-bitcode=yes")
        .args(["build", "--quiet", "--release", "--locked", "--target", TARGET])
        .args([
            "--manifest-path",
            "sysroot/Cargo.toml",
            "--features",
            "compiler-builtins-mem",
        ])
        .current_dir(&copy);
    run_aside(&mut cargo)?;
    Ok(target.join(TARGET).join("release/deps"))
}

/// Copies the compiled library and the linker to where Debian's compiler looks for them.
fn put_in_place(built: &Path, library: &Path, linker: &Path) -> Result<()> {
    const SCRIPT: &str = r#"
        set -e
        rm -rf "$2"
        mkdir -p "$2" "$4"
        cp "$1"/*.rlib "$1"/*.rmeta "$2"
        ln -sfn "$3" "$4/rust-lld"
    "#;
    let tools = format!("/usr/lib/rustlib/{}-unknown-linux-gnu/bin", env::consts::ARCH);
    let mut shell = as_root("sh").context("neither root nor sudo")?;
    run_aside(
        shell
            .args(["-c", SCRIPT, "sh"])
            .args([built, library, linker])
            .arg(tools),
    )
}

/// For people: `cargo +debian-wasm`. Nothing here depends on it.
fn link_toolchain(workspace: &Workspace) -> Result<()> {
    let Some(rustup) = find_program(&["rustup"]) else {
        return Ok(());
    };
    let known = answer(
        Command::new(&rustup)
            .args(["toolchain", "list"])
            .current_dir(workspace.root()),
    );
    if known.is_some_and(|list| list.lines().any(|line| line.split(' ').next() == Some(TOOLCHAIN))) {
        return Ok(());
    }
    run_aside(Command::new(rustup).args(["toolchain", "link", TOOLCHAIN, "/usr"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_is_one_of_two_words_or_unset() {
        assert_eq!(Route::parse(None).unwrap(), Route::Any);
        assert_eq!(Route::parse(Some("")).unwrap(), Route::Any);
        assert_eq!(Route::parse(Some("rustup")).unwrap(), Route::Rustup);
        assert_eq!(Route::parse(Some("debian")).unwrap(), Route::Debian);
        let refusal = Route::parse(Some("apt")).unwrap_err().to_string();
        assert!(
            refusal.contains("`apt`") && refusal.contains("`rustup`"),
            "{refusal}"
        );
    }

    #[test]
    fn a_field_is_the_rest_of_its_line() {
        let version = "rustc 1.96.0\nrelease: 1.96.0\nLLVM version: 22.1.2";
        assert_eq!(field(version, "release: "), Some("1.96.0"));
        assert_eq!(field(version, "LLVM version: "), Some("22.1.2"));
        assert_eq!(field(version, "host: "), None);
    }

    #[test]
    fn a_compiler_that_is_not_there_has_no_standard_library() {
        assert!(!has_std(&mut Command::new("/no/such/rustc")));
    }
}
