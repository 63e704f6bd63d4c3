//! Optimised builds hold the site's files; they are made anew when the site is.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Unoptimised builds read the files when they are asked for.
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        println!("cargo:rerun-if-changed=../target/site");
    }
}
