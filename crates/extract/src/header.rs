//! Header blocks: fields by their exact name; fields that are too long are dropped.

use memchr::memchr;
use memchr::memmem;

use crate::Refusal;
use crate::steps::Steps;

const MAX_FIELDS: usize = 1_000;
pub(crate) const MAX_FIELD: usize = 16 * 1024;
const MAX_BLOCK: usize = 256 * 1024;
/// Steps charged for a byte of a value that is parsed, besides those for encoded words.
const PER_BYTE: usize = 4;

/// One header block.
#[derive(Debug, Default)]
pub(crate) struct Headers<'a> {
    fields: Vec<Field<'a>>,
    /// At least one field was too long and was dropped.
    pub(crate) dropped: bool,
    /// One of them was a `Content-` field, which says what the part is.
    pub(crate) dropped_content: bool,
}

#[derive(Debug)]
struct Field<'a> {
    name: &'a [u8],
    value: &'a [u8],
}

impl Field<'_> {
    fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

impl<'a> Headers<'a> {
    /// Reads the block at the start of `raw` and returns it with its length.
    pub(crate) fn read(raw: &'a [u8], eol: u8) -> Result<(Self, usize), Refusal> {
        let mut block = Self::default();
        let (mut at, mut kept, mut seen) = (0, 0, 0);
        while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
            let field = folded_field(rest, eol);
            at += field.len();
            if is_blank(field) {
                break;
            }
            seen += 1;
            if seen > MAX_FIELDS {
                return Err(Refusal::HeadersTooLarge);
            }
            if field.len() > MAX_FIELD {
                let name = field.get(..8).unwrap_or_default();
                block.dropped = true;
                block.dropped_content |= name.eq_ignore_ascii_case(b"content-");
                // A sender still counts: beside a long `From` another one is not the only one.
                let sender = split_field(field).filter(|field| field.is_named("From"));
                block.fields.extend(sender.map(|field| Field {
                    value: b"",
                    ..field
                }));
                continue;
            }
            kept += field.len();
            if kept > MAX_BLOCK {
                return Err(Refusal::HeadersTooLarge);
            }
            block.fields.extend(split_field(field));
        }
        Ok((block, at))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && !self.dropped
    }

    /// Every value of the field, in order. The name must match exactly: `Fr om`,
    /// `:From` and `From\0` are other fields.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |field| field.is_named(name))
            .map(|field| field.value)
    }

    /// The value if the field occurs exactly once.
    pub(crate) fn single(&self, name: &str) -> Option<&'a [u8]> {
        let mut values = self.all(name);
        values.next().filter(|_| values.next().is_none())
    }

    pub(crate) fn first(&self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }
}

/// A value as the parsers expect it: trimmed, with a line feed at the end. `None` if it has more
/// encoded words than `most`, or if the budget is spent.
///
/// Behind each encoded word that does not end, the parsers look at the rest of the value. So
/// each one is charged the whole value.
pub(crate) fn parsed_line(value: &[u8], most: usize, steps: &Steps<'_>) -> Option<Vec<u8>> {
    let words = memmem::find_iter(value, b"=?").take(most + 1).count();
    let fits = words <= most && steps.charge((PER_BYTE + words) * value.len());
    fits.then(|| {
        let mut line = value.trim_ascii().to_vec();
        line.push(b'\n');
        line
    })
}

/// The first line of `rest` and its continuation lines, with their line ends.
fn folded_field(rest: &[u8], eol: u8) -> &[u8] {
    let mut end = 0;
    while let Some(line) = rest.get(end..).filter(|line| !line.is_empty()) {
        let length = memchr(eol, line).map_or(line.len(), |at| at + 1);
        let first = end == 0;
        if first && is_blank(line.get(..length).unwrap_or_default()) {
            return rest.get(..length).unwrap_or_default();
        }
        end += length;
        let continues = matches!(rest.get(end), Some(b' ' | b'\t'));
        if !continues {
            break;
        }
    }
    rest.get(..end).unwrap_or_default()
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

/// Splits a field at its colon. The name consists of printable characters. The
/// obsolete syntax allows spaces before the colon.
fn split_field(field: &[u8]) -> Option<Field<'_>> {
    let colon = memchr(b':', field)?;
    let (name, value) = (field.get(..colon)?, field.get(colon + 1..)?);
    let name = name.trim_ascii_end();
    let strict = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    strict.then_some(Field { name, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &[u8]) -> Headers<'_> {
        Headers::read(raw, b'\n').unwrap().0
    }

    #[test]
    fn similar_names_are_other_fields() {
        let block = read(b"Fr om: a@x\n:From: b@x\nFrom\0: c@x\nfrom: d@x\n\n");
        assert_eq!(block.single("From"), Some(&b" d@x\n"[..]));
    }

    #[test]
    fn continuation_line_belongs_to_its_field() {
        let block = read(b"Subject: a\r\n b\r\nTo: c\r\n\r\nbody");
        assert_eq!(block.single("subject"), Some(&b" a\r\n b\r\n"[..]));
    }

    #[test]
    fn oversize_field_is_dropped_and_flagged() {
        let raw = format!("Message-ID: <{}>\nTo: b\n\n", "a".repeat(100_000));
        let block = read(raw.as_bytes());
        assert!(block.dropped);
        assert!(block.first("Message-ID").is_none());
        assert!(block.first("To").is_some());
    }

    #[test]
    fn sender_beside_an_oversize_one_is_not_the_only_one() {
        let raw = format!("From: <{}>\nFrom: a@x\n\n", "a".repeat(100_000));
        assert!(read(raw.as_bytes()).single("From").is_none());
    }

    #[test]
    fn million_fields_are_refused() {
        let raw = b"A: b\n".repeat(1_000_000);
        let refusal = Headers::read(&raw, b'\n').unwrap_err();
        assert_eq!(refusal, Refusal::HeadersTooLarge);
    }
}
