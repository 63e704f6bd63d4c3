//! Placeholder so that the workspace compiles.
