//! Where the first poll of a mailbox begins.

use std::time::Duration;

use pipeline::Timestamp;

use crate::flaw::PollFlaw;

/// Which mail is read at first.
#[derive(Debug, Clone, Copy)]
pub(super) enum Since {
    /// Mail that arrives after the first poll.
    FirstPoll,
    /// Mail that arrived after this moment.
    Moment(Timestamp),
    /// All mail.
    All,
}

/// How far the server's clock may be behind ours at the first poll.
const CLOCK_SKEW: Duration = Duration::from_mins(10);

impl Since {
    pub(super) fn read(text: Option<&str>) -> Result<Self, PollFlaw> {
        let why = "it is neither `all` nor a moment such as 2026-01-01T00:00:00Z";
        match text {
            None => Ok(Self::FirstPoll),
            Some("all") => Ok(Self::All),
            Some(text) => match text.parse() {
                Ok(moment) => Ok(Self::Moment(moment)),
                Err(_) => Err(PollFlaw::Unfit("poll.since", why)),
            },
        }
    }

    pub(super) fn at(self, now: Timestamp) -> Option<Timestamp> {
        let skew = i64::try_from(CLOCK_SKEW.as_millis()).unwrap_or_default();
        match self {
            Self::FirstPoll => Some(Timestamp::from_millis(now.as_millis() - skew)),
            Self::Moment(moment) => Some(moment),
            Self::All => None,
        }
    }
}
