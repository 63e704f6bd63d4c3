//! Live pages: the server says which topic changed, and the page asks again for what it shows.
//!
//! There is one event stream a tab. It carries no data, only "topic X is at version N"; so what is shown always
//! comes from the same query, with or without it. Refetches are at least a second apart. When nothing has been
//! heard for two and a half heartbeats, a bar says that the data may be old.

use std::time::Duration;

use leptos::prelude::*;
use serde::Deserialize;

/// The least time between two refetches, so that a busy scheduler doesn't become a busy browser.
pub const PACE: Duration = Duration::from_secs(1);
/// Two heartbeats missed, and half of one for the way: heartbeats come every 10 s.
pub const SILENCE: Duration = Duration::from_secs(25);

/// A message that a topic has changed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Changed {
    /// The topic.
    pub topic: String,
    /// Its version.
    pub version: u64,
}

/// Reads a message; anything malformed is no message.
pub fn changed(data: &str) -> Option<Changed> {
    leptos::serde_json::from_str(data).ok()
}

/// Spaces refetches: at once when there was none for a while, else when the pace allows, and never twice for
/// what came in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pacer {
    resting: bool,
    due: bool,
}

impl Pacer {
    /// Something changed; whether to refetch now.
    pub fn on_change(&mut self) -> bool {
        if self.resting {
            self.due = true;
            return false;
        }
        self.resting = true;
        true
    }

    /// The pace has passed; whether to refetch now.
    pub fn on_rest_over(&mut self) -> bool {
        self.resting = self.due;
        std::mem::take(&mut self.due)
    }
}

/// The live state of the tab, in the context of every page.
#[derive(Clone, Copy)]
pub struct Live {
    version: RwSignal<u64>,
    stale: RwSignal<bool>,
    #[cfg(feature = "hydrate")]
    stream: StoredValue<stream::Stream, LocalStorage>,
}

impl Live {
    /// Puts the live state into the context.
    pub fn provide() -> Self {
        let live = Self {
            version: RwSignal::new(0),
            stale: RwSignal::new(false),
            #[cfg(feature = "hydrate")]
            stream: StoredValue::new_local(stream::Stream::default()),
        };
        provide_context(live);
        #[cfg(feature = "hydrate")]
        on_cleanup(move || live.close());
        live
    }

    /// Counts refetches: a resource that reads it is fetched again.
    pub fn version(self) -> u64 {
        self.version.get()
    }

    /// Whether nothing has been heard for a while.
    pub fn is_stale(self) -> bool {
        self.stale.get()
    }

    /// Says what the page shows, once it shows it. Does nothing on the server, where a page is drawn once.
    pub fn watch(self, topics: Vec<String>) {
        #[cfg(feature = "hydrate")]
        Effect::new(move |_| self.listen(&topics));
        #[cfg(not(feature = "hydrate"))]
        drop(topics);
    }
}

/// The live state of the tab.
pub fn use_live() -> Live {
    use_context::<Live>().unwrap_or_else(Live::provide)
}

#[cfg(feature = "hydrate")]
mod stream {
    //! The browser's side: one `EventSource`, its listeners, and two timers.

    use leptos::leptos_dom::helpers::{TimeoutHandle, set_timeout, set_timeout_with_handle};
    use leptos::prelude::*;
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{EventSource, MessageEvent};

    use super::{Live, PACE, Pacer, SILENCE, changed};

    type Listener = Closure<dyn FnMut(MessageEvent)>;

    #[derive(Default)]
    pub(super) struct Stream {
        topics: Vec<String>,
        source: Option<EventSource>,
        listeners: Vec<Listener>,
        silence: Option<TimeoutHandle>,
        pacer: Pacer,
    }

    impl Stream {
        fn close(&mut self) {
            if let Some(source) = self.source.take() {
                source.close();
            }
            self.listeners.clear();
            if let Some(timer) = self.silence.take() {
                timer.clear();
            }
        }
    }

    impl Live {
        pub(super) fn close(self) {
            self.stream.try_update_value(Stream::close);
        }

        /// Opens the stream for these topics, unless it is open for them already.
        pub(super) fn listen(self, topics: &[String]) {
            let same = self
                .stream
                .try_with_value(|stream| stream.source.is_some() && stream.topics == topics);
            if same != Some(false) {
                return;
            }
            self.close();
            self.open(topics);
        }

        fn open(self, topics: &[String]) {
            let Ok(source) = EventSource::new(&format!("/events?topics={}", topics.join(","))) else {
                return;
            };
            let listeners = [
                ("changed", Closure::new(move |message| self.on_changed(&message))),
                ("resync", Closure::new(move |_| self.on_resync())),
                ("heartbeat", Closure::new(move |_| self.on_heard())),
            ];
            for (event, listener) in &listeners {
                let listener: &Listener = listener;
                let listener = listener.as_ref().unchecked_ref();
                if source.add_event_listener_with_callback(event, listener).is_err() {
                    source.close();
                    return;
                }
            }
            self.stream.try_update_value(|stream| {
                stream.topics = topics.to_vec();
                stream.source = Some(source);
                stream.listeners = listeners.into_iter().map(|(_, listener)| listener).collect();
            });
            self.wait_for_silence();
        }

        fn on_changed(self, message: &MessageEvent) {
            let known = message.data().as_string().and_then(|data| changed(&data));
            if known.is_some() {
                self.on_heard();
                self.refetch();
            }
        }

        fn on_resync(self) {
            self.on_heard();
            self.refetch();
        }

        /// Whatever was heard ends a silence; after one, what is shown is asked for again.
        fn on_heard(self) {
            self.wait_for_silence();
            if self.stale.try_get_untracked() == Some(true) {
                self.stale.try_set(false);
                self.refetch();
            }
        }

        fn wait_for_silence(self) {
            let timer = set_timeout_with_handle(move || self.on_silence(), SILENCE).ok();
            self.stream.try_update_value(|stream| {
                if let Some(earlier) = std::mem::replace(&mut stream.silence, timer) {
                    earlier.clear();
                }
            });
        }

        /// Says so, and opens the stream anew: a browser gives up on a stream that was answered with an error.
        fn on_silence(self) {
            self.stale.try_set(true);
            let topics = self.stream.try_with_value(|stream| stream.topics.clone());
            if let Some(topics) = topics {
                self.close();
                self.open(&topics);
            }
        }

        fn refetch(self) {
            if self.stream.try_update_value(|stream| stream.pacer.on_change()) == Some(true) {
                self.fetch_and_rest();
            }
        }

        fn fetch_and_rest(self) {
            self.version.try_update(|version| *version += 1);
            let rest_over = move || {
                if self.stream.try_update_value(|stream| stream.pacer.on_rest_over()) == Some(true) {
                    self.fetch_and_rest();
                }
            };
            set_timeout(rest_over, PACE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_messages_are_ignored() {
        let good = changed(r#"{"topic":"queue:gpu","version":123}"#);
        assert_eq!(
            good,
            Some(Changed {
                topic: "queue:gpu".to_owned(),
                version: 123
            })
        );
        for bad in [
            "",
            "null",
            "[]",
            "{",
            r#"{"topic":"queue:gpu"}"#,
            r#"{"topic":1,"version":2}"#,
            "<b>",
        ] {
            assert_eq!(changed(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_burst_of_changes_is_two_refetches() {
        let mut pacer = Pacer::default();
        assert!(pacer.on_change());
        assert!((0..1_000).all(|_| !pacer.on_change()));
        assert!(pacer.on_rest_over());
        assert!(!pacer.on_change());
        assert!(pacer.on_rest_over());
        assert!(!pacer.on_rest_over());
        assert!(pacer.on_change());
    }
}
