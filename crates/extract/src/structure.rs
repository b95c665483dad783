//! Finds the parts of a mail in one pass, without recursion.
//!
//! A boundary counts only at the start of a line. Nesting is limited during the pass.

use memchr::{memchr, memmem};

use crate::Refusal;
use crate::content_type::ContentType;
use crate::header::Headers;
use crate::steps::Steps;

const MAX_MULTIPARTS: usize = 20;
const MAX_MESSAGES: usize = 5;
const MAX_PARTS: usize = 500;
const MAX_RAW: usize = 10 * 1024 * 1024;
/// Steps charged for a line and for a part, besides their bytes.
const PER_LINE: usize = 16;
const PER_PART: usize = 2_000;

/// The top header block and all leaf parts.
#[derive(Debug)]
pub(crate) struct Structure<'a> {
    pub(crate) headers: Headers<'a>,
    pub(crate) leaves: Vec<Leaf<'a>>,
    /// A boundary in the middle of a line, or a multipart without an end.
    pub(crate) damaged: bool,
}

/// A part without parts of its own.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    pub(crate) headers: Headers<'a>,
    pub(crate) kind: ContentType,
    pub(crate) body: &'a [u8],
    /// How many attached messages the part is nested in.
    pub(crate) messages: usize,
    /// The mail ended before the part did.
    pub(crate) cut: bool,
}

struct Frame {
    boundary: Vec<u8>,
    messages: usize,
    /// A part of a digest is a message unless it states another type.
    digest: bool,
}

struct Scan<'a, 's> {
    raw: &'a [u8],
    steps: &'s Steps<'s>,
    eol: u8,
    frames: Vec<Frame>,
    leaves: Vec<Leaf<'a>>,
    parts: usize,
    damaged: bool,
}

/// Reads the structure, or refuses the mail.
pub(crate) fn read<'a>(raw: &'a [u8], steps: &Steps<'_>) -> Result<Structure<'a>, Refusal> {
    if raw.len() > MAX_RAW {
        return Err(Refusal::TooLarge);
    }
    if raw
        .iter()
        .all(|byte| byte.is_ascii_whitespace() || *byte == 0)
    {
        return Err(Refusal::Empty);
    }
    let raw = skip_envelope(raw);
    let eol = line_end(raw);
    let (headers, length) = Headers::read(raw, eol)?;
    steps.charge(2 * length);
    if headers.is_empty() {
        return Err(Refusal::NotMail);
    }
    let mut scan = Scan {
        raw,
        steps,
        eol,
        frames: Vec::new(),
        leaves: Vec::new(),
        parts: 0,
        damaged: false,
    };
    let (first, _) = Headers::read(raw, eol)?;
    let mut next = scan.part(first, length, 0)?;
    while let Some((at, messages)) = next {
        let (part, length) = Headers::read(raw.get(at..).unwrap_or_default(), eol)?;
        steps.charge(PER_PART + 16 * length);
        steps.check()?;
        next = scan.part(part, at + length, messages)?;
    }
    Ok(Structure {
        headers,
        leaves: scan.leaves,
        damaged: scan.damaged,
    })
}

/// The offset of a mail's body as this crate reads it; `None` if its headers are
/// refused.
pub fn body_offset(raw: &[u8]) -> Option<usize> {
    let mail = skip_envelope(raw);
    let (_, length) = Headers::read(mail, line_end(mail)).ok()?;
    Some(raw.len() - mail.len() + length)
}

/// The byte that ends the lines of a mail.
fn line_end(raw: &[u8]) -> u8 {
    if memchr(b'\n', raw).is_some() {
        b'\n'
    } else {
        b'\r'
    }
}

/// Skips the separator line of a mailbox file.
fn skip_envelope(raw: &[u8]) -> &[u8] {
    if !raw.starts_with(b"From ") {
        return raw;
    }
    memchr(b'\n', raw)
        .and_then(|at| raw.get(at + 1..))
        .unwrap_or(raw)
}

impl<'a> Scan<'a, '_> {
    /// Handles one part whose headers are read. Returns the offset of the next part's
    /// headers and how many messages that part is nested in.
    fn part(
        &mut self,
        headers: Headers<'a>,
        body: usize,
        messages: usize,
    ) -> Result<Option<(usize, usize)>, Refusal> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(Refusal::TooManyParts);
        }
        let digest = self
            .frames
            .last()
            .is_some_and(|frame| frame.digest && frame.messages == messages);
        let kind = ContentType::of(&headers, digest, self.steps);
        if let Some(boundary) = kind.boundary() {
            if self.frames.len() >= MAX_MULTIPARTS {
                return Err(Refusal::TooDeep);
            }
            let digest = kind.subtype == "digest";
            self.frames.push(Frame {
                boundary: boundary.to_vec(),
                messages,
                digest,
            });
            return Ok(self.seek(body).next);
        }
        if kind.is_message() && !is_encoded(&headers) {
            if messages >= MAX_MESSAGES {
                return Err(Refusal::TooDeep);
            }
            return Ok(Some((body, messages + 1)));
        }
        let found = self.seek(body);
        self.leaves.push(Leaf {
            headers,
            kind,
            body: self.raw.get(body..found.end).unwrap_or_default(),
            messages,
            cut: found.cut,
        });
        Ok(found.next)
    }

    /// Reads lines from `from` to the next part of an open multipart. The text after a
    /// closing boundary is an epilogue and belongs to no part.
    fn seek(&mut self, from: usize) -> PartEnd {
        let (mut at, mut end) = (from, None);
        while at < self.raw.len() && !self.frames.is_empty() {
            let rest = self.raw.get(at..).unwrap_or_default();
            let length = memchr(self.eol, rest).map_or(rest.len(), |found| found + 1);
            let line = rest.get(..length).unwrap_or_default();
            if !self.steps.charge(PER_LINE + length) {
                break;
            }
            if let Some((depth, closes)) = self.boundary(line) {
                let end = *end.get_or_insert_with(|| before_line_end(self.raw, from, at));
                let messages = self.frames.get(depth).map_or(0, |frame| frame.messages);
                self.frames.truncate(if closes { depth } else { depth + 1 });
                if !closes {
                    return PartEnd {
                        end,
                        next: Some((at + length, messages)),
                        cut: false,
                    };
                }
            } else if end.is_none() {
                self.damaged |= self.has_stray_boundary(line);
            }
            at += length;
        }
        let unclosed = !self.frames.is_empty();
        self.damaged |= unclosed;
        self.frames.clear();
        PartEnd {
            end: end.unwrap_or(self.raw.len()),
            next: None,
            cut: unclosed && end.is_none(),
        }
    }

    /// The innermost multipart that the line is a boundary of, and whether the line
    /// closes it.
    fn boundary(&self, line: &[u8]) -> Option<(usize, bool)> {
        let dashed = line.strip_prefix(b"--")?;
        self.frames
            .iter()
            .enumerate()
            .rev()
            .find_map(|(depth, frame)| {
                let after = dashed.strip_prefix(frame.boundary.as_slice())?;
                let closes = after.starts_with(b"--");
                let tail = if closes { after.get(2..)? } else { after };
                tail.iter()
                    .all(u8::is_ascii_whitespace)
                    .then_some((depth, closes))
            })
    }

    /// Whether a line has a boundary in its middle. Some mail programs split there.
    fn has_stray_boundary(&self, line: &[u8]) -> bool {
        let Some(frame) = self.frames.last() else {
            return false;
        };
        // Most lines are too short, and the search is slow to start.
        if line.len() < frame.boundary.len() + 2 {
            return false;
        }
        memmem::find(line, &frame.boundary)
            .is_some_and(|at| line.get(..at).is_some_and(|before| before.ends_with(b"--")))
    }
}

/// Where a part ends and the next one begins.
struct PartEnd {
    end: usize,
    next: Option<(usize, usize)>,
    cut: bool,
}

/// The end of a body: the line break before a boundary belongs to the boundary.
fn before_line_end(raw: &[u8], from: usize, at: usize) -> usize {
    let body = raw.get(from..at).unwrap_or_default();
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    from + body.strip_suffix(b"\r").unwrap_or(body).len()
}

fn is_encoded(headers: &Headers<'_>) -> bool {
    headers
        .first("Content-Transfer-Encoding")
        .is_some_and(|value| {
            let value = value.trim_ascii();
            value.eq_ignore_ascii_case(b"base64") || value.eq_ignore_ascii_case(b"quoted-printable")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &[u8]) -> Result<Structure<'_>, Refusal> {
        super::read(raw, &Steps::for_size(raw.len()))
    }

    fn bodies(raw: &str) -> (Vec<String>, bool) {
        let structure = read(raw.as_bytes()).unwrap();
        let bodies = structure
            .leaves
            .iter()
            .map(|leaf| String::from_utf8_lossy(leaf.body).into_owned());
        (bodies.collect(), structure.damaged)
    }

    #[test]
    fn leaves_of_nested_multiparts_are_found() {
        let (bodies, damaged) = bodies(
            "Content-Type: multipart/mixed; boundary=o\n\npreamble\n--o\n\
             Content-Type: multipart/alternative; boundary=\"i\"\n\n--i\n\none\n--i\n\
             Content-Type: text/html\n\ntwo\n--i--\nepilogue\n--o\n\nthree\n--o--\n",
        );
        assert_eq!(bodies, ["one", "two", "three"]);
        assert!(!damaged);
    }

    #[test]
    fn boundary_in_the_middle_of_a_line_is_text_and_flagged() {
        let (bodies, damaged) = bodies(
            "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nYour code is 111111 --b\nend\n--b--\n",
        );
        assert_eq!(bodies, ["Your code is 111111 --b\nend"]);
        assert!(damaged);
    }

    #[test]
    fn part_without_an_end_is_cut() {
        let raw = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhalf a mes";
        let structure = read(raw).unwrap();
        assert!(structure.damaged);
        assert!(structure.leaves.iter().all(|leaf| leaf.cut));
    }

    #[test]
    fn forty_thousand_nested_messages_are_too_deep() {
        let raw = b"Content-Type:message/rfc822\n\n".repeat(40_000);
        assert_eq!(read(&raw).unwrap_err(), Refusal::TooDeep);
    }

    #[test]
    fn fifty_thousand_nested_multiparts_are_too_deep() {
        let level = |n: u32| format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n");
        let raw = (0..50_000).map(level).collect::<Vec<_>>().concat();
        assert_eq!(read(raw.as_bytes()).unwrap_err(), Refusal::TooDeep);
    }

    #[test]
    fn mail_with_more_than_500_parts_is_refused() {
        let part = "--b\n\nx\n";
        let head = "Content-Type: multipart/mixed; boundary=b\n\n";
        assert!(read(format!("{head}{}--b--", part.repeat(499)).as_bytes()).is_ok());
        let refusal = read(format!("{head}{}--b--", part.repeat(500)).as_bytes()).unwrap_err();
        assert_eq!(refusal, Refusal::TooManyParts);
    }

    #[test]
    fn empty_and_oversize_mails_are_refused() {
        assert_eq!(read(b"").unwrap_err(), Refusal::Empty);
        assert_eq!(read(&[0; 1_000]).unwrap_err(), Refusal::Empty);
        assert_eq!(read(b"x").unwrap_err(), Refusal::NotMail);
        assert_eq!(
            read(&vec![b'a'; MAX_RAW + 1]).unwrap_err(),
            Refusal::TooLarge
        );
        assert!(read(b"Subject: only headers").is_ok());
    }

    #[test]
    fn carriage_returns_end_lines_without_line_feeds() {
        let structure = read(b"Subject: a\rFrom: b@c.test\r\rbody").unwrap();
        assert_eq!(structure.leaves.first().unwrap().body, b"body");
    }
}
