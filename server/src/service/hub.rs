//! Where the engine and those who ask meet: the published view of each pool, a bell that wakes the engine, and the
//! news that something changed.
//!
//! Nothing is decided here. The engine publishes what it stored; requests ring the bell after they have committed.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use stint_core::id::{IdError, PoolId, WorkloadId};
use tokio::sync::{Notify, broadcast, watch};

use crate::engine::published::Published;

/// News kept for a listener that is slow; one that falls behind further is told to read everything anew.
const NEWS: usize = 1_024;

/// What news can be about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// The order of a pool's queue.
    Queue(PoolId),
    /// The hosts of a pool and what runs on them.
    Hosts(PoolId),
    /// Fair share in a pool.
    Standing(PoolId),
    /// The budgets of a pool.
    Budgets(PoolId),
    /// One workload.
    Workload(WorkloadId),
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(pool) => write!(f, "queue:{pool}"),
            Self::Hosts(pool) => write!(f, "hosts:{pool}"),
            Self::Standing(pool) => write!(f, "standing:{pool}"),
            Self::Budgets(pool) => write!(f, "budgets:{pool}"),
            Self::Workload(id) => write!(f, "workload:{id}"),
        }
    }
}

/// Why a text is not a topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// No such kind.
    #[error("{0:?} must be queue:, hosts:, standing: or budgets: and a pool, or workload: and a workload")]
    Kind(String),
    /// What follows the kind is no id.
    #[error(transparent)]
    Id(#[from] IdError),
}

impl FromStr for Topic {
    type Err = TopicError;
    fn from_str(text: &str) -> Result<Self, TopicError> {
        match text.split_once(':') {
            Some(("queue", pool)) => Ok(Self::Queue(pool.parse()?)),
            Some(("hosts", pool)) => Ok(Self::Hosts(pool.parse()?)),
            Some(("standing", pool)) => Ok(Self::Standing(pool.parse()?)),
            Some(("budgets", pool)) => Ok(Self::Budgets(pool.parse()?)),
            Some(("workload", id)) => Ok(Self::Workload(id.parse()?)),
            _ => Err(TopicError::Kind(text.to_owned())),
        }
    }
}

/// Something changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// What.
    pub topic: Topic,
    /// Counts the news since the server started.
    pub version: u64,
}

/// Where the engine and those who ask meet.
#[derive(Debug)]
pub struct Hub {
    views: RwLock<BTreeMap<PoolId, watch::Receiver<Arc<Published>>>>,
    bell: Notify,
    news: broadcast::Sender<News>,
    versions: AtomicU64,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            views: RwLock::default(),
            bell: Notify::new(),
            news: broadcast::Sender::new(NEWS),
            versions: AtomicU64::new(0),
        }
    }
}

impl Hub {
    /// Gives a pool its first view. The engine keeps the sender and publishes later ones through it.
    pub fn attach(&self, pool: PoolId, first: Arc<Published>) -> watch::Sender<Arc<Published>> {
        let (sender, receiver) = watch::channel(first);
        let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
        views.insert(pool, receiver);
        sender
    }

    /// The latest view of a pool; `None` before the engine's first.
    pub fn view(&self, pool: &PoolId) -> Option<Arc<Published>> {
        let views = self.views.read().unwrap_or_else(PoisonError::into_inner);
        views.get(pool).map(|view| view.borrow().clone())
    }

    /// Whether the engine still publishes for every one of these pools.
    pub fn is_alive<'a>(&self, pools: impl IntoIterator<Item = &'a PoolId>) -> bool {
        let views = self.views.read().unwrap_or_else(PoisonError::into_inner);
        let alive = |pool| views.get(pool).is_some_and(|view| view.has_changed().is_ok());
        pools.into_iter().all(alive)
    }

    /// Rings the bell: something was written that the engine should look at.
    pub fn wake(&self) {
        self.bell.notify_one();
    }

    /// Waits for the bell. Rung while nobody waited, it is heard by the next who does.
    pub async fn woken(&self) {
        self.bell.notified().await;
    }

    /// Tells everybody who listens that something changed.
    pub fn announce(&self, topic: Topic) {
        let version = self.versions.fetch_add(1, Ordering::Relaxed) + 1;
        // Nobody listening is the usual case at night.
        let _ = self.news.send(News { topic, version });
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_reads_as_it_is_written() {
        for text in [
            "queue:h100",
            "hosts:h100",
            "standing:h100",
            "budgets:h100",
            "workload:w-7",
        ] {
            assert_eq!(
                text.parse::<Topic>().map(|topic| topic.to_string()),
                Ok(text.to_owned())
            );
        }
        for bad in ["", "queue", "queue:", "queue:A", "workload:7", "people:x"] {
            assert!(bad.parse::<Topic>().is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_bell_that_rang_before_anybody_waited_is_heard_once() {
        let hub = Hub::default();
        hub.wake();
        hub.wake();
        hub.woken().await;
        let again = tokio::time::timeout(std::time::Duration::from_millis(5), hub.woken()).await;
        assert!(again.is_err());
    }

    #[test]
    fn news_is_numbered_in_the_order_it_is_told() {
        let hub = Hub::default();
        let mut listener = hub.subscribe();
        let topic: Topic = "budgets:h100".parse().unwrap();
        hub.announce(topic.clone());
        hub.announce(topic.clone());
        let versions: Vec<u64> = std::iter::from_fn(|| listener.try_recv().ok())
            .map(|news| news.version)
            .collect();
        assert_eq!(versions, [1, 2]);
    }
}
