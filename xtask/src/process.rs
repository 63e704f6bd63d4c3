//! Other programs: started, watched, and named in the error when they fail.

use std::env;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write, stderr, stdout};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, ensure};

/// Runs to the end; anything but success is an error that names the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("starting {}", shown(command)))?;
    ensure!(status.success(), "{} failed ({status})", shown(command));
    Ok(())
}

/// Runs to the end with what it prints moved to standard error, so that our own standard output stays an answer.
pub(crate) fn run_aside(command: &mut Command) -> Result<()> {
    run(command.stdout(stderr()))
}

/// Standard output of a command that succeeds, without the last line end; `None` when it can't be had.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}

/// Which of a program's streams is read while it is also shown.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// Runs to the end, shows everything, and hands every line of one stream to `each`.
pub(crate) fn follow(
    command: &mut Command,
    stream: Stream,
    mut each: impl FnMut(&str),
) -> Result<ExitStatus> {
    match stream {
        Stream::Out => command.stdout(Stdio::piped()),
        Stream::Err => command.stderr(Stdio::piped()),
    };
    let mut child = command
        .spawn()
        .with_context(|| format!("starting {}", shown(command)))?;
    let (source, mut sink): (Option<Box<dyn Read>>, Box<dyn Write>) = match stream {
        Stream::Out => (
            child.stdout.take().map(|pipe| Box::new(pipe) as _),
            Box::new(stdout()),
        ),
        Stream::Err => (
            child.stderr.take().map(|pipe| Box::new(pipe) as _),
            Box::new(stderr()),
        ),
    };
    let mut lines = BufReader::new(source.context("the program's output is not connected")?);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .context("reading the program's output")?
        > 0
    {
        sink.write_all(&line)
            .and_then(|()| sink.flush())
            .context("showing the program's output")?;
        each(&without_colours(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    child
        .wait()
        .with_context(|| format!("waiting for {}", shown(command)))
}

/// Are we watched by a person?
pub(crate) fn on_terminal() -> bool {
    stdout().is_terminal()
}

/// The first of these programs that the search path has.
pub(crate) fn find_program(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    names.iter().find_map(|name| {
        env::split_paths(&path)
            .map(|dir| dir.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
            .find(|file| file.is_file())
    })
}

/// A command that may change the system: as root directly, else by sudo. `None` when neither is possible.
pub(crate) fn as_root(program: &str) -> Option<Command> {
    if answer(Command::new("id").arg("-u")).as_deref() == Some("0") {
        return Some(Command::new(program));
    }
    find_program(&["sudo"]).map(|sudo| {
        let mut command = Command::new(sudo);
        command.arg(program);
        command
    })
}

/// Installs Debian packages; `false` when this machine has no apt or we may not use it.
pub(crate) fn install_packages(names: &[&str]) -> Result<bool> {
    if find_program(&["apt-get"]).is_none() {
        return Ok(false);
    }
    let apt = |arguments: &[&str]| {
        as_root("apt-get").map(|mut command| {
            // Removal is refused: nobody expects that building a site takes programs away.
            run_aside(
                command
                    .env("DEBIAN_FRONTEND", "noninteractive")
                    .args([
                        "-qq",
                        "-y",
                        "-oDpkg::Use-Pty=0",
                        "--no-install-recommends",
                        "--no-remove",
                    ])
                    .args(arguments),
            )
        })
    };
    let install = || apt(&[&["install"], names].concat());
    match install() {
        None => Ok(false),
        Some(Ok(())) => Ok(true),
        // The lists may be missing or old.
        Some(Err(_)) => {
            apt(&["update"]).transpose()?;
            install().transpose()?;
            Ok(true)
        }
    }
}

/// The line without terminal colour sequences and line end.
fn without_colours(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.trim_end();
    while let Some(at) = rest.find("\u{1b}[") {
        text.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    text + rest
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    format!(
        "`{}`",
        words
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named_in_the_error() {
        let error = run(Command::new("false").arg("--really"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("`false --really` failed"), "{error}");
    }

    #[test]
    fn every_line_of_a_followed_program_is_seen_without_colours() {
        let mut seen = Vec::new();
        let mut command = Command::new("printf");
        command.arg(r"\033[1;32mone\033[0m 1\ntwo");
        let status = follow(&mut command, Stream::Out, |line| seen.push(line.to_owned())).unwrap();
        assert!(status.success());
        assert_eq!(seen, ["one 1", "two"]);
    }

    #[test]
    fn a_program_that_fails_has_no_answer() {
        assert_eq!(
            answer(Command::new("printf").arg("a b\n")).as_deref(),
            Some("a b")
        );
        assert_eq!(answer(&mut Command::new("false")), None);
        assert_eq!(answer(&mut Command::new("/no/such/program")), None);
    }
}
