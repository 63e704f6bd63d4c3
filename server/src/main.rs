//! The `stint` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    // One provider of cryptography for everything in this process; installing it twice is the only way to fail.
    let _ = rustls::crypto::ring::default_provider().install_default();
    stint_server::cli::main()
}
