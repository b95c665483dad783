//! Form bodies: `application/x-www-form-urlencoded` and `multipart/form-data`.

use std::borrow::Cow;

use memchr::memmem;
use pipeline::ContentDigest;

use crate::DecodeError;

/// No provider sends more fields than this.
const MOST_FIELDS: usize = 500;

/// A proof is looked for among no more fields than this: whoever cannot prove
/// anything must not make us read for long.
const MOST_SEARCHED: usize = 20_000;

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field<'b> {
    pub(crate) name: String,
    pub(crate) value: Cow<'b, [u8]>,
}

/// The fields of a form of either kind, in order.
pub(crate) fn fields<'b>(
    content_type: &str,
    body: &'b [u8],
) -> Result<Vec<Field<'b>>, DecodeError> {
    read(content_type, body, Kept::default())
}

/// The same of a form that may have too many: then its first ones, and those that
/// are `needed`. That is enough to prove whose it is, and what is proven is kept.
pub(crate) fn first_fields<'b>(
    content_type: &str,
    body: &'b [u8],
    needed: &[&str],
) -> Result<Vec<Field<'b>>, DecodeError> {
    let fields = Vec::new();
    let seen = 0;
    let kept = Kept {
        fields,
        needed,
        seen,
    };
    read(content_type, body, kept)
}

/// The fields of a multipart form; `None` when the type says it is none.
pub(crate) fn multipart<'b>(
    content_type: &str,
    body: &'b [u8],
) -> Option<Result<Vec<Field<'b>>, DecodeError>> {
    is_multipart(content_type).then(|| read(content_type, body, Kept::default()))
}

/// The only value of a field. Of two, the provider and we could believe
/// different ones.
pub(crate) fn only<'f>(fields: &'f [Field<'_>], name: &str) -> Result<&'f [u8], DecodeError> {
    optional(fields, name)?.ok_or(DecodeError::Malformed)
}

/// The value of a field that may be missing and must not come twice.
pub(crate) fn optional<'f>(
    fields: &'f [Field<'_>],
    name: &str,
) -> Result<Option<&'f [u8]>, DecodeError> {
    let mut found = fields.iter().filter(|field| field.name == name);
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some(field), None) => Ok(Some(&field.value)),
        (Some(_), Some(_)) => Err(DecodeError::DuplicateKey),
    }
}

/// A digest of names and values in order, without those named in `but`.
pub(crate) fn digest(fields: &[Field<'_>], but: &[&str]) -> ContentDigest {
    let stable: Vec<&[u8]> = fields
        .iter()
        .filter(|field| !but.contains(&field.name.as_str()))
        .flat_map(|field| [field.name.as_bytes(), &*field.value])
        .collect();
    ContentDigest::of(&stable)
}

/// What is kept of a form while it is read.
#[derive(Default)]
struct Kept<'b, 'n> {
    fields: Vec<Field<'b>>,
    /// The fields that are kept however many come before them; with none named,
    /// too many are an error.
    needed: &'n [&'n str],
    seen: usize,
}

impl<'b> Kept<'b, '_> {
    fn take(&mut self, field: Field<'b>) -> Result<(), DecodeError> {
        self.seen += 1;
        let most = if self.needed.is_empty() {
            MOST_FIELDS
        } else {
            MOST_SEARCHED
        };
        if self.seen > most {
            return Err(DecodeError::TooManyFields);
        }
        if self.seen <= MOST_FIELDS || self.needed.contains(&field.name.as_str()) {
            self.fields.push(field);
        }
        Ok(())
    }
}

fn read<'b>(
    content_type: &str,
    body: &'b [u8],
    mut kept: Kept<'b, '_>,
) -> Result<Vec<Field<'b>>, DecodeError> {
    if body.is_empty() {
        return Err(DecodeError::Empty);
    }
    if is_multipart(content_type) {
        let boundary = parameter(content_type, "boundary").ok_or(DecodeError::Malformed)?;
        parts(&boundary, body, &mut kept)?;
    } else if essence(content_type) == "application/x-www-form-urlencoded" {
        urlencoded(body, &mut kept)?;
    } else {
        return Err(DecodeError::Malformed);
    }
    Ok(kept.fields)
}

fn is_multipart(content_type: &str) -> bool {
    essence(content_type) == "multipart/form-data"
}

fn essence(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// A parameter of a header value, with or without quotes.
fn parameter(value: &str, name: &str) -> Option<String> {
    value
        .split(';')
        .skip(1)
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(have, _)| have.trim().eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
        .filter(|value| !value.is_empty())
}

/// The fields of an urlencoded form, byte for byte: a message in one of them
/// need not be UTF-8.
fn urlencoded(body: &[u8], kept: &mut Kept<'_, '_>) -> Result<(), DecodeError> {
    for pair in body
        .split(|&byte| byte == b'&')
        .filter(|pair| !pair.is_empty())
    {
        let mut halves = pair.splitn(2, |&byte| byte == b'=');
        let mut half = || unescaped(halves.next().unwrap_or_default());
        let name = String::from_utf8(half()).ok();
        kept.take(Field {
            name: name.ok_or(DecodeError::Malformed)?,
            value: Cow::Owned(half()),
        })?;
    }
    Ok(())
}

/// `+` is a space and `%` is followed by two digits; a `%` that is not stays.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| {
        char::from(*byte)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        rest = match rest {
            [] => return bytes,
            [b'%', high, low, behind @ ..]
                if let (Some(h), Some(l)) = (digit(high), digit(low)) =>
            {
                bytes.push(h << 4 | l);
                behind
            }
            [b'+', behind @ ..] => {
                bytes.push(b' ');
                behind
            }
            [byte, behind @ ..] => {
                bytes.push(*byte);
                behind
            }
        };
    }
}

/// The parts of a multipart body (RFC 7578): each between two delimiters, a
/// delimiter being `--` and the boundary at the start of a line. What is not
/// closed by the final delimiter was cut off and is refused.
fn parts<'b>(boundary: &str, body: &'b [u8], kept: &mut Kept<'b, '_>) -> Result<(), DecodeError> {
    let opening = format!("--{boundary}");
    let delimiter = format!("\r\n--{boundary}");
    let mut rest = match body.strip_prefix(opening.as_bytes()) {
        Some(rest) => rest,
        None => after(body, delimiter.as_bytes()).ok_or(DecodeError::Malformed)?,
    };
    let finder = memmem::Finder::new(delimiter.as_bytes());
    while !rest.starts_with(b"--") {
        let start = rest.strip_prefix(b"\r\n").ok_or(DecodeError::Malformed)?;
        let end = finder.find(start).ok_or(DecodeError::Malformed)?;
        let (part, behind) = start.split_at(end);
        kept.take(field(part)?)?;
        rest = behind
            .strip_prefix(delimiter.as_bytes())
            .ok_or(DecodeError::Malformed)?;
    }
    Ok(())
}

fn after<'b>(bytes: &'b [u8], needle: &[u8]) -> Option<&'b [u8]> {
    let at = memmem::find(bytes, needle)?;
    bytes.get(at + needle.len()..)
}

fn field(part: &[u8]) -> Result<Field<'_>, DecodeError> {
    let end = memmem::find(part, b"\r\n\r\n").ok_or(DecodeError::Malformed)?;
    let (head, value) = part.split_at(end);
    let head = str::from_utf8(head).ok().ok_or(DecodeError::Malformed)?;
    let disposition = head
        .split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("content-disposition"))
        .map(|(_, value)| value)
        .ok_or(DecodeError::Malformed)?;
    Ok(Field {
        name: parameter(disposition, "name").ok_or(DecodeError::Malformed)?,
        value: Cow::Borrowed(value.get(4..).unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=\"xYz\"";

    fn read(body: &str) -> Result<Vec<(String, String)>, DecodeError> {
        let fields = fields(TYPE, body.as_bytes())?;
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let pairs = fields
            .iter()
            .map(|one| (one.name.clone(), text(&one.value)));
        Ok(pairs.collect())
    }

    const TWO: &str = "--xYz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--\r\n\
        \r\n--xYz\r\ncontent-disposition: form-data; name=b; filename=\"f\"\r\n\
        Content-Type: text/plain\r\n\r\n\r\n--xYz--\r\n";

    #[test]
    fn parts_are_read_as_they_are() {
        let expected = [("a", "1\r\n--\r\n"), ("b", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read(TWO), Ok(expected.to_vec()));
        assert_eq!(read(&format!("preamble\r\n{TWO}")), Ok(expected.to_vec()));
    }

    #[test]
    fn what_is_cut_off_or_nameless_is_malformed() {
        for end in 0..TWO.len() - 4 {
            let cut = TWO.get(..end).expect("ASCII");
            assert!(read(cut).is_err(), "{cut:?}");
        }
        assert!(read("--xYz\r\nX: y\r\n\r\n1\r\n--xYz--").is_err());
        assert!(fields("multipart/form-data", TWO.as_bytes()).is_err());
        assert!(fields("text/plain", b"a=1").is_err());
    }

    #[test]
    fn p20_too_many_fields_are_refused() {
        let part = "--xYz\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
        let many = format!("{}--xYz--", part.repeat(5000));
        assert_eq!(read(&many), Err(DecodeError::TooManyFields));
        let many = "a=1&".repeat(5000);
        assert_eq!(
            fields("application/x-www-form-urlencoded", many.as_bytes()),
            Err(DecodeError::TooManyFields)
        );
    }

    #[test]
    fn p20_a_proof_is_found_behind_too_many_fields_and_not_behind_endless_ones() {
        let kind = "application/x-www-form-urlencoded";
        let form = |fields: usize| format!("{}token=t", "a=1&".repeat(fields));
        let many = form(5000);
        let found = first_fields(kind, many.as_bytes(), &["token"]).unwrap();
        assert_eq!(found.len(), MOST_FIELDS + 1);
        assert_eq!(only(&found, "token"), Ok(&b"t"[..]));
        let endless = form(MOST_SEARCHED);
        assert_eq!(
            first_fields(kind, endless.as_bytes(), &["token"]),
            Err(DecodeError::TooManyFields)
        );
    }

    #[test]
    fn a_new_boundary_does_not_change_the_digest() {
        let again = TWO.replace("xYz", "other");
        let other = "multipart/form-data; boundary=other";
        let digest_of =
            |kind: &str, body: &str| digest(&fields(kind, body.as_bytes()).unwrap(), &[]);
        assert_eq!(digest_of(TYPE, TWO), digest_of(other, &again));
        let changed = TWO.replace("\r\n1", "\r\n2");
        assert_ne!(digest_of(TYPE, TWO), digest_of(TYPE, &changed));
    }

    #[test]
    fn a_field_that_comes_twice_is_not_chosen_from() {
        let form = fields("application/x-www-form-urlencoded", b"a=1&b=%32&a=3").unwrap();
        assert_eq!(only(&form, "b"), Ok(&b"2"[..]));
        assert_eq!(only(&form, "a"), Err(DecodeError::DuplicateKey));
        assert_eq!(only(&form, "c"), Err(DecodeError::Malformed));
        assert_eq!(optional(&form, "c"), Ok(None));
    }
}
