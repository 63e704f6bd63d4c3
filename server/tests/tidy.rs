//! The rules that the compiler doesn't know: who may use whom, which words are ours, how large a file may grow.
//!
//! Each rule reads the sources as text. A rule that is broken names the file, the line and the reason.

#![expect(clippy::expect_used, reason = "a test ends where it can't go on")]

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the checkout; the path is relative to the root, with `/`.
struct Source {
    path: String,
    text: String,
}

/// Room by room: what its sources may not name, and why.
struct Border {
    rooms: &'static [&'static str],
    except: &'static [&'static str],
    forbidden: &'static [&'static str],
    reason: &'static str,
}

const BORDERS: [Border; 8] = [
    Border {
        rooms: &["core/src/"],
        except: &[],
        forbidden: &[
            "tokio",
            "sqlx",
            "axum",
            "reqwest",
            "leptos",
            "stint_app",
            "stint_server",
        ],
        reason: "core decides; it neither waits nor talks to anything",
    },
    Border {
        rooms: &["core/src/"],
        except: &[],
        forbidden: &[
            "SystemTime",
            "Instant::now",
            "Utc::now",
            "Local::now",
            "std::fs",
            "std::net",
            "std::env",
            "std::thread",
            "std::process",
            "async fn",
            "thread_rng",
            "HashMap",
            "HashSet",
        ],
        reason: "core is deterministic: time and chance are arguments, order is stable, nothing is read or written",
    },
    Border {
        rooms: &["core/src/ledger/", "core/src/standing/"],
        except: &[],
        forbidden: &["f32", "f64"],
        reason: "hours and standings are whole numbers and exact fractions",
    },
    Border {
        rooms: &["app/src/"],
        except: &[],
        forbidden: &[
            "sqlx",
            "stint_server",
            "tokio::",
            "reqwest",
            "std::fs",
            "std::env",
        ],
        reason: "the screens ask the backend trait and nothing else",
    },
    Border {
        rooms: &["app/src/"],
        except: &[],
        forbidden: &["inner_html", " style=", "on:click=\""],
        reason: "text is escaped, and the content security policy has no exception for styles and scripts",
    },
    Border {
        rooms: &["server/src/"],
        except: &["server/src/store/"],
        forbidden: &["sqlx::", "SELECT ", "INSERT INTO", "DELETE FROM"],
        reason: "only the store speaks to the database",
    },
    Border {
        rooms: &["server/src/api/", "server/src/web/", "server/src/cli/"],
        except: &[],
        forbidden: &["crate::fleet"],
        reason: "requests write state; only the engine acts on the fleet",
    },
    Border {
        rooms: &["server/src/store/", "server/src/fleet/"],
        except: &[],
        forbidden: &["crate::api", "crate::web", "crate::cli"],
        reason: "what is below doesn't know what is above",
    },
];

/// Words of other systems, and what is said here.
const FOREIGN_WORDS: [(&str, &str); 3] = [
    ("quota", "budget or grant"),
    ("credit", "GPU-hours"),
    ("qos", "minimum runtime, protected, interruptible"),
];

/// Larger files are two rooms in one.
const MOST_BYTES: usize = 40_000;

#[test]
fn no_room_uses_what_lies_beyond_its_border() {
    let broken = sources()
        .iter()
        .filter(|source| source.is("rs") && !source.is_test())
        .flat_map(trespasses)
        .collect();
    assert_none(broken);
}

#[test]
fn sources_are_finished_and_hide_nothing() {
    let marks = [
        concat!("to", "do!("),
        concat!("unimpl", "emented!("),
        concat!("db", "g!("),
        concat!("#[al", "low("),
    ];
    let skipped = concat!("#[ig", "nore");
    let broken = sources()
        .iter()
        .filter(|source| source.is("rs"))
        .flat_map(|source| {
            let all = marks.iter().chain([&skipped]);
            all.flat_map(|mark| source.lines_with(mark, "finish it, or say why with #[expect]"))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_none(broken);
}

#[test]
fn no_file_names_a_place_on_somebodys_machine() {
    let places = ["work", "home", "root", "Users"].map(|folder| format!("/{folder}/"));
    let broken = sources()
        .iter()
        .flat_map(|source| {
            places
                .iter()
                .flat_map(|place| source.lines_with_path(place))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_none(broken);
}

#[test]
fn sources_and_documents_stay_small() {
    let broken = sources()
        .iter()
        .filter(|source| !source.is_generated() && source.text.len() > MOST_BYTES)
        .map(|source| {
            format!(
                "{}: {} bytes; the limit is {MOST_BYTES}",
                source.path,
                source.text.len()
            )
        })
        .collect();
    assert_none(broken);
}

#[test]
fn code_and_screens_speak_the_words_of_the_glossary() {
    let broken = sources()
        .iter()
        .filter(|source| source.is_product() && !source.is_generated())
        .flat_map(|source| {
            let lower = Source {
                path: source.path.clone(),
                text: source.text.to_lowercase(),
            };
            FOREIGN_WORDS
                .iter()
                .flat_map(|(word, ours)| lower.lines_with(word, &format!("the word here is {ours}")))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_none(broken);
}

#[test]
fn files_are_nouns_of_the_domain() {
    let vague = [
        "utils.rs",
        "util.rs",
        "helpers.rs",
        "helper.rs",
        "common.rs",
        "misc.rs",
        "manager.rs",
    ];
    let broken = sources()
        .iter()
        .filter(|source| {
            source
                .path
                .rsplit('/')
                .next()
                .is_some_and(|name| vague.contains(&name))
        })
        .map(|source| format!("{}: name the file by what it holds", source.path))
        .collect();
    assert_none(broken);
}

#[test]
fn every_room_says_what_it_is_for() {
    let broken = sources()
        .iter()
        .filter(|source| source.path.ends_with("/mod.rs") || source.path.ends_with("src/lib.rs"))
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| {
            format!(
                "{}: begin with a doc comment: purpose, invariant, what is absent",
                source.path
            )
        })
        .collect();
    assert_none(broken);
}

#[test]
fn every_statement_in_a_file_has_its_own_file() {
    let broken = sources()
        .iter()
        .filter(|source| source.path.starts_with("server/src/store/sql/"))
        .filter(|source| {
            let code = source
                .text
                .lines()
                .filter(|line| !line.trim_start().starts_with("--"));
            code.collect::<String>()
                .trim_end()
                .trim_end_matches(';')
                .contains(';')
        })
        .map(|source| format!("{}: one statement a file", source.path))
        .collect();
    assert_none(broken);
}

#[test]
fn a_trespass_is_found_in_code_and_not_in_comments_tests_or_longer_words() {
    let source = |text: &str| Source {
        path: "core/src/sched/decide.rs".into(),
        text: text.into(),
    };
    assert_eq!(
        trespasses(&source("use tokio::time;")),
        ["core/src/sched/decide.rs:1: `tokio`: core decides; it neither waits nor talks to anything"]
    );
    assert_eq!(
        trespasses(&source("//! No tokio here.\nlet x = 1; // nor sqlx")),
        [""; 0]
    );
    assert_eq!(trespasses(&source("fn is_leptosomatic() {}")), [""; 0]);
    assert_eq!(
        trespasses(&source(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}"
        )),
        [""; 0]
    );
    let allowed = Source {
        path: "server/src/store/row.rs".into(),
        text: "use sqlx::Row;".into(),
    };
    assert_eq!(trespasses(&allowed), [""; 0]);
}

fn trespasses(source: &Source) -> Vec<String> {
    let code = source.code();
    BORDERS
        .iter()
        .filter(|border| border.rooms.iter().any(|room| source.path.starts_with(room)))
        .filter(|border| !border.except.iter().any(|room| source.path.starts_with(room)))
        .flat_map(|border| {
            border
                .forbidden
                .iter()
                .flat_map(|name| code.lines_with_name(name, border.reason))
                .collect::<Vec<_>>()
        })
        .collect()
}

impl Source {
    fn is(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }

    /// Written by a program, or data.
    fn is_generated(&self) -> bool {
        self.path.ends_with("Cargo.lock")
            || self.path.ends_with("package-lock.json")
            || self.path.ends_with("openapi.json")
            || self.path.contains("/data/")
            || self.path.contains("/examples/")
            || self.path.contains("proptest-regressions")
    }

    /// Runs at a customer's, or is seen there.
    fn is_product(&self) -> bool {
        [
            "core/src/",
            "app/src/",
            "server/src/",
            "migrations/",
            "style/",
            "public/",
        ]
        .iter()
        .any(|room| self.path.starts_with(room))
    }

    /// Holds nothing but tests.
    fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// The source without comments, and without its tests where they are the end of the file.
    fn code(&self) -> Self {
        let product = self
            .text
            .split("\n#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let lines = product.lines().map(|line| match line.find("//") {
            Some(at) if !line[..at].ends_with(':') => &line[..at],
            _ => line,
        });
        Self {
            path: self.path.clone(),
            text: lines.collect::<Vec<_>>().join("\n"),
        }
    }

    fn lines_where(&self, found: impl Fn(&str) -> bool, label: &str, reason: &str) -> Vec<String> {
        let numbered = self.text.lines().enumerate().filter(|(_, line)| found(line));
        numbered
            .map(|(index, _)| format!("{}:{}: `{label}`: {reason}", self.path, index + 1))
            .collect()
    }

    fn lines_with(&self, part: &str, reason: &str) -> Vec<String> {
        self.lines_where(|line| line.contains(part), part.trim(), reason)
    }

    /// The part as a name of its own, not inside a longer one.
    fn lines_with_name(&self, name: &str, reason: &str) -> Vec<String> {
        let is_part_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let found = |line: &str| {
            line.match_indices(name).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + name.len()..].chars().next();
                let starts = !name.starts_with(is_part_of_name) || !before.is_some_and(is_part_of_name);
                let ends = !name.ends_with(is_part_of_name) || !after.is_some_and(is_part_of_name);
                starts && ends
            })
        };
        self.lines_where(found, name.trim(), reason)
    }

    /// The place at the beginning of a path, not in the middle of one.
    fn lines_with_path(&self, place: &str) -> Vec<String> {
        let begins = |line: &str| {
            line.match_indices(place).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || "/._-}~*".contains(c))
            })
        };
        self.lines_where(begins, place, "paths are relative to the checkout")
    }
}

/// Every text file that is part of the project.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the server lies in the workspace");
    let mut found = Vec::new();
    for top in [
        "core",
        "app",
        "server",
        "xtask",
        "migrations",
        "style",
        "public",
        "e2e",
        "docs",
        ".ci",
        ".cargo",
    ] {
        collect(&root.join(top), &mut found);
    }
    for entry in fs::read_dir(root).expect("the root can be read").flatten() {
        if entry.path().is_file() {
            found.push(entry.path());
        }
    }
    let sources: Vec<Source> = found
        .into_iter()
        .filter_map(|file| {
            let path = file.strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/");
            Some(Source {
                path,
                text: fs::read_to_string(&file).ok()?,
            })
        })
        .collect();
    assert!(
        sources.len() > 50,
        "the sources are not where they are looked for: {} files",
        sources.len()
    );
    sources
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if ["node_modules", "shots", "test-results", "target"]
            .iter()
            .any(|skipped| name == *skipped)
        {
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else if !has_binary_extension(&path) {
            found.push(path);
        }
    }
}

fn has_binary_extension(path: &Path) -> bool {
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    ["csv", "png", "woff2", "ico", "db", "xz"].contains(&extension)
}

fn assert_none(broken: Vec<String>) {
    assert!(
        broken.is_empty(),
        "{} lines break a rule:\n{}",
        broken.len(),
        broken.join("\n")
    );
}
