//! What a server says about a request that it refuses.

use std::fmt;

/// The server's own words; they repeat nothing of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Complaint {
    /// The last part of the problem's type.
    pub slug: Option<String>,
    /// The sentence.
    pub detail: Option<String>,
    /// The field that is wrong.
    pub field: Option<String>,
    /// What the field must be.
    pub rule: Option<String>,
    /// The cursor with which a list goes on after items that were deleted.
    pub oldest: Option<String>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = self.detail.as_deref().or(self.slug.as_deref());
        f.write_str(sentence.unwrap_or("no reason was given"))?;
        match (&self.field, &self.rule) {
            // The sentence names the field, too.
            (_, Some(rule)) if sentence.is_some_and(|sentence| sentence.contains(rule)) => Ok(()),
            (Some(field), Some(rule)) => write!(f, " ({field}: {rule})"),
            (Some(word), None) | (None, Some(word)) => write!(f, " ({word})"),
            (None, None) => Ok(()),
        }
    }
}
