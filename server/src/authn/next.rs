//! Where to go after signing in: a page of this server and nothing else.

use std::fmt;

/// The longest address that is remembered across a sign-in.
pub(super) const MAX_LENGTH: usize = 2_000;

/// A path of this server with its query: begins with exactly one `/` and can't be read as another host's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalPath(String);

impl LocalPath {
    /// The path, if it is one of this server.
    ///
    /// Browsers read `\` as `/` and drop tabs and line ends, so `/\host` and `/<tab>/host` lead elsewhere too.
    pub fn parse(text: &str) -> Option<Self> {
        let local = text.len() <= MAX_LENGTH
            && text.starts_with('/')
            && !text.starts_with("//")
            && text.chars().all(|c| c.is_ascii_graphic() && c != '\\');
        local.then(|| Self(text.to_owned()))
    }

    /// The start page.
    pub fn home() -> Self {
        Self("/".to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LocalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pages_of_this_server_are_kept() {
        for good in [
            "/",
            "/queue",
            "/queue?pool=philly&under=vision",
            "/budgets/2026-Q4#x",
        ] {
            assert_eq!(LocalPath::parse(good).map(|p| p.0).as_deref(), Some(good));
        }
    }

    #[test]
    fn everything_that_leads_elsewhere_is_refused() {
        for bad in [
            "",
            "queue",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil.example",
            " /queue",
            "/a b",
            "/\u{2f}\u{e9}",
            &format!("/{}", "a".repeat(MAX_LENGTH)),
        ] {
            assert_eq!(LocalPath::parse(bad), None, "{bad:?}");
        }
    }

    /// What a browser makes of an address in `Location`, for the parts that decide the host.
    fn leads_to_another_host(location: &str) -> bool {
        let seen: String = location
            .trim_matches(|c: char| c <= ' ')
            .chars()
            .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
            .map(|c| if c == '\\' { '/' } else { c })
            .collect();
        seen.starts_with("//") || !seen.starts_with('/')
    }

    proptest! {
        #[test]
        fn no_accepted_path_leads_to_another_host(text in "[/\\\\ \t\n\r@:.a-c?#%\u{0}-\u{1f}é]{0,12}") {
            if let Some(path) = LocalPath::parse(&text) {
                prop_assert!(!leads_to_another_host(path.as_str()));
                prop_assert!(http::HeaderValue::from_str(path.as_str()).is_ok());
            }
        }
    }
}
