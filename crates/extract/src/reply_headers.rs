//! What the header says about answering a mail: whether a machine or a list sent it, and
//! which ids a reply refers to.

use crate::header::Headers;
use crate::mail::header_text;
use crate::sender::mailboxes_within;
use crate::steps::Steps;

/// The longest id that is kept, with its brackets.
const MAX_ID: usize = 250;
/// How many ids a reply refers to: the first, which names the thread, and the last ones.
const MAX_REFERENCES: usize = 20;
/// How many characters of a subject a reply repeats.
const MAX_SUBJECT: usize = 180;

/// What a reply needs to know. Everything here was written by the sender of the mail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplyHeaders {
    /// The field that shows that a machine sent the mail, as a word of a closed list.
    pub automated: Option<&'static str>,
    /// The field that shows that a mailing list sent the mail, as a word of a closed list.
    pub list: Option<&'static str>,
    /// The value of `X-Maillatch-Send`: the key of a send.
    pub send_key: Option<String>,
    /// The Message-ID as it is written, with its brackets.
    pub message_id: Option<String>,
    /// The ids that a reply refers to before that of the mail itself, with their brackets.
    pub references: Vec<String>,
    /// The only address in `Reply-To`.
    pub reply_to: Option<String>,
    /// The only address in `To`.
    pub to: Option<String>,
    /// The subject, in one line and cut off.
    pub subject: String,
}

impl ReplyHeaders {
    /// The id that names the thread: the first one that the mail refers to, or its own.
    pub fn thread_root(&self) -> Option<&str> {
        let first = self.references.first();
        first.or(self.message_id.as_ref()).map(String::as_str)
    }
}

/// Reads the fields.
pub(crate) fn read(headers: &Headers<'_>, steps: &Steps<'_>) -> ReplyHeaders {
    let message_id = headers.single("Message-ID").map(ids);
    let message_id = message_id.and_then(|ids| only(&ids));
    ReplyHeaders {
        automated: automated(headers),
        list: list(headers),
        send_key: headers.single("X-Maillatch-Send").and_then(send_key),
        message_id,
        references: references(headers),
        reply_to: only_address(headers, "Reply-To", steps),
        to: only_address(headers, "To", steps),
        subject: subject(&header_text(headers, "Subject", steps)),
    }
}

/// RFC 3834, section 2, and what machines write besides. A mail without a return path is
/// a bounce or an answer to one.
fn automated(headers: &Headers<'_>) -> Option<&'static str> {
    let values = |name: &str| -> Vec<String> { headers.all(name).map(lower).collect() };
    let is_not_no = |value: &String| !value.is_empty() && first_word(value) != "no";
    let is_report = |value: &String| value.starts_with("multipart/report");
    let words = [
        (
            values("Auto-Submitted").iter().any(is_not_no),
            "auto_submitted",
        ),
        (
            values("Return-Path").iter().any(|value| value == "<>"),
            "null_return_path",
        ),
        (
            values("Content-Type").iter().any(is_report),
            "delivery_report",
        ),
        (
            values("Precedence")
                .iter()
                .any(|value| value == "auto_reply"),
            "precedence",
        ),
        (
            !values("X-Auto-Response-Suppress").is_empty()
                || !values("X-Autoreply").is_empty()
                || !values("X-Autorespond").is_empty()
                || !values("X-Failed-Recipients").is_empty(),
            "auto_response",
        ),
    ];
    words
        .into_iter()
        .find(|(holds, _)| *holds)
        .map(|(_, word)| word)
}

fn list(headers: &Headers<'_>) -> Option<&'static str> {
    let fields = ["List-Id", "List-Post", "List-Unsubscribe", "List-Help"];
    if fields.iter().any(|name| headers.all(name).next().is_some()) {
        return Some("list_header");
    }
    let is_bulk = |value: &[u8]| matches!(lower(value).as_str(), "bulk" | "list" | "junk");
    headers
        .all("Precedence")
        .any(is_bulk)
        .then_some("precedence")
}

fn lower(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value.trim_ascii());
    text.to_ascii_lowercase()
}

/// The word before a comment or a parameter.
fn first_word(value: &str) -> &str {
    let end = value.find(|c: char| c == ';' || c == '(' || c.is_whitespace());
    end.and_then(|end| value.get(..end)).unwrap_or(value)
}

/// `ml-` and 64 hexadecimal digits.
fn send_key(value: &[u8]) -> Option<String> {
    let text = lower(value);
    let digits = text.strip_prefix("ml-")?;
    let fits = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then_some(text)
}

/// RFC 5322, section 3.6.4: the ids in `References`, or else the only one in
/// `In-Reply-To`. Of very many the first and the last ones are kept.
fn references(headers: &Headers<'_>) -> Vec<String> {
    let mut found: Vec<String> = headers.all("References").flat_map(ids).collect();
    if found.is_empty() {
        let parents: Vec<String> = headers.all("In-Reply-To").flat_map(ids).collect();
        found.extend(only(&parents));
    }
    if found.len() > MAX_REFERENCES {
        let surplus = found.len() - MAX_REFERENCES;
        found.drain(1..=surplus);
    }
    found
}

/// The ids in a value: `<…>` of visible ASCII characters. Others are left out, so that an
/// id can be written into a header as it is.
fn ids(value: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for piece in value.split(|byte| *byte == b'<').skip(1) {
        let Some(end) = piece.iter().position(|byte| *byte == b'>') else {
            continue;
        };
        let inner = piece.get(..end).unwrap_or_default();
        let is_plain = !inner.is_empty() && inner.iter().all(u8::is_ascii_graphic);
        if let (true, Ok(text)) = (is_plain, std::str::from_utf8(inner))
            && text.len() + 2 <= MAX_ID
        {
            found.push(format!("<{text}>"));
        }
    }
    found
}

fn only(ids: &[String]) -> Option<String> {
    match ids {
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn only_address(headers: &Headers<'_>, name: &str, steps: &Steps<'_>) -> Option<String> {
    let values = headers.all(name);
    let addresses: Vec<String> = values
        .flat_map(|value| mailboxes_within(value, steps))
        .collect();
    only(&addresses).map(|address| address.to_ascii_lowercase())
}

/// One line without control characters.
fn subject(text: &str) -> String {
    let spaced = |c: char| if c.is_control() { ' ' } else { c };
    let line: String = text.trim().chars().map(spaced).take(MAX_SUBJECT).collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &str) -> ReplyHeaders {
        let raw = format!("{fields}\r\n\r\n");
        let steps = Steps::for_size(raw.len());
        read(&Headers::read(raw.as_bytes(), b'\n').unwrap().0, &steps)
    }

    #[test]
    fn automated_mail_is_recognised_by_each_of_its_fields() {
        for (field, word) in [
            ("Auto-Submitted: auto-replied", "auto_submitted"),
            ("Auto-Submitted: auto-generated; x=y", "auto_submitted"),
            ("Return-Path: <>", "null_return_path"),
            (
                "Content-Type: multipart/report; report-type=x",
                "delivery_report",
            ),
            ("Precedence: auto_reply", "precedence"),
            ("X-Auto-Response-Suppress: All", "auto_response"),
            ("X-Autoreply: yes", "auto_response"),
        ] {
            assert_eq!(of(field).automated, Some(word), "{field}");
        }
        for field in [
            "Auto-Submitted: no",
            "Auto-Submitted: No (a person)",
            "Return-Path: <a@b.test>",
            "Subject: hello",
        ] {
            assert_eq!(of(field).automated, None, "{field}");
        }
    }

    #[test]
    fn list_mail_is_recognised_by_each_of_its_fields() {
        for (field, word) in [
            ("List-Id: <a.b.test>", "list_header"),
            ("List-Unsubscribe: <https://b.test>", "list_header"),
            ("Precedence: Bulk", "precedence"),
            ("Precedence: list", "precedence"),
        ] {
            assert_eq!(of(field).list, Some(word), "{field}");
        }
        assert_eq!(of("Precedence: first-class").list, None);
    }

    #[test]
    fn references_come_from_the_field_or_from_the_parent() {
        let both = of("References: <p0@x>\r\n <p1@y>\r\nIn-Reply-To: <p1@y>");
        assert_eq!(both.references, ["<p0@x>", "<p1@y>"]);
        assert_eq!(both.thread_root(), Some("<p0@x>"));
        assert_eq!(of("In-Reply-To: <p1@y>").references, ["<p1@y>"]);
        assert!(of("In-Reply-To: <a@b> <c@d>").references.is_empty());
        let own = of("Message-ID: <P2@Mail.example.org>");
        assert_eq!(own.message_id.as_deref(), Some("<P2@Mail.example.org>"));
        assert_eq!(own.thread_root(), own.message_id.as_deref());
    }

    #[test]
    fn ids_that_could_break_a_header_are_left_out() {
        let long = "a".repeat(300);
        let found = of(&format!(
            "References: <ok@x> <a b@x> <{long}@x> <\u{e9}@x> <> <no end"
        ));
        assert_eq!(found.references, ["<ok@x>"]);
        assert_eq!(of("Message-ID: <a@b> <c@d>").message_id, None);
    }

    #[test]
    fn of_many_references_the_first_and_the_last_are_kept() {
        let many: Vec<String> = (0..100).map(|n| format!("<{n}@x>")).collect();
        let kept = of(&format!("References: {}", many.join(" "))).references;
        assert_eq!(kept.len(), 20);
        assert_eq!(kept[0], "<0@x>");
        assert_eq!(kept[19], "<99@x>");
    }

    #[test]
    fn only_a_well_formed_send_key_is_read() {
        let key = format!("ml-{}", "a1".repeat(32));
        let found = of(&format!("X-Maillatch-Send: {key}"));
        assert_eq!(found.send_key, Some(key));
        for bad in ["ml-", "ml-xyz", "", &"a".repeat(67)] {
            assert_eq!(of(&format!("X-Maillatch-Send: {bad}")).send_key, None);
        }
    }

    #[test]
    fn subject_is_one_bounded_line() {
        let found = of(&format!("Subject: a\r\n\tb{}", "c".repeat(500)));
        assert!(found.subject.starts_with('a'));
        assert!(found.subject.chars().count() <= MAX_SUBJECT);
        assert!(!found.subject.contains(['\r', '\n', '\t']));
    }

    #[test]
    fn reply_to_with_several_addresses_is_none() {
        assert_eq!(
            of("Reply-To: A@b.test").reply_to.as_deref(),
            Some("a@b.test")
        );
        assert_eq!(of("Reply-To: a@b.test, c@d.test").reply_to, None);
    }
}
