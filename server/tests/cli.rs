//! The command line as people and scripts use it: the built binary, its answers and its exit codes.

#![expect(clippy::unwrap_used, reason = "a test ends where it can't go on")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const HOSTS: &str = "[[pool]]\nid = \"h100\"\n[[hosts]]\npool = \"h100\"\nprefix = \"gpu\"\ncount = 2\ngpus = 8\nblock_size = 2\n";
const ORG: &str = "zone = \"UTC\"
[[node]]
id = \"lab\"
kind = \"organisation\"
name = \"Lab\"
[[node]]
id = \"vision\"
parent = \"lab\"
kind = \"team\"
name = \"Vision\"
weight = 1
[[person]]
id = \"noor\"
name = \"Noor\"
roles = [{ role = \"researcher\", node = \"vision\" }]
";

fn stint(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// The binary in a folder of its own, without what the environment of the tests may say.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stint"));
    for name in [
        "CONFIG",
        "DATABASE",
        "LISTEN",
        "LOG",
        "LOG_FILTER",
        "PERSON",
        "PUBLIC_URL",
        "SERVER",
    ] {
        command.env_remove(format!("STINT_{name}"));
    }
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

fn check(output: &Output, code: i32, says: &[&str]) {
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in says {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn help_explains_the_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    check(
        &stint(folder.path(), &["--help"]),
        0,
        &["Exit codes:", "can't be reached", "serve", "explain"],
    );
    check(&stint(folder.path(), &["--version"]), 0, &["stint"]);
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let wrong: [(&[&str], &str); 8] = [
        (&[], "Usage"),
        (&["fly"], "fly"),
        (&["queue", "--limit", "0"], "--limit"),
        (&["explain", "12"], "followed by a whole number"),
        (
            &[
                "submit",
                "--name",
                "x",
                "--charged-to",
                "a",
                "--gpus",
                "1",
                "--min-runtime",
                "4",
            ],
            "1h30m",
        ),
        (&["queue", "--server", "ftp://x"], "--server"),
        (&["audit"], "there is no database"),
        (&["import", "org", "missing.toml"], "missing.toml"),
    ];
    for (arguments, says) in wrong {
        check(&stint(folder.path(), arguments), 2, &[says]);
    }
    assert!(!folder.path().join("missing.toml").exists());
}

#[test]
fn a_configuration_that_is_not_accepted_is_named_by_key_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stint.toml");
    std::fs::write(&file, "[database]\npath = \"a.db\"\nurl = \"b\"\n").unwrap();
    let output = stint(folder.path(), &["--config", "stint.toml", "migrate"]);
    check(&output, 2, &["line 3", "url", "stint.toml"]);
    let output = command(folder.path(), &["migrate"])
        .env("STINT_DATABASE", "postgres://stint:hunter2@db/stint")
        .output()
        .unwrap();
    check(&output, 2, &["sqlite:PATH"]);
    let output = stint(folder.path(), &["--log-filter", "x=loud", "openapi"]);
    check(&output, 2, &["x=loud"]);
}

#[test]
fn a_server_without_sign_in_refuses_to_be_reached_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["serve", "demo"] {
        let output = stint(folder.path(), &[command, "--listen", "0.0.0.0:0"]);
        check(&output, 2, &["loopback", "127.0.0.1"]);
    }
    assert!(
        std::fs::read_dir(folder.path()).unwrap().next().is_none(),
        "nothing was created"
    );
}

#[test]
fn a_server_that_is_not_there_ends_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let output = stint(folder.path(), &["queue", "--server", "http://127.0.0.1:9"]);
    check(
        &output,
        3,
        &["can't reach the server at http://127.0.0.1:9/", "stint serve"],
    );
}

#[test]
fn documents_are_printed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let output = stint(folder.path(), &["openapi"]);
    check(&output, 0, &[]);
    assert_eq!(json(&output)["openapi"], "3.1.0");
    check(
        &stint(folder.path(), &["completions", "bash"]),
        0,
        &["_stint()", "explain"],
    );
}

#[test]
fn a_refused_import_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hosts.toml"), HOSTS).unwrap();
    std::fs::write(
        folder.path().join("org.toml"),
        ORG.replace("parent = \"lab\"", "parent = \"vision\""),
    )
    .unwrap();
    check(
        &stint(folder.path(), &["import", "hosts", "hosts.toml", "--dry-run"]),
        0,
        &["2 hosts added", "dry run"],
    );
    check(
        &stint(folder.path(), &["import", "hosts", "hosts.toml"]),
        0,
        &["2 hosts added"],
    );
    check(
        &stint(folder.path(), &["import", "hosts", "hosts.toml"]),
        0,
        &["2 hosts unchanged"],
    );
    check(
        &stint(folder.path(), &["import", "org", "org.toml"]),
        2,
        &["org.toml", "nothing was imported"],
    );
    std::fs::write(folder.path().join("trace.csv"), "id,submit_s\n").unwrap();
    check(
        &stint(folder.path(), &["import", "trace", "trace.csv"]),
        2,
        &["organisation first"],
    );
    check(
        &stint(folder.path(), &["serve", "--listen", "127.0.0.1:0"]),
        2,
        &["stint import org FILE"],
    );
    check(&stint(folder.path(), &["audit"]), 0, &["0 findings"]);
}

/// A server that was started and is stopped at the end.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = command(folder, arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let Some(address) = line.trim().strip_prefix("Stint is ready at ") else {
            let mut log = String::new();
            child.stderr.as_mut().unwrap().read_to_string(&mut log).unwrap();
            panic!("{line}{log}");
        };
        let address = address.to_owned();
        Self { child, address }
    }

    fn ask(&self, folder: &Path, arguments: &[&str]) -> Output {
        let mut all = arguments.to_vec();
        all.extend(["--server", &self.address]);
        stint(folder, &all)
    }

    /// Tells it to stop, and returns how it ended.
    fn stop(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has usually ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn imported() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = "[sign_in]\noffer = [\"noor\"]\n";
    for (name, text) in [("hosts.toml", HOSTS), ("org.toml", ORG), ("stint.toml", config)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    check(&stint(folder.path(), &["import", "hosts", "hosts.toml"]), 0, &[]);
    check(
        &stint(folder.path(), &["import", "org", "org.toml"]),
        0,
        &["2 nodes and 1 people added"],
    );
    folder
}

#[test]
fn a_workload_is_submitted_explained_and_cancelled_from_a_shell() {
    let folder = imported();
    let at = folder.path();
    let server = Server::start(
        at,
        &["serve", "--config", "stint.toml", "--listen", "127.0.0.1:0"],
    );
    let submit = [
        "submit",
        "--name",
        "train",
        "--charged-to",
        "vision",
        "--gpus",
        "8",
        "--min-runtime",
        "1h",
        "--as",
        "noor",
    ];
    let output = server.ask(at, &[&submit[..], &["--json", "--idempotency-key", "k"]].concat());
    check(&output, 0, &[]);
    let id = json(&output)["row"]["id"].as_str().unwrap().to_owned();
    let again = server.ask(at, &[&submit[..], &["--json", "--idempotency-key", "k"]].concat());
    assert_eq!(
        json(&again)["row"]["id"],
        id.as_str(),
        "the same key is one workload"
    );
    check(
        &server.ask(at, &["explain", &id, "--as", "noor"]),
        0,
        &["train", "Lab > Vision", "1 h"],
    );
    let queue = server.ask(at, &["queue", "--as", "noor", "--json"]);
    check(&queue, 0, &[]);
    assert_eq!(json(&queue)["pool"], "h100");
    check(
        &server.ask(at, &["queue", "--as", "noor"]),
        0,
        &["queued in pool h100"],
    );
    check(
        &server.ask(at, &["cancel", &id, "--reason", "done", "--as", "noor"]),
        0,
        &["is told to end"],
    );

    let gang: Vec<&str> = submit
        .iter()
        .map(|word| if *word == "8" { "4096" } else { word })
        .collect();
    check(&server.ask(at, &gang), 2, &["accepted"]);
    check(
        &server.ask(at, &["explain", "w-999", "--as", "noor"]),
        4,
        &["Not found"],
    );
    check(&server.ask(at, &["explain", &id]), 4, &["Sign in"]);
    let refused = server.ask(at, &["explain", &id, "--json"]);
    check(&refused, 4, &["\"code\":\"auth/required\""]);
    check(
        &server.ask(at, &["queue", "--as", "nobody"]),
        4,
        &["does not let nobody sign in"],
    );

    check(
        &stint(at, &["serve", "--listen", "127.0.0.1:0"]),
        1,
        &["another server is using"],
    );
    assert_eq!(server.stop(), Some(0));
    check(&stint(at, &["audit"]), 0, &["0 findings in 1 pools"]);
}

#[test]
fn a_server_that_was_killed_goes_on_where_it_was() {
    let folder = imported();
    let at = folder.path();
    let start = || {
        Server::start(
            at,
            &["serve", "--config", "stint.toml", "--listen", "127.0.0.1:0"],
        )
    };
    let server = start();
    let submit = [
        "submit",
        "--name",
        "train",
        "--charged-to",
        "vision",
        "--gpus",
        "8",
        "--min-runtime",
        "1h",
    ];
    check(
        &server.ask(at, &[&submit[..], &["--as", "noor"]].concat()),
        0,
        &["w-1"],
    );
    drop(server);
    check(&stint(at, &["audit"]), 0, &["0 findings"]);
    let server = start();
    check(
        &server.ask(at, &["explain", "w-1", "--as", "noor"]),
        0,
        &["train"],
    );
    assert_eq!(server.stop(), Some(0));
}
