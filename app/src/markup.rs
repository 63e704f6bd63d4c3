//! HTML as tests compare it.

use leptos::tachys::view::RenderHtml;

/// Renders for a comparison.
pub(crate) trait Markup {
    /// The HTML without the markers that only tell hydration where one text ends and the next begins.
    fn markup(self) -> String;
}

impl<V: RenderHtml> Markup for V {
    fn markup(self) -> String {
        self.to_html().replace("<!>", "")
    }
}
