//! The senses of terms.

/// A set of senses, because a term may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sense(pub(super) u64);

impl Sense {
    /// Names a one-time code: "verification code".
    pub(crate) const CODE: Self = Self(1);
    /// Names some code: "code", "PIN".
    pub(crate) const WORD: Self = Self(1 << 1);
    /// "is", "as follows".
    pub(crate) const COPULA: Self = Self(1 << 2);
    /// "enter", "use".
    pub(crate) const ENTER: Self = Self(1 << 3);
    /// "expires", "valid for".
    pub(crate) const EXPIRY: Self = Self(1 << 4);
    /// "sign in", "account", "confirm".
    pub(crate) const AUTH: Self = Self(1 << 5);
    /// Names another number: order, invoice, phone.
    pub(crate) const NUMBER: Self = Self(1 << 6);
    /// Names a code of another kind: discount, booking, meeting.
    pub(crate) const KIND: Self = Self(1 << 7);
    /// Counts what stands before it: "minutes", "%".
    pub(crate) const UNIT: Self = Self(1 << 8);
    /// Money, before or after the number.
    pub(crate) const MONEY: Self = Self(1 << 9);
    /// "previous", "no longer".
    pub(crate) const STALE: Self = Self(1 << 10);
    /// Link: confirm, activate.
    pub(crate) const VERIFY: Self = Self(1 << 12);
    /// Link: sign in.
    pub(crate) const LOGIN: Self = Self(1 << 13);
    /// Link: reset a password, recover an account.
    pub(crate) const RESET: Self = Self(1 << 14);
    /// Link: join, accept.
    pub(crate) const INVITE: Self = Self(1 << 15);
    /// Link: change of address.
    pub(crate) const CHANGE: Self = Self(1 << 16);
    /// Link: approve a sign-in.
    pub(crate) const APPROVE: Self = Self(1 << 17);
    /// Link: this was not me.
    pub(crate) const DENY: Self = Self(1 << 18);
    /// Link: delete.
    pub(crate) const DELETE: Self = Self(1 << 19);
    /// Link: unsubscribe.
    pub(crate) const LEAVE: Self = Self(1 << 20);
    /// Link: help, privacy, shop.
    pub(crate) const PAGE: Self = Self(1 << 21);
    /// "link", "button", "click": refers to a link nearby.
    pub(crate) const CLICK: Self = Self(1 << 22);
    /// The verb between a label and its code: "is".
    pub(crate) const IS: Self = Self(1 << 23);
    /// "this was not you": a link nearby answers an alarm.
    pub(crate) const NOT_ME: Self = Self(1 << 24);
    /// Names a meeting or a call, whose codes are not one-time codes.
    pub(crate) const MEETING: Self = Self(1 << 25);
    /// Cue: asks the reader to hand something over.
    pub(crate) const ASK: Self = Self(1 << 26);
    /// Cue: names what is handed over.
    pub(crate) const THING: Self = Self(1 << 27);
    /// Cue: names a proof of identity.
    pub(crate) const PROOF: Self = Self(1 << 28);
    /// Cue: names where something is handed over.
    pub(crate) const PLACE: Self = Self(1 << 29);
    /// Cue: asks to keep something to oneself.
    pub(crate) const SECRET: Self = Self(1 << 30);
    /// Cue: names what another number belongs to.
    pub(crate) const OTHER: Self = Self(1 << 31);
    /// Cue: shows that a code is only spoken of.
    pub(crate) const PAST: Self = Self(1 << 32);
    /// Cue: a limit of time.
    pub(crate) const LIMIT: Self = Self(1 << 33);

    /// Cue of a link: it confirms, accepts, approves.
    pub(crate) const AGREE: Self = Self(1 << 34);
    /// Cue of a link: it signs in, continues, opens the account.
    pub(crate) const GO_IN: Self = Self(1 << 35);
    /// Cue of a link: it sets a password.
    pub(crate) const CHOOSE: Self = Self(1 << 36);
    /// Cue of a link: an invitation.
    pub(crate) const JOIN: Self = Self(1 << 37);
    /// Cue of a link: it denies, reports, blocks, cancels.
    pub(crate) const REFUSE: Self = Self(1 << 38);
    /// Cue of a link: it deletes.
    pub(crate) const REMOVE: Self = Self(1 << 39);
    /// Cue of a link: it ends a subscription.
    pub(crate) const QUIT: Self = Self(1 << 40);
    /// Cue of a link: it only shows something.
    pub(crate) const SHOW: Self = Self(1 << 41);
    /// Cue of a link: it sends another one.
    pub(crate) const AGAIN: Self = Self(1 << 42);
    /// Cue of a link: "click here".
    pub(crate) const POINT: Self = Self(1 << 43);
    /// Cue of a link: the reader asked for it.
    pub(crate) const ASKED: Self = Self(1 << 44);
    /// Cue of a link: the reader may not have asked for it.
    pub(crate) const ALARM: Self = Self(1 << 45);

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two sets have a sense in common.
    pub(crate) const fn says(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
