//! Form bodies: `application/x-www-form-urlencoded` and `multipart/form-data`.

use std::borrow::Cow;

use memchr::memmem;
use pipeline::ContentDigest;

use super::DecodeError;

/// The most fields of a form that is decoded.
const MOST_FIELDS: usize = 500;

/// The most fields that are searched for a proof, so that an unauthenticated caller
/// cannot make us read for long.
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

/// The first fields of a form that may have too many, and those that are `needed`.
/// That is enough to prove who sent it; an authentic form is recorded, however long.
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

/// The fields of a multipart form; `None` if the content type is another one.
pub(crate) fn multipart<'b>(
    content_type: &str,
    body: &'b [u8],
) -> Option<Result<Vec<Field<'b>>, DecodeError>> {
    is_multipart(content_type).then(|| read(content_type, body, Kept::default()))
}

/// The value of a field that must come exactly once: of two values, the provider and
/// we could take different ones.
pub(crate) fn only<'f>(fields: &'f [Field<'_>], name: &str) -> Result<&'f [u8], DecodeError> {
    optional(fields, name)?.ok_or(DecodeError::Malformed)
}

/// The value of a field that may be missing and must not be repeated.
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

/// A digest of names and values in order, without the fields named in `except`.
pub(crate) fn digest(fields: &[Field<'_>], except: &[&str]) -> ContentDigest {
    let stable: Vec<&[u8]> = fields
        .iter()
        .filter(|field| !except.contains(&field.name.as_str()))
        .flat_map(|field| [field.name.as_bytes(), &*field.value])
        .collect();
    ContentDigest::of(&stable)
}

/// The fields that are kept while a form is read.
#[derive(Default)]
struct Kept<'b, 'n> {
    fields: Vec<Field<'b>>,
    /// Fields that are kept however many come before them. If none is named, too many
    /// fields are an error.
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
    } else if is_urlencoded(content_type) {
        urlencoded(body, &mut kept)?;
    } else {
        return Err(DecodeError::Malformed);
    }
    Ok(kept.fields)
}

/// Whether a body of this type is urlencoded form data.
pub(crate) fn is_urlencoded(content_type: &str) -> bool {
    essence(content_type) == "application/x-www-form-urlencoded"
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

/// Reads an urlencoded form byte by byte: a message in one of its fields need not be
/// UTF-8.
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

/// `+` is a space; `%` and two digits are a byte; any other `%` stays as it is.
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
            [b'%', high, low, after @ ..] if let (Some(h), Some(l)) = (digit(high), digit(low)) => {
                bytes.push(h << 4 | l);
                after
            }
            [b'+', after @ ..] => {
                bytes.push(b' ');
                after
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
        };
    }
}

/// Reads the parts of a multipart body (RFC 7578). The boundary is in a header, which no
/// provider signs. So every byte of the body must belong to a part or a delimiter: the
/// body begins with the delimiter and ends with the closing one. With a preamble or an
/// epilogue, a signed body could be split in another way under another boundary.
fn parts<'b>(boundary: &str, body: &'b [u8], kept: &mut Kept<'b, '_>) -> Result<(), DecodeError> {
    let opening = format!("--{boundary}");
    let delimiter = format!("\r\n--{boundary}");
    let mut rest = body
        .strip_prefix(opening.as_bytes())
        .ok_or(DecodeError::Malformed)?;
    let finder = memmem::Finder::new(delimiter.as_bytes());
    loop {
        match rest {
            b"--" | b"--\r\n" => return Ok(()),
            _ => {}
        }
        let start = rest.strip_prefix(b"\r\n").ok_or(DecodeError::Malformed)?;
        let end = finder.find(start).ok_or(DecodeError::Malformed)?;
        let (part, after) = start.split_at(end);
        kept.take(field(part)?)?;
        rest = after
            .strip_prefix(delimiter.as_bytes())
            .ok_or(DecodeError::Malformed)?;
    }
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
    fn parts_are_read_unchanged() {
        let expected = [("a", "1\r\n--\r\n"), ("b", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read(TWO), Ok(expected.to_vec()));
    }

    #[test]
    fn bytes_outside_of_the_parts_are_refused() {
        for bad in [
            format!("preamble\r\n{TWO}"),
            format!("\r\n{TWO}"),
            format!("{TWO}epilogue"),
            TWO.replace("--xYz--\r\n", "--xYz--more"),
        ] {
            assert_eq!(read(&bad), Err(DecodeError::Malformed), "{bad:?}");
        }
        assert!(
            read(TWO.trim_end()).is_ok(),
            "the last line end is optional"
        );
    }

    /// The boundary is not signed: whoever saw one post could choose another boundary, of
    /// which the body also has delimiters.
    #[test]
    fn body_is_not_read_under_another_boundary_that_occurs_in_it() {
        let inner = "--evil\r\nContent-Disposition: form-data; name=envelope\r\n\r\n\
            {}\r\n--evil--\r\n";
        let body = format!(
            "--xYz\r\nContent-Disposition: form-data; name=email\r\n\r\n\
             x\r\n{inner}\r\n--xYz--\r\n"
        );
        assert!(fields(TYPE, body.as_bytes()).is_ok());
        let other = "multipart/form-data; boundary=evil";
        assert_eq!(fields(other, body.as_bytes()), Err(DecodeError::Malformed));
    }

    #[test]
    fn truncated_or_unnamed_parts_are_malformed() {
        for end in 0..TWO.len() - 4 {
            let cut = TWO.get(..end).expect("ASCII");
            assert!(read(cut).is_err(), "{cut:?}");
        }
        assert!(read("--xYz\r\nX: y\r\n\r\n1\r\n--xYz--").is_err());
        assert!(fields("multipart/form-data", TWO.as_bytes()).is_err());
        assert!(fields("text/plain", b"a=1").is_err());
    }

    #[test]
    fn p20_form_of_5000_fields_is_refused() {
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
    fn p20_proof_is_found_after_5000_fields_and_not_after_20000() {
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
    fn digest_does_not_depend_on_the_boundary() {
        let again = TWO.replace("xYz", "other");
        let other = "multipart/form-data; boundary=other";
        let digest_of =
            |kind: &str, body: &str| digest(&fields(kind, body.as_bytes()).unwrap(), &[]);
        assert_eq!(digest_of(TYPE, TWO), digest_of(other, &again));
        let changed = TWO.replace("\r\n1", "\r\n2");
        assert_ne!(digest_of(TYPE, TWO), digest_of(TYPE, &changed));
    }

    #[test]
    fn repeated_field_is_refused() {
        let form = fields("application/x-www-form-urlencoded", b"a=1&b=%32&a=3").unwrap();
        assert_eq!(only(&form, "b"), Ok(&b"2"[..]));
        assert_eq!(only(&form, "a"), Err(DecodeError::DuplicateKey));
        assert_eq!(only(&form, "c"), Err(DecodeError::Malformed));
        assert_eq!(optional(&form, "c"), Ok(None));
    }
}
