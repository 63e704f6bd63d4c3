//! A short text that changes when anything a site is made of changes.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};

use super::Sources;

/// The stamp of these sources, packed by this program.
pub(super) fn of(sources: &Sources, profile: &str) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    profile.hash(&mut hasher);
    packer_version()?.hash(&mut hasher);
    let mut files = vec![sources.wasm.clone(), sources.style.clone()];
    if sources.public.is_dir() {
        files.extend(files_below(&sources.public)?);
    }
    for file in files {
        file.hash(&mut hasher);
        fs::read(&file)
            .with_context(|| format!("reading {}", file.display()))?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

/// A newly built packer packs anew: it may pack differently.
fn packer_version() -> Result<u128> {
    let modified = fs::metadata(env::current_exe()?)?.modified()?;
    Ok(modified
        .duration_since(UNIX_EPOCH)
        .context("this program is older than 1970")?
        .as_nanos())
}

/// Every file of a folder and the folders in it, in a fixed order.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_changes_with_content_names_and_profile_only() {
        let folder = env::temp_dir().join(format!("stint-stamp-{}", std::process::id()));
        let public = folder.join("public");
        fs::create_dir_all(&public).unwrap();
        let sources = Sources {
            wasm: folder.join("a.wasm"),
            style: folder.join("main.css"),
            public,
        };
        fs::write(&sources.wasm, "wasm").unwrap();
        fs::write(&sources.style, "css").unwrap();

        let first = of(&sources, "dev").unwrap();
        fs::write(&sources.style, "css").unwrap();
        assert_eq!(
            of(&sources, "dev").unwrap(),
            first,
            "written again with the same content"
        );
        assert_ne!(of(&sources, "wasm-release").unwrap(), first, "another profile");
        fs::write(sources.public.join("icon.svg"), "").unwrap();
        let with_icon = of(&sources, "dev").unwrap();
        assert_ne!(with_icon, first, "a new file");
        fs::rename(sources.public.join("icon.svg"), sources.public.join("logo.svg")).unwrap();
        assert_ne!(of(&sources, "dev").unwrap(), with_icon, "a new name");
        fs::remove_dir_all(&folder).unwrap();
    }
}
