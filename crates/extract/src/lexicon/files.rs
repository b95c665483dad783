//! The files, by language.

/// Every language and its terms.
pub(super) const FILES: &[(&str, &str)] = &[("en", include_str!("en.txt"))];
