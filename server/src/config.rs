//! What the server is told: a TOML file, over it the environment, over both the command line.
//!
//! One struct per concern. A key that is not known is refused by name, so that a misspelt one is never silently
//! ignored. Nothing that could hold a password is ever printed.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use stint_core::id::PersonId;

/// Where the server listens when nothing else is said.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), DEFAULT_PORT);
/// The port of [`DEFAULT_LISTEN`].
pub const DEFAULT_PORT: u16 = 7400;
/// The largest configuration file that is read; a real one has a few dozen lines.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;
/// The most people a sign-in page without passwords offers: it is a demonstration, not a directory.
pub const MAX_OFFERED: usize = 20;

/// Why the configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("can't read the configuration file {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The file is too large to be a configuration.
    #[error("the configuration file {path} is larger than {MAX_FILE_BYTES} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not what is expected: the message names line and key.
    #[error("the configuration file {path} is not accepted: {message}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, column and key.
        message: String,
    },
    /// A value that can't be used.
    #[error("{key} is not accepted: {message}")]
    Value {
        /// The key, as it is written in the file.
        key: &'static str,
        /// What would be accepted.
        message: String,
    },
    /// Listening beyond this machine without a way to sign in.
    #[error(
        "{address} can be reached from other machines, and anyone who reaches it could sign in as anyone: \
         listen on a loopback address, such as 127.0.0.1:{port}"
    )]
    Exposed {
        /// Where it was asked to listen.
        address: SocketAddr,
        /// The port to use on loopback.
        port: u16,
    },
}

/// Everything the server is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where it listens and what browsers call it.
    pub listen: Listen,
    /// Where it keeps its state.
    pub database: Database,
    /// How people sign in.
    pub sign_in: SignIn,
    /// How long a sign-in lasts.
    pub session: SessionSpan,
    /// What it writes about itself.
    pub log: Log,
}

/// Where the server listens and what browsers call it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Listen {
    /// The address and port.
    pub address: SocketAddr,
    /// The origin that people type, where a proxy stands before the server.
    pub public_url: Option<Origin>,
}

impl Default for Listen {
    fn default() -> Self {
        Self {
            address: DEFAULT_LISTEN,
            public_url: None,
        }
    }
}

/// Where the server keeps its state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Database {
    /// The file.
    pub path: DatabasePath,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            path: DatabasePath(PathBuf::from("stint.db")),
        }
    }
}

/// How people sign in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignIn {
    /// People who may sign in by a button, without a password. On loopback only.
    pub offer: Vec<PersonId>,
}

/// How long a sign-in lasts, by the real clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSpan {
    /// After so many hours without a request it ends.
    pub idle_hours: u16,
    /// After so many hours it ends in any case.
    pub longest_hours: u16,
}

impl Default for SessionSpan {
    fn default() -> Self {
        Self {
            idle_hours: 8,
            longest_hours: 7 * 24,
        }
    }
}

/// What the server writes about itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// For people or for machines.
    pub format: LogFormat,
    /// Which events, such as `info` or `info,stint_server=debug`.
    pub filter: String,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            format: LogFormat::default(),
            filter: "info,sqlx=warn,tower_sessions=warn,leptos=warn".to_owned(),
        }
    }
}

/// For whom the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// A scheme and a host with its port, such as `https://stint.example.org`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Origin {
    authority: String,
    secure: bool,
}

impl Origin {
    /// The host and its port, as browsers send it in `Host`.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether browsers reach it by TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
    }
}

impl TryFrom<String> for Origin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        const ACCEPTED: &str = "a scheme and a host such as https://stint.example.org, without path";
        let uri: http::Uri = text.parse().map_err(|_| ACCEPTED.to_owned())?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(ACCEPTED.to_owned()),
        };
        let authority = uri.authority().filter(|a| !a.as_str().contains('@'));
        match authority {
            Some(authority) if matches!(uri.path(), "" | "/") && uri.query().is_none() => Ok(Self {
                authority: authority.as_str().to_ascii_lowercase(),
                secure,
            }),
            _ => Err(ACCEPTED.to_owned()),
        }
    }
}

impl std::str::FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::try_from(text.to_owned())
    }
}

/// The file of the database, as a path or as `sqlite:` and a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct DatabasePath(PathBuf);

impl DatabasePath {
    /// A file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The file.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl TryFrom<String> for DatabasePath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if let Some((scheme, _)) = text.split_once("://")
            && scheme != "sqlite"
        {
            // The rest may hold a password, so it is not repeated.
            return Err(format!(
                "a database of the kind {scheme:?} is not supported; accepted: a path, or sqlite:PATH"
            ));
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(&text);
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() || path.contains('\0') {
            return Err("accepted: a path, or sqlite:PATH".to_owned());
        }
        Ok(Self(PathBuf::from(path)))
    }
}

impl std::str::FromStr for DatabasePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::try_from(text.to_owned())
    }
}

/// What the environment and the command line say, over the file.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Overrides {
    /// The configuration file (TOML)
    #[arg(long, global = true, env = "STINT_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The database: a path, or sqlite:PATH [default: stint.db]
    #[arg(long, global = true, env = "STINT_DATABASE", value_name = "PATH")]
    pub database: Option<DatabasePath>,
    /// How the log is written [default: text]
    #[arg(long, global = true, env = "STINT_LOG", value_name = "FORMAT")]
    pub log: Option<LogFormat>,
    /// Which events are logged, such as `info` or `info,stint_server=debug`
    #[arg(long, global = true, env = "STINT_LOG_FILTER", value_name = "FILTER")]
    pub log_filter: Option<String>,
}

/// What the environment and the command line say about listening.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ListenOverrides {
    /// The address and port to listen on [default: 127.0.0.1:7400]
    #[arg(long, env = "STINT_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// The origin that people type, where a proxy stands before the server
    #[arg(long, env = "STINT_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<Origin>,
}

impl Config {
    /// Reads the file that is named, if any, and puts the overrides over it.
    ///
    /// # Errors
    /// The file can't be read or holds something that is not accepted.
    pub fn load(overrides: &Overrides) -> Result<Self, ConfigError> {
        let mut config = match &overrides.config {
            Some(path) => Self::parse(path, &read(path)?)?,
            None => Self::default(),
        };
        if let Some(database) = &overrides.database {
            config.database.path = database.clone();
        }
        if let Some(format) = overrides.log {
            config.log.format = format;
        }
        if let Some(filter) = &overrides.log_filter {
            config.log.filter.clone_from(filter);
        }
        config.checked()
    }

    /// The same with what was said about listening.
    #[must_use]
    pub fn listening(mut self, overrides: &ListenOverrides) -> Self {
        if let Some(address) = overrides.listen {
            self.listen.address = address;
        }
        if let Some(url) = &overrides.public_url {
            self.listen.public_url = Some(url.clone());
        }
        self
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Parse {
            path: path.to_owned(),
            message: one_line(&text_position(text, error.span()), error.message()),
        })
    }

    fn checked(self) -> Result<Self, ConfigError> {
        let value = |key, message: String| Err(ConfigError::Value { key, message });
        let SessionSpan {
            idle_hours,
            longest_hours,
        } = self.session;
        if idle_hours == 0 {
            return value("session.idle_hours", "accepted: 1 or more".to_owned());
        }
        if longest_hours < idle_hours {
            let message = format!("accepted: {idle_hours} (session.idle_hours) or more");
            return value("session.longest_hours", message);
        }
        if self.sign_in.offer.len() > MAX_OFFERED {
            return value("sign_in.offer", format!("accepted: at most {MAX_OFFERED} people"));
        }
        Ok(self)
    }

    /// Refuses to listen where others could sign in as anyone.
    ///
    /// # Errors
    /// [`ConfigError::Exposed`] says where to listen instead.
    pub fn refuse_exposure(&self) -> Result<(), ConfigError> {
        let address = self.listen.address;
        if address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        let port = address.port();
        Err(ConfigError::Exposed { address, port })
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    let refused = |source| ConfigError::Read {
        path: path.to_owned(),
        source,
    };
    if std::fs::metadata(path).map_err(refused)?.len() > MAX_FILE_BYTES {
        return Err(ConfigError::TooLarge {
            path: path.to_owned(),
        });
    }
    std::fs::read_to_string(path).map_err(refused)
}

fn text_position(text: &str, span: Option<std::ops::Range<usize>>) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else {
        return String::new();
    };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    format!("line {line}, column {column}: ")
}

fn one_line(position: &str, message: &str) -> String {
    let message: Vec<&str> = message.lines().map(str::trim).collect();
    format!("{position}{}", message.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(Path::new("stint.toml"), text).and_then(Config::checked)
    }

    #[test]
    fn an_empty_file_is_the_default() {
        assert_eq!(parse("").unwrap(), Config::default());
        assert_eq!(Config::default().listen.address.to_string(), "127.0.0.1:7400");
    }

    #[test]
    fn every_concern_can_be_set() {
        let config = parse(
            "[listen]\naddress = \"127.0.0.1:80\"\npublic_url = \"https://Stint.example.org\"\n\
             [database]\npath = \"sqlite:/var/lib/stint.db\"\n[sign_in]\noffer = [\"ida\"]\n\
             [session]\nidle_hours = 1\nlongest_hours = 2\n[log]\nformat = \"json\"\nfilter = \"debug\"\n",
        )
        .unwrap();
        let origin = config.listen.public_url.unwrap();
        assert_eq!(
            (origin.authority(), origin.is_secure()),
            ("stint.example.org", true)
        );
        assert_eq!(config.database.path.as_path(), Path::new("/var/lib/stint.db"));
        assert_eq!(config.sign_in.offer[0].as_str(), "ida");
        assert_eq!(config.log.format, LogFormat::Json);
    }

    #[test]
    fn what_is_not_accepted_is_named() {
        let check = |text: &str, says: &[&str]| {
            let message = parse(text).unwrap_err().to_string();
            for part in says {
                assert!(message.contains(part), "{message:?} lacks {part:?}");
            }
        };
        check("[listen]\nadress = \"127.0.0.1:1\"", &["line 2", "adress"]);
        check("[listne]", &["line 1", "listne"]);
        check("[listen]\naddress = \"localhost\"", &["line 2", "socket address"]);
        check(
            "[listen]\npublic_url = \"https://a.example/b\"",
            &["without path"],
        );
        check("[session]\nidle_hours = 0", &["session.idle_hours"]);
        check(
            "[session]\nidle_hours = 9\nlongest_hours = 8",
            &["session.longest_hours"],
        );
        check("[sign_in]\noffer = [\"No One\"]", &["No One"]);
        check("[log", &["line 1"]);
    }

    #[test]
    fn a_password_in_a_refused_address_is_not_repeated() {
        let refused = "postgres://stint:hunter2@db/stint".parse::<DatabasePath>();
        let message = refused.unwrap_err();
        assert!(
            message.contains("postgres") && !message.contains("hunter2"),
            "{message}"
        );
    }

    #[test]
    fn only_loopback_is_listened_on_without_a_way_to_sign_in() {
        let check = |address: &str, fine: bool| {
            let mut config = Config::default();
            config.listen.address = address.parse().unwrap();
            assert_eq!(config.refuse_exposure().is_ok(), fine, "{address}");
        };
        check("127.0.0.1:7400", true);
        check("127.9.9.9:7400", true);
        check("[::1]:7400", true);
        check("[::ffff:127.0.0.1]:7400", true);
        check("0.0.0.0:7400", false);
        check("[::]:7400", false);
        check("192.168.1.2:7400", false);
    }

    #[test]
    fn the_environment_goes_over_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stint.toml");
        std::fs::write(
            &path,
            "[database]\npath = \"a.db\"\n[listen]\naddress = \"127.0.0.1:1\"\n",
        )
        .unwrap();
        let overrides = Overrides {
            config: Some(path),
            database: Some("b.db".parse().unwrap()),
            ..Overrides::default()
        };
        let config = Config::load(&overrides).unwrap();
        assert_eq!(config.database.path.as_path(), Path::new("b.db"));
        assert_eq!(config.listen.address.port(), 1);
        let listen = ListenOverrides {
            listen: Some("127.0.0.1:2".parse().unwrap()),
            public_url: None,
        };
        assert_eq!(config.listening(&listen).listen.address.port(), 2);
    }
}
