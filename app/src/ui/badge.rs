//! States and teams in a word: icon, word and border together, so that colour is never the only sign.

use leptos::prelude::*;
use stint_core::api::fleet::HostState;
use stint_core::sched::contract::{EndCause, WorkloadState};

use super::icon::{Glyph, Icon};

/// The looks of a badge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its class.
    pub class: &'static str,
    /// Its icon.
    pub icon: Icon,
    /// Its word.
    pub word: &'static str,
}

const PROTECTED: &str = "badge badge--protected";
const INTERRUPTIBLE: &str = "badge badge--interruptible";
const UNALLOCATED: &str = "badge badge--unallocated";
const WAIT: &str = "badge badge--wait";
const OFF: &str = "badge badge--off";
const BAD: &str = "badge badge--bad";

/// The looks of a workload's state.
pub fn state_look(state: WorkloadState) -> Look {
    let (class, icon) = match state {
        WorkloadState::Queued => (WAIT, Icon::Clock),
        WorkloadState::Held => (OFF, Icon::Lock),
        WorkloadState::Starting => (WAIT, Icon::Play),
        WorkloadState::Protected => (PROTECTED, Icon::Shield),
        WorkloadState::Interruptible => (INTERRUPTIBLE, Icon::Hatch),
        WorkloadState::Unallocated => (UNALLOCATED, Icon::Free),
        WorkloadState::Stopping => (WAIT, Icon::Stop),
        WorkloadState::Finished => (OFF, Icon::Check),
        WorkloadState::Failed => (BAD, Icon::Warn),
        WorkloadState::Cancelled | WorkloadState::Ended => (OFF, Icon::X),
    };
    Look {
        class,
        icon,
        word: state.label(),
    }
}

/// The looks of the end of a run.
pub fn cause_look(cause: EndCause) -> Look {
    let (class, icon) = match cause {
        EndCause::Finished => (OFF, Icon::Check),
        EndCause::Failed | EndCause::HostFailed | EndCause::LaunchFailed => (BAD, Icon::Warn),
        EndCause::Preempted => (BAD, Icon::Cut),
        EndCause::Cancelled => (OFF, Icon::X),
        EndCause::Expired => (OFF, Icon::Stop),
    };
    Look {
        class,
        icon,
        word: cause.label(),
    }
}

/// The looks of a host's state.
pub fn host_look(state: HostState) -> Look {
    let (class, icon) = match state {
        HostState::Up => (OFF, Icon::Check),
        HostState::Draining => (WAIT, Icon::Down),
        HostState::Down => (BAD, Icon::Warn),
        HostState::Unknown => (BAD, Icon::Info),
    };
    Look {
        class,
        icon,
        word: state.label(),
    }
}

/// A badge.
#[component]
pub fn Badge(
    /// Its looks.
    look: Look,
) -> impl IntoView {
    view! {
        <span class=look.class>
            <Glyph icon=look.icon />
            {look.word}
        </span>
    }
    .into_any()
}

/// The class of a team's colour: `sw sw-3`. Anything beyond ten is grey.
fn swatch_class(hue: u8) -> &'static str {
    const CLASSES: [&str; 11] = [
        "sw", "sw sw-1", "sw sw-2", "sw sw-3", "sw sw-4", "sw sw-5", "sw sw-6", "sw sw-7", "sw sw-8",
        "sw sw-9", "sw sw-10",
    ];
    CLASSES.get(usize::from(hue)).copied().unwrap_or(CLASSES[0])
}

/// The class that fills a shape with a team's colour.
pub fn fill_class(hue: u8) -> &'static str {
    const CLASSES: [&str; 11] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10"];
    CLASSES.get(usize::from(hue)).copied().unwrap_or(CLASSES[0])
}

/// The class of words on a team's colour.
pub fn label_class(hue: u8) -> &'static str {
    const CLASSES: [&str; 11] = [
        "o0 lab", "o1 lab", "o2 lab", "o3 lab", "o4 lab", "o5 lab", "o6 lab", "o7 lab", "o8 lab", "o9 lab",
        "o10 lab",
    ];
    CLASSES.get(usize::from(hue)).copied().unwrap_or(CLASSES[0])
}

/// A node with its colour.
#[component]
pub fn Tag(
    /// Its name.
    #[prop(into)]
    name: String,
    /// Its colour, 1 to 10, or 0 for grey.
    hue: u8,
) -> impl IntoView {
    view! {
        <span class="tag">
            <svg class=swatch_class(hue) viewBox="0 0 10 10" aria-hidden="true">
                <rect width="10" height="10" rx="2"></rect>
            </svg>
            {name}
        </span>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::Markup as _;

    #[test]
    fn every_state_has_its_own_word_and_an_icon_that_tells_it_from_its_neighbours() {
        let words: Vec<&str> = WorkloadState::ALL
            .iter()
            .map(|state| state_look(*state).word)
            .collect();
        assert_eq!(
            words,
            [
                "Queued",
                "Held",
                "Starting",
                "Protected",
                "Interruptible",
                "Unallocated",
                "Stopping",
                "Finished",
                "Failed",
                "Cancelled",
                "Ended"
            ]
        );
        let running = [
            WorkloadState::Protected,
            WorkloadState::Interruptible,
            WorkloadState::Unallocated,
        ];
        let looks = running.map(state_look);
        assert!(looks[0].icon != looks[1].icon && looks[1].icon != looks[2].icon);
        assert!(looks[0].class != looks[1].class && looks[1].class != looks[2].class);
    }

    #[test]
    fn every_end_and_every_host_state_has_its_own_word() {
        let ends = EndCause::ALL.map(|cause| cause_look(cause).word);
        assert_eq!(
            ends,
            [
                "Finished",
                "Failed",
                "Preempted",
                "Cancelled",
                "Host failed",
                "Launch failed",
                "Protection over, told to stop then"
            ]
        );
        let hosts = HostState::ALL.map(|state| host_look(state).word);
        assert_eq!(hosts, ["Up", "Draining", "Down", "Unknown"]);
    }

    #[test]
    fn red_means_only_preempted_or_broken() {
        let red: Vec<EndCause> = EndCause::ALL
            .into_iter()
            .filter(|cause| cause_look(*cause).class == BAD)
            .collect();
        assert_eq!(
            red,
            [
                EndCause::Failed,
                EndCause::Preempted,
                EndCause::HostFailed,
                EndCause::LaunchFailed
            ]
        );
    }

    #[test]
    fn a_badge_is_icon_and_word_and_a_name_is_text() {
        let badge = view! { <Badge look=state_look(WorkloadState::Queued) /> }.markup();
        assert!(badge.contains("#i-clock") && badge.contains("Queued"));
        let tag = view! { <Tag name="<img src=x onerror=\"a\">" hue=200 /> }.markup();
        assert!(tag.contains("&lt;img") && !tag.contains("<img"), "{tag}");
        assert!(tag.contains("class=\"sw\""));
    }
}
