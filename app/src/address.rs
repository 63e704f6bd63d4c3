//! Addresses of pages, written the same on the server and in the browser.
//!
//! The address is the state of a page: pool, period, filters, what is open. A link changes one thing and keeps
//! the rest.

use std::str::FromStr;

use leptos_router::params::ParamsMap;
use stint_core::api::Problem;

/// A path with its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    path: String,
    query: Vec<(String, String)>,
}

impl Address {
    /// An address without a query.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            query: Vec::new(),
        }
    }

    /// An address that keeps the named parts of the present query.
    pub fn keeping(path: impl Into<String>, query: &ParamsMap, names: &[&str]) -> Self {
        names.iter().fold(Self::new(path), |address, name| {
            address.with(name, text(query, name).unwrap_or_default())
        })
    }

    /// The same with one part set; an empty value leaves it out.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        self.query.retain(|(other, _)| other != name);
        if !value.is_empty() {
            self.query.push((name.to_owned(), value));
        }
        self
    }

    /// The address as text, for `href`.
    pub fn href(&self) -> String {
        let mut href = self.path.clone();
        for (at, (name, value)) in self.query.iter().enumerate() {
            href.push(if at == 0 { '?' } else { '&' });
            href.push_str(name);
            href.push('=');
            escape_into(&mut href, value);
        }
        href
    }
}

/// Escapes everything but the unreserved characters of RFC 3986.
fn escape_into(href: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            href.push(char::from(byte));
        } else {
            const DIGITS: [char; 16] = [
                '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
            ];
            href.push('%');
            href.push(DIGITS[usize::from(byte >> 4)]);
            href.push(DIGITS[usize::from(byte & 15)]);
        }
    }
}

/// A part of the query; an empty one counts as absent, because a form sends its empty fields too.
pub fn text(query: &ParamsMap, name: &str) -> Option<String> {
    query.get(name).filter(|value| !value.is_empty())
}

/// A part of the query as a value.
///
/// # Errors
/// A problem that names the part when its text is not such a value.
pub fn parsed<T: FromStr>(query: &ParamsMap, name: &str) -> Result<Option<T>, Problem>
where
    T::Err: std::fmt::Display,
{
    text(query, name)
        .map(|value| {
            value
                .parse()
                .map_err(|error: T::Err| Problem::field(name, &value, error.to_string()))
        })
        .transpose()
}

/// A target inside this site that a sign-in may return to; anything else becomes the start page.
pub fn local_target(next: Option<String>) -> String {
    next.filter(|next| {
        next.starts_with('/')
            && !next.starts_with("//")
            && !next.contains(['\\'])
            && !next.chars().any(char::is_control)
    })
    .unwrap_or_else(|| "/".to_owned())
}

#[cfg(test)]
mod tests {
    use stint_core::id::PoolId;

    use super::*;

    #[test]
    fn a_link_changes_one_part_and_keeps_the_rest() {
        let mut query = ParamsMap::new();
        query.insert("pool", "h100".to_owned());
        query.insert("under", "a b".to_owned());
        query.insert("after", "x".to_owned());
        let address = Address::keeping("/queue", &query, &["pool", "under"]);
        assert_eq!(address.href(), "/queue?pool=h100&under=a%20b");
        assert_eq!(
            address.clone().with("under", "").with("mine", "1").href(),
            "/queue?pool=h100&mine=1"
        );
        assert_eq!(
            Address::new("/q").with("a", "\"é&=").href(),
            "/q?a=%22%C3%A9%26%3D"
        );
    }

    #[test]
    fn an_empty_part_is_absent_and_a_wrong_one_is_named() {
        let mut query = ParamsMap::new();
        query.insert("pool", String::new());
        assert_eq!(parsed::<PoolId>(&query, "pool"), Ok(None));
        query.insert("pool", "<b>".to_owned());
        let problem = parsed::<PoolId>(&query, "pool").unwrap_err();
        assert_eq!(problem.errors[0].field, "pool");
        assert_eq!(problem.errors[0].value, "<b>");
    }

    #[test]
    fn sign_in_returns_only_to_this_site() {
        let check = |next: &str, want: &str| assert_eq!(local_target(Some(next.to_owned())), want);
        check("/queue?pool=a", "/queue?pool=a");
        check("//evil.example", "/");
        check("/\\evil.example", "/");
        check("https://evil.example", "/");
        check("/a\nb", "/");
        assert_eq!(local_target(None), "/");
    }
}
