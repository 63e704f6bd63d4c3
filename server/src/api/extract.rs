//! What requests carry, taken apart strictly: a field that is unknown, missing or wrong is refused by its name, with
//! what it held and what would be accepted.

use std::convert::Infallible;
use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use stint_core::api::{Code, Problem};

use crate::problem::Refusal;
use crate::service::{Caller, Expected, IdempotencyKey};

/// The header that names a request.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// A body of JSON.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        check_type(request.headers())?;
        let body = Bytes::from_request(request, state).await.map_err(|rejection| {
            Refusal(match rejection.status() {
                StatusCode::PAYLOAD_TOO_LARGE => Problem::new(Code::TooLarge, "The body is too large."),
                _ => Problem::new(Code::Validation, "The body could not be read to its end."),
            })
        })?;
        Ok(Self(json(&body)?))
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let sent = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let sent = sent.unwrap_or_default();
    let kind = sent
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if kind == "application/json" {
        return Ok(());
    }
    Err(Problem::field("Content-Type", sent, "application/json"))
}

/// Reads JSON.
///
/// # Errors
/// A problem that names the field.
fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        Problem::field("body", format!("no UTF-8 from byte {at} on"), "JSON in UTF-8")
    })?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut reader);
    let value = read.map_err(|error| {
        let held = |field: &str| {
            let whole: Value = serde_json::from_str(text).unwrap_or_default();
            whole
                .get(field)
                .map_or_else(|| "nothing".to_owned(), Value::to_string)
        };
        wrong_field(
            &error.path().to_string(),
            &error.inner().to_string(),
            "body",
            held,
        )
    })?;
    reader
        .end()
        .map_err(|error| Problem::field("body", error.to_string(), "one JSON value and nothing after it"))?;
    Ok(value)
}

/// A query, each name at most once.
#[derive(Clone, Copy, Debug)]
pub struct Query<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Ok(Self(query(parts.uri.query().unwrap_or_default())?))
    }
}

fn query<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    if !decodes(text) {
        return Err(Problem::field("query", text, "percent-encoded UTF-8"));
    }
    let pairs = || form_urlencoded::parse(text.as_bytes());
    let reader = serde_urlencoded::Deserializer::new(pairs());
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let held = |field: &str| {
            let pair = pairs().find(|(name, _)| name == field);
            pair.map_or_else(|| "nothing".to_owned(), |(_, value)| value.into_owned())
        };
        wrong_field(
            &error.path().to_string(),
            &error.inner().to_string(),
            "query",
            held,
        )
    })
}

/// Whether what is percent-encoded is UTF-8. Decoders replace what isn't, and then it looks like a name nobody has.
fn decodes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let pair = bytes
            .get(at + 1..at + 3)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let encoded = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        if let (b'%', Some(decoded)) = (byte, encoded) {
            plain.push(decoded);
            at += 3;
        } else {
            plain.push(*byte);
            at += 1;
        }
    }
    std::str::from_utf8(&plain).is_ok()
}

/// A problem that names the field a reader stumbled over. `path` is where it was, `message` what it said; unknown,
/// missing and repeated names are only in what it said.
fn wrong_field(path: &str, message: &str, whole: &str, held: impl Fn(&str) -> String) -> Problem {
    let message = message.split(" at line ").next().unwrap_or(message);
    let named = |prefix: &str| {
        let rest = message.strip_prefix(prefix)?;
        rest.split_once('`')
            .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
    };
    if let Some((field, rest)) = named("unknown field `") {
        let accepted = rest
            .trim_start_matches(", ")
            .trim_start_matches("expected ")
            .to_owned();
        let value = held(&field);
        return Problem::field(field, value, format!("no such field; {accepted}"));
    }
    if let Some((field, _)) = named("missing field `") {
        return Problem::field(field, "nothing", "a value; the field is required");
    }
    if let Some((field, _)) = named("duplicate field `") {
        let value = held(&field);
        return Problem::field(field, value, "the field once");
    }
    // At the top, or where the text ends before any name, there is no path to a field.
    let nowhere = matches!(path, "." | "?");
    let field = if nowhere { whole } else { path };
    let accepted = match message.split_once("expected ") {
        Some((_, expected)) => expected.to_owned(),
        None => message.to_owned(),
    };
    let value = if nowhere { message.to_owned() } else { held(path) };
    Problem::field(field, value, accepted)
}

/// Ids in the path. A text that can't be an id is not found, like an id that nobody has.
#[derive(Clone, Copy, Debug)]
pub struct Ids<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Ids<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(ids)) => Ok(Self(ids)),
            Err(rejection) => {
                let sentence = format!("There is nothing at this address: {}.", rejection.body_text());
                Err(Refusal(Problem::new(Code::NotFound, sentence)))
            }
        }
    }
}

/// The key under which a request is carried out once, if it has one.
#[derive(Clone, Debug)]
pub struct Key(pub Option<IdempotencyKey>);

impl<S: Sync> FromRequestParts<S> for Key {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else {
            return Ok(Self(None));
        };
        let text = value.to_str().unwrap_or_default();
        Ok(Self(Some(IdempotencyKey::from_str(text)?)))
    }
}

/// The version that `If-Match` names, if it is there: a strong tag, as `ETag` gave it.
#[derive(Clone, Copy, Debug)]
pub struct IfMatch(pub Option<Expected>);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else {
            return Ok(Self(None));
        };
        let text = value.to_str().unwrap_or_default();
        let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let version = inner.and_then(|digits| digits.parse().ok());
        let version =
            version.ok_or_else(|| Problem::field("If-Match", text, "a version in quotes, such as \"7\""))?;
        Ok(Self(Some(Expected(version))))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stint_core::api::budgets::TransferRequest;
    use stint_core::api::workloads::WorkloadQuery;

    use super::*;

    fn refused(body: &[u8]) -> (String, String) {
        let problem = json::<TransferRequest>(body).unwrap_err();
        assert_eq!(problem.code, Code::Validation);
        let error = &problem.errors[0];
        (error.field.clone(), error.value.clone())
    }

    fn body(amount: &str) -> String {
        format!(r#"{{"pool":"h100","from":"a","to":"b","amount_gpu_seconds":{amount},"reason":"r"}}"#)
    }

    #[test]
    fn a_body_is_refused_by_the_field_that_is_wrong() {
        let check = |body: &[u8], field: &str, value: &str| {
            assert_eq!(refused(body), (field.to_owned(), value.to_owned()));
        };
        check(body("null").as_bytes(), "amount_gpu_seconds", "null");
        check(body("1.5").as_bytes(), "amount_gpu_seconds", "1.5");
        check(body("\"36\"").as_bytes(), "amount_gpu_seconds", "\"36\"");
        check(body("1e99").as_bytes(), "amount_gpu_seconds", "1e+99");
        check(body("1,\"extra\":2").as_bytes(), "extra", "2");
        check(br#"{"pool":"h100"}"#, "from", "nothing");
        check(body("1,\"to\":\"c\"").as_bytes(), "to", "\"c\"");
        check(br#"{"pool":"NO","from":"a"}"#, "pool", "\"NO\"");
        check(b"\xff\xfe", "body", "no UTF-8 from byte 0 on");
        assert_eq!(refused(b"").0, "body");
        assert_eq!(refused(format!("{} x", body("1")).as_bytes()).0, "body");
    }

    #[test]
    fn a_query_is_refused_by_the_name_that_is_wrong() {
        let check = |text: &str, field: &str, value: &str| {
            let problem = query::<WorkloadQuery>(text).unwrap_err();
            let error = &problem.errors[0];
            assert_eq!(
                (error.field.as_str(), error.value.as_str()),
                (field, value),
                "{text}"
            );
        };
        check("limt=5", "limt", "5");
        check("limit=x", "limit", "x");
        check("limit=-1", "limit", "-1");
        check("limit=70000", "limit", "70000");
        check("mine=perhaps", "mine", "perhaps");
        check("state=dreaming", "state", "dreaming");
        check("pool=%FF", "query", "pool=%FF");
        assert!(query::<WorkloadQuery>("mine=true&state=queued&limit=5").is_ok());
    }

    proptest! {
        #[test]
        fn no_body_or_query_makes_reading_fail_badly(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[ -~]{0,80}") {
            let _ = json::<TransferRequest>(&bytes);
            let _ = query::<WorkloadQuery>(&text);
        }
    }
}
