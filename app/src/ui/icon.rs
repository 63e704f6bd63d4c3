//! The icons. Each is one path, printed once per page as a symbol and referred to from there.

use leptos::prelude::*;

macro_rules! icons {
    ($($name:ident $id:literal $path:literal;)*) => {
        /// An icon.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Icon {
            $(
                #[doc = $id]
                $name,
            )*
        }

        impl Icon {
            /// Every icon.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its id in the page.
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("i-", $id),)*
                }
            }

            /// The reference to it.
            pub fn href(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("#i-", $id),)*
                }
            }

            fn path(self) -> &'static str {
                match self {
                    $(Self::$name => $path,)*
                }
            }
        }
    };
}

icons! {
    Budget "budget" "M3 2.5v11M3 5h5M3 11h5M8 3.5h5.5v3H8zM8 9.5h5.5v3H8z";
    Check "check" "m3 8.5 3.2 3.2L13 4.8";
    Clock "clock" "M2.5 8a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0M8 5v3.2l2 1.3";
    Cut "cut" "M2.5 3h7l-2 5 2 5h-7zM12.5 3v10";
    Down "down" "m4 6 4 4 4-4";
    Free "free" "M3 5.8A5.5 5.5 0 0 1 5.8 3M10.2 3A5.5 5.5 0 0 1 13 5.8M13 10.2a5.5 5.5 0 0 1-2.8 2.8M5.8 13A5.5 5.5 0 0 1 3 10.2";
    Hatch "hatch" "M4 2.5h8A1.5 1.5 0 0 1 13.5 4v8a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 12V4A1.5 1.5 0 0 1 4 2.5zM3 9l6-6M3.5 13 13 3.5M7.5 13 13 7.5";
    Host "host" "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1";
    Info "info" "M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0M8 7.2V11M8 4.8v.2";
    Lock "lock" "M4.5 7h7a1 1 0 0 1 1 1v4.500a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1zM5.500 7V5a2.5 2.5 0 0 1 5 0v2";
    Move "move" "M2 5.5h10M9.5 3 12 5.5 9.5 8M14 10.5H4M6.5 8 4 10.5 6.5 13";
    Now "now" "M8 2.5v5.5l3.5 2M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0";
    Person "person" "M5.4 5.3a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0M3 13.5c0-2.8 2-4.3 5-4.3s5 1.5 5 4.3";
    Play "play" "M5 3.5v9l7.500-4.500z";
    Plus "plus" "M8 3v10M3 8h10";
    Queue "queue" "M2.5 4h11M2.5 8h8M2.5 12h5";
    Right "right" "m6 4 4 4-4 4";
    Scale "scale" "M8 2.5v11M4.500 13.5h7M2.5 5h11M2.5 5 1 9.5h3.5zM13.5 5 12 9.5h3.5z";
    Shield "shield" "M8 1.8 13.2 4v4c0 3.2-2.2 5.2-5.2 6.4C5 13.2 2.8 11.2 2.8 8V4zM5.6 8l1.7 1.7 3.3-3.3";
    Stop "stop" "M4 4h8v8H4z";
    Up "up" "m3 10 5-5 5 5";
    Warn "warn" "M8 2.2 14.3 13H1.7zM8 6.2v3.3M8 11.2v.1";
    X "x" "m4 4 8 8M12 4l-8 8";
}

/// An icon. It says nothing that the words beside it don't say.
#[component]
pub fn Glyph(
    /// Which.
    icon: Icon,
    /// Whether it is the smaller size.
    #[prop(optional)]
    small: bool,
) -> impl IntoView {
    let class = if small { "i i--s" } else { "i" };
    view! {
        <svg class=class aria-hidden="true" focusable="false">
            <use href=icon.href() />
        </svg>
    }
}

/// Every icon once, and the patterns that charts refer to.
#[component]
pub fn Sprite() -> impl IntoView {
    let symbols = Icon::ALL
        .iter()
        .map(|icon| {
            view! {
                <symbol id=icon.id() viewBox="0 0 16 16">
                    <path d=icon.path()></path>
                </symbol>
            }
        })
        .collect_view();
    view! {
        <svg class="sprite" aria-hidden="true" focusable="false">
            {symbols}
            <defs>
                <pattern
                    id="hx"
                    width="7"
                    height="7"
                    patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)"
                >
                    <rect class="hatch-bg" width="7" height="7"></rect>
                    <path class="hatch-ln" d="M0 0V7"></path>
                </pattern>
                <pattern
                    id="gx"
                    width="6"
                    height="6"
                    patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)"
                >
                    <rect class="grey-bg" width="6" height="6"></rect>
                    <path class="grey-ln" d="M0 0V6"></path>
                </pattern>
            </defs>
        </svg>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::Markup as _;

    #[test]
    fn every_icon_is_drawn_once_under_its_own_id() {
        let html = view! { <Sprite /> }.markup();
        for icon in Icon::ALL {
            assert_eq!(
                html.matches(&format!("id=\"{}\"", icon.id())).count(),
                1,
                "{icon:?}"
            );
            assert!(icon.href().ends_with(icon.id()));
        }
    }
}
