//! Sees to it that the folder of the site's files is there, and that optimised builds hold its latest files.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/site");
    // Whoever compiles the server before the site exists would else get one that never finds it.
    fs::create_dir_all(&site)?;
    // Unoptimised builds read the files when they are asked for.
    if env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        println!("cargo:rerun-if-changed={}", site.display());
    }
    Ok(())
}
