//! A form's fields as they were sent, and reading them one by one so that everything wrong is said at once.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, FromRequest, Request};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use stint_core::api::{Code, FieldError, Problem};

use crate::web::request::refuse;

/// The fields by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(BTreeMap<String, String>);

impl Fields {
    /// The fields, if each is there once.
    fn from_pairs(pairs: Vec<(String, String)>) -> Result<Self, Problem> {
        let mut fields = BTreeMap::new();
        for (name, value) in pairs {
            if value.contains(char::REPLACEMENT_CHARACTER) {
                return Err(Problem::field(name, value, "text in UTF-8"));
            }
            if fields.insert(name.clone(), value).is_some() {
                return Err(Problem::field(name, "two values", "one value"));
            }
        }
        Ok(Self(fields))
    }

    /// Everything that was sent.
    pub(super) fn into_inner(self) -> BTreeMap<String, String> {
        self.0
    }

    /// Begins reading; `known` are the names that the form has.
    pub(super) fn reading<'a>(&'a self, known: &[&str]) -> Reading<'a> {
        let unknown = self.0.keys().filter(|name| !known.contains(&name.as_str()));
        let errors = unknown.map(|name| FieldError {
            field: name.clone(),
            value: String::new(),
            accepted: "nothing: this form has no such field".to_owned(),
        });
        Reading {
            errors: errors.collect(),
            fields: &self.0,
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let pairs = Form::<Vec<(String, String)>>::from_request(request, state).await;
        match pairs {
            Ok(Form(pairs)) => Self::from_pairs(pairs).map_err(refuse),
            Err(FormRejection::BytesRejection(rejection)) => Err(rejection.into_response()),
            Err(_) => Err(refuse(Problem::new(
                Code::Validation,
                "The form can't be read; it is sent as application/x-www-form-urlencoded.",
            ))),
        }
    }
}

/// Reads fields and remembers what is wrong.
pub(super) struct Reading<'a> {
    fields: &'a BTreeMap<String, String>,
    errors: Vec<FieldError>,
}

impl Reading<'_> {
    /// The text of a field without blanks around it; `None` when absent or empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let text = self.fields.get(name)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// A text that has to be there.
    pub(super) fn required(&mut self, name: &str, accepted: &str) -> String {
        let text = self.text(name).map(str::to_owned);
        text.unwrap_or_else(|| {
            self.refuse(name, accepted);
            String::new()
        })
    }

    /// A value that may be absent.
    pub(super) fn optional<T: FromStr>(&mut self, name: &str, accepted: &str) -> Option<T> {
        let text = self.text(name)?;
        let value = text.parse().ok();
        if value.is_none() {
            self.refuse(name, accepted);
        }
        value
    }

    /// A value that has to be there.
    pub(super) fn value<T: FromStr>(&mut self, name: &str, accepted: &str) -> Option<T> {
        if self.text(name).is_none() {
            self.refuse(name, accepted);
            return None;
        }
        self.optional(name, accepted)
    }

    /// One of a few words; the default when absent.
    pub(super) fn word<T: DeserializeOwned + Default>(&mut self, name: &str, accepted: &str) -> T {
        let Some(text) = self.text(name) else {
            return T::default();
        };
        let word = serde_json::Value::String(text.to_owned());
        serde_json::from_value(word).unwrap_or_else(|_| {
            self.refuse(name, accepted);
            T::default()
        })
    }

    /// Whole minutes, as seconds.
    pub(super) fn minutes(&mut self, name: &str) -> Option<i64> {
        let accepted = "whole minutes, such as 240";
        let minutes: i64 = self.optional(name, accepted)?;
        let seconds = minutes.checked_mul(60);
        if seconds.is_none() {
            self.refuse(name, accepted);
        }
        seconds
    }

    /// Notes that a field is not accepted.
    pub(super) fn refuse(&mut self, name: &str, accepted: &str) {
        self.errors.push(FieldError {
            field: name.to_owned(),
            value: self.fields.get(name).cloned().unwrap_or_default(),
            accepted: accepted.to_owned(),
        });
    }

    /// Everything that was wrong, as one problem.
    pub(super) fn finish(self) -> Result<(), Problem> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let detail = match self.errors.as_slice() {
            [one] => format!("{} is {:?}; accepted: {}", one.field, one.value, one.accepted),
            many => format!("{} fields are not accepted", many.len()),
        };
        Err(Problem {
            errors: self.errors,
            ..Problem::new(Code::Validation, detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Fields {
        /// Fields for tests.
        pub(in crate::web::forms) fn of(pairs: &[(&str, &str)]) -> Self {
            let pairs = pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
            Self::from_pairs(pairs.collect()).unwrap()
        }
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let sent = Fields::of(&[("gpus", "many"), ("name", "  "), ("extra", "1")]);
        let mut form = sent.reading(&["gpus", "name"]);
        form.value::<u32>("gpus", "a whole number");
        form.required("name", "a name");
        let problem = form.finish().unwrap_err();
        let named: Vec<&str> = problem.errors.iter().map(|e| e.field.as_str()).collect();
        assert_eq!(named, ["extra", "gpus", "name"]);
    }

    #[test]
    fn a_field_that_is_sent_twice_is_refused() {
        let pair = || ("hours".to_owned(), "1".to_owned());
        assert!(Fields::from_pairs(vec![pair(), pair()]).is_err());
    }

    #[test]
    fn minutes_that_overflow_are_refused() {
        let sent = Fields::of(&[("m", "9223372036854775807")]);
        let mut form = sent.reading(&["m"]);
        assert_eq!(form.minutes("m"), None);
        assert!(form.finish().is_err());
    }
}
