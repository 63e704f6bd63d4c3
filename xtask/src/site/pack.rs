//! Puts a site together in an empty folder.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use wasm_bindgen_cli_support::Bindgen;

use super::Sources;

/// The name that leptos is told by `LEPTOS_OUTPUT_NAME` in `.cargo/config.toml`.
const NAME: &str = "stint";

/// Smallest at which a compressed copy pays for its headers.
const WORTH_COMPRESSING: usize = 512;

/// Are compressed copies laid beside the files?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Precompressed {
    Yes,
    /// The server compresses as it sends.
    No,
}

/// What the browser's code weighs, in bytes; zero for a copy that was not made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) raw: usize,
    pub(super) gzip: usize,
    pub(super) brotli: usize,
}

/// Makes `folder` anew.
pub(super) fn pack(sources: &Sources, folder: &Path, precompressed: Precompressed) -> Result<Packed> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("emptying {}", folder.display()))?;
    }
    let code = folder.join("pkg");
    fs::create_dir_all(&code).with_context(|| format!("making {}", code.display()))?;
    if sources.public.is_dir() {
        copy_all(&sources.public, folder)?;
    }
    fs::copy(&sources.style, code.join(format!("{NAME}.css")))
        .with_context(|| format!("copying {}", sources.style.display()))?;
    bind(&sources.wasm, &code)?;
    if precompressed == Precompressed::Yes {
        compress_all(folder)?;
    }
    let wasm = code.join(format!("{NAME}.wasm"));
    let size_of =
        |suffix: &str| fs::read(format!("{}{suffix}", wasm.display())).map_or(0, |bytes| bytes.len());
    Ok(Packed {
        raw: size_of(""),
        gzip: size_of(".gz"),
        brotli: size_of(".br"),
    })
}

/// The same work as the `wasm-bindgen` program, by its own library: nothing of a fitting version to install.
fn bind(wasm: &Path, code: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(wasm)
        .out_name(NAME)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(code)
        .with_context(|| format!("binding {}", wasm.display()))?;
    // With LEPTOS_OUTPUT_NAME set at compile time leptos asks for `stint.wasm`, without `_bg`.
    fs::rename(
        code.join(format!("{NAME}_bg.wasm")),
        code.join(format!("{NAME}.wasm")),
    )
    .context("naming the browser's code")
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_all(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("copying {}", entry.path().display()))?;
        }
    }
    Ok(())
}

fn compress_all(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            compress_all(&entry.path())?;
        } else if shrinks(&entry.path()) {
            compress(&entry.path()).with_context(|| format!("compressing {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Images and fonts are compressed already.
fn shrinks(file: &Path) -> bool {
    let extension = file
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    matches!(
        extension,
        "css" | "html" | "js" | "json" | "svg" | "txt" | "wasm" | "webmanifest" | "xml"
    )
}

fn compress(file: &Path) -> Result<()> {
    let bytes = fs::read(file)?;
    if bytes.len() < WORTH_COMPRESSING {
        return Ok(());
    }
    let mut gzip = GzEncoder::new(beside(file, "gz")?, Compression::best());
    gzip.write_all(&bytes)?;
    gzip.finish()?;
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        size_hint: bytes.len(),
        ..Default::default()
    };
    brotli::BrotliCompress(&mut bytes.as_slice(), &mut beside(file, "br")?, &params)?;
    Ok(())
}

fn beside(file: &Path, suffix: &str) -> Result<File> {
    Ok(File::create(format!("{}.{suffix}", file.display()))?)
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn scratch(name: &str) -> std::path::PathBuf {
        let folder = env::temp_dir().join(format!("stint-pack-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn compressed_copies_hold_the_same_bytes() {
        let folder = scratch("copies");
        let text = "body { color: inherit }\n".repeat(200);
        fs::write(folder.join("a.css"), &text).unwrap();
        compress_all(&folder).unwrap();

        let mut gzip = String::new();
        GzDecoder::new(File::open(folder.join("a.css.gz")).unwrap())
            .read_to_string(&mut gzip)
            .unwrap();
        assert_eq!(gzip, text);
        let mut brotli = Vec::new();
        brotli::BrotliDecompress(&mut File::open(folder.join("a.css.br")).unwrap(), &mut brotli).unwrap();
        assert_eq!(brotli, text.as_bytes());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn small_files_and_images_get_no_compressed_copy() {
        let folder = scratch("none");
        fs::write(folder.join("robots.txt"), "User-agent: *").unwrap();
        fs::write(folder.join("logo.png"), vec![7; 4096]).unwrap();
        compress_all(&folder).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn folders_are_copied_whole() {
        let folder = scratch("tree");
        fs::create_dir_all(folder.join("from/icons")).unwrap();
        fs::create_dir_all(folder.join("to")).unwrap();
        fs::write(folder.join("from/icons/a.svg"), "<svg/>").unwrap();
        copy_all(&folder.join("from"), &folder.join("to")).unwrap();
        assert_eq!(
            fs::read_to_string(folder.join("to/icons/a.svg")).unwrap(),
            "<svg/>"
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
