//! The site's files, embedded in the binary: scripts, style sheet, icons.
//!
//! A build without the site compiles and serves pages without them. Debug builds read the files from where the
//! site was built, so that a rebuilt style sheet shows without a rebuilt server.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};

#[derive(rust_embed::Embed)]
#[folder = "$CARGO_MANIFEST_DIR/../target/site"]
#[allow_missing = true]
struct Site;

/// Where an embedded file comes from; the tests bring their own.
pub(super) trait Files {
    /// The file's bytes and the hash of them.
    fn get(path: &str) -> Option<(std::borrow::Cow<'static, [u8]>, [u8; 32])>;
}

impl Files for Site {
    fn get(path: &str) -> Option<(std::borrow::Cow<'static, [u8]>, [u8; 32])> {
        let file = <Self as rust_embed::Embed>::get(path)?;
        Some((file.data, file.metadata.sha256_hash()))
    }
}

/// How a file is packed, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Brotli,
    Gzip,
    Plain,
}

impl Packing {
    const ALL: [Self; 3] = [Self::Brotli, Self::Gzip, Self::Plain];

    fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
            Self::Plain => "",
        }
    }

    fn token(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
            Self::Plain => "identity",
        }
    }
}

/// The answer for an address that names a file of the site; `None` when there is none.
pub(super) fn respond(path: &str, headers: &HeaderMap) -> Option<Response> {
    respond_from::<Site>(path, headers)
}

fn respond_from<F: Files>(path: &str, headers: &HeaderMap) -> Option<Response> {
    let name = path.strip_prefix('/')?;
    let content_type = content_type(name)?;
    F::get(name)?;
    let accepted = accepted(headers);
    let (packing, (bytes, hash)) = Packing::ALL
        .into_iter()
        .filter(|packing| *packing == Packing::Plain || accepted.contains(packing))
        .find_map(|packing| Some((packing, F::get(&format!("{name}{}", packing.suffix()))?)))?;
    let etag = etag(&hash, packing);
    let mut response = if matches_etag(headers, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Response::new(Body::from(bytes));
        let found = response.headers_mut();
        found.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if packing != Packing::Plain {
            found.insert(CONTENT_ENCODING, HeaderValue::from_static(packing.token()));
        }
        response
    };
    let found = response.headers_mut();
    found.insert(ETAG, etag);
    found.insert(VARY, HeaderValue::from_static("accept-encoding"));
    // Names stay the same from build to build, so a browser asks each time and is told that nothing changed.
    found.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Some(response)
}

/// The type of a file by its name; packed twins and anything unknown are not served.
fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "txt" => "text/plain; charset=utf-8",
        "woff2" => "font/woff2",
        "webmanifest" => "application/manifest+json",
        _ => return None,
    })
}

/// The packings that the browser accepts. *Source*: RFC 9110, 12.5.3.
fn accepted(headers: &HeaderMap) -> Vec<Packing> {
    let lines = headers.get_all(ACCEPT_ENCODING).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let token = parts.next()?;
            let refused = parts.any(|part| {
                part.strip_prefix("q=")
                    .is_some_and(|q| q.parse().is_ok_and(|q: f32| q <= 0.0))
            });
            Packing::ALL
                .into_iter()
                .find(|packing| !refused && token.eq_ignore_ascii_case(packing.token()))
        })
        .collect()
}

fn etag(hash: &[u8; 32], packing: Packing) -> HeaderValue {
    use std::fmt::Write as _;
    let mut text = String::from("\"");
    for byte in hash.iter().take(12) {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('-');
    text.push_str(packing.token());
    text.push('"');
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("\"\""))
}

fn matches_etag(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let lines = headers.get_all(IF_NONE_MATCH).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag.as_bytes() == etag.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    struct Fixture;

    impl Files for Fixture {
        fn get(path: &str) -> Option<(Cow<'static, [u8]>, [u8; 32])> {
            let bytes: &'static [u8] = match path {
                "pkg/stint.js" => b"plain",
                "pkg/stint.js.br" => b"brotli",
                "pkg/stint.js.gz" => b"gzip",
                "favicon.svg" => b"<svg/>",
                _ => return None,
            };
            Some((Cow::Borrowed(bytes), [u8::try_from(bytes.len()).unwrap(); 32]))
        }
    }

    fn ask(path: &str, name: http::HeaderName, value: &'static str) -> Option<Response> {
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
        respond_from::<Fixture>(path, &headers)
    }

    #[test]
    fn a_file_is_sent_in_the_best_packing_that_the_browser_accepts() {
        let check = |accept: &'static str, want: Option<&str>| {
            let response = ask("/pkg/stint.js", ACCEPT_ENCODING, accept).unwrap();
            let found = response
                .headers()
                .get(CONTENT_ENCODING)
                .map(|v| v.to_str().unwrap());
            assert_eq!(found, want, "{accept:?}");
            assert_eq!(response.headers()[VARY], "accept-encoding");
            assert_eq!(response.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
        };
        check("gzip, deflate, br", Some("br"));
        check("gzip", Some("gzip"));
        check("br;q=0, gzip;q=0.5", Some("gzip"));
        check("BR", Some("br"));
        check("", None);
        check("zstd", None);
    }

    #[test]
    fn a_file_without_packed_twin_is_sent_as_it_is() {
        let response = ask("/favicon.svg", ACCEPT_ENCODING, "br").unwrap();
        assert!(response.headers().get(CONTENT_ENCODING).is_none());
    }

    #[test]
    fn what_the_browser_has_already_is_not_sent_again() {
        let first = ask("/pkg/stint.js", ACCEPT_ENCODING, "br").unwrap();
        let mut headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("br"))]);
        headers.insert(IF_NONE_MATCH, first.headers()[ETAG].clone());
        let again = respond_from::<Fixture>("/pkg/stint.js", &headers).unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let other = respond_from::<Fixture>("/pkg/stint.js", &headers).unwrap();
        assert_eq!(
            other.status(),
            StatusCode::OK,
            "each packing has a tag of its own"
        );
    }

    #[test]
    fn packed_twins_and_unknown_names_are_not_addresses() {
        for path in [
            "/pkg/stint.js.br",
            "/pkg/none.js",
            "/",
            "/queue",
            "/../Cargo.toml",
            "pkg/stint.js",
        ] {
            assert!(ask(path, ACCEPT_ENCODING, "br").is_none(), "{path}");
        }
    }
}
