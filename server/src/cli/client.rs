//! Talks to a running server as a person.
//!
//! A person signs in for the one call by the server's own sign-in form, so that nothing secret is kept on disk.

use std::time::Duration;

use http::StatusCode;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stint_core::api::Problem;
use stint_core::id::PersonId;

use super::exit::{Exit, Failure};

/// Where a server listens by default.
pub(super) const DEFAULT_SERVER: &str = "http://127.0.0.1:7400";
/// How long to try to reach the server.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longer than the server itself takes before it gives up.
const ANSWER_LIMIT: Duration = Duration::from_secs(40);

/// Which server, and as whom.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ServerArgs {
    /// The server
    #[arg(long, env = "STINT_SERVER", value_name = "URL", default_value = DEFAULT_SERVER)]
    pub server: reqwest::Url,
    /// Sign in as this person, on a server that offers them
    #[arg(long = "as", env = "STINT_PERSON", value_name = "PERSON")]
    pub person: Option<PersonId>,
}

/// A connection to a server.
pub(super) struct Client {
    http: reqwest::Client,
    server: reqwest::Url,
    cookie: Option<String>,
}

impl Client {
    /// Reaches the server, and signs in if a person is named.
    ///
    /// # Errors
    /// The server can't be reached, or doesn't offer that person.
    pub(super) async fn connect(args: &ServerArgs) -> Result<Self, Failure> {
        if !matches!(args.server.scheme(), "http" | "https") {
            return Err(Failure::usage(format!(
                "--server is {:?}; accepted: an address such as {DEFAULT_SERVER}",
                args.server.as_str()
            )));
        }
        let http = reqwest::Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            .timeout(ANSWER_LIMIT)
            .user_agent(concat!("stint/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::caused(Exit::Found, &error))?;
        let mut client = Self {
            http,
            server: args.server.clone(),
            cookie: None,
        };
        if let Some(person) = &args.person {
            client.sign_in(person).await?;
        }
        Ok(client)
    }

    async fn sign_in(&mut self, person: &PersonId) -> Result<(), Failure> {
        let request = self
            .http
            .post(self.address("/sign-in")?)
            .form(&[("person", person.as_str()), ("next", "/")]);
        let response = self.send(request).await?;
        let signed_in =
            response.status() == StatusCode::SEE_OTHER && response.headers().contains_key(LOCATION);
        let cookie = response.headers().get(SET_COOKIE);
        let pair = cookie
            .and_then(|cookie| cookie.to_str().ok())
            .and_then(|cookie| cookie.split(';').next())
            .filter(|_| signed_in);
        let Some(pair) = pair else {
            return Err(Failure::new(
                Exit::Refused,
                format!("{} does not let {person} sign in", self.server),
            ));
        };
        self.cookie = Some(pair.to_owned());
        Ok(())
    }

    /// Reads something.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<T, Failure> {
        let request = self.http.get(self.address(path)?).query(query);
        answer(self.send(request).await?).await
    }

    /// Asks for something to be made, once however often it is sent.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        key: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let request = self
            .http
            .post(self.address(path)?)
            .header("idempotency-key", key)
            .json(body);
        answer(self.send(request).await?).await
    }

    /// Asks for something to be ended.
    pub(super) async fn delete<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<T, Failure> {
        let request = self.http.delete(self.address(path)?).query(query);
        answer(self.send(request).await?).await
    }

    fn address(&self, path: &str) -> Result<reqwest::Url, Failure> {
        let address = self.server.join(path);
        address.map_err(|error| Failure::usage(format!("--server {}: {error}", self.server)))
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, Failure> {
        let request = match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        };
        request.send().await.map_err(|error| {
            let caused = Failure::caused(Exit::Unreachable, &error.without_url());
            Failure::new(
                Exit::Unreachable,
                format!(
                    "can't reach the server at {}: {} (is it running? start it with `stint serve` or `stint demo`)",
                    self.server, caused.message
                ),
            )
        })
    }
}

async fn answer<T: DeserializeOwned>(response: reqwest::Response) -> Result<T, Failure> {
    let status = response.status();
    let body = response
        .bytes()
        .await
        .map_err(|error| Failure::caused(Exit::Unreachable, &error))?;
    if status.is_success() {
        return serde_json::from_slice(&body).map_err(|error| {
            Failure::new(Exit::Found, format!("the server's answer can't be read: {error}"))
        });
    }
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => Err(problem.into()),
        Err(_) => Err(Failure::new(
            Exit::Found,
            format!("the server answered {status}; is it a Stint server?"),
        )),
    }
}
