//! The parts that pages are made of.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`frame`] | what surrounds every page: brand, pickers, navigation, who is signed in |
//! | [`icon`] | the icons, drawn once per page |
//! | [`badge`] | states, team tags |
//! | [`table`] | panels and tables that turn into lists on narrow screens |
//! | [`form`] | labelled fields with hints and errors; dialogs |
//! | [`notice`] | loading, empty, error, and the bar that says what happened |
//!
//! Invariants: no inline style; colour is never the only sign; text is text, nothing is taken as markup.

pub mod badge;
pub mod form;
pub mod frame;
pub mod icon;
pub mod notice;
pub mod table;
