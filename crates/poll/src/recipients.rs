//! Who a raw mail was delivered to, as its header says.
//!
//! A mailbox or a folder keeps no envelope. The server that delivered the mail
//! wrote its recipient on top, in `Delivered-To` or a field like it; only the
//! topmost counts, because a sender may have written one below. Without such a
//! field it is the addresses of `To` and `Cc`. Either way the addresses are a
//! stranger's text: they become inboxes only where the operator lets them.

/// What a server writes on delivery, in the order of preference.
const DELIVERED: [&str; 4] = [
    "delivered-to",
    "x-original-to",
    "envelope-to",
    "x-delivered-to",
];

/// No more addresses than this are read out of one header.
const MOST: usize = 100;

/// The addresses that a message was delivered to.
pub(crate) fn recipients(message: &[u8]) -> Vec<String> {
    let fields = fields(message);
    for name in DELIVERED {
        if let Some((_, value)) = fields.iter().find(|(field, _)| field == name) {
            let found = addresses(value);
            if !found.is_empty() {
                return found;
            }
        }
    }
    let named = fields
        .iter()
        .filter(|(field, _)| field == "to" || field == "cc");
    named
        .flat_map(|(_, value)| addresses(value))
        .take(MOST)
        .collect()
}

/// The header's fields, their lines put together and their names in lower case.
fn fields(message: &[u8]) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in message.split(|byte| *byte == b'\n').take(10_000) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        let text = String::from_utf8_lossy(line);
        if text.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push_str(&text);
            }
        } else if let Some((name, value)) = text.split_once(':') {
            fields.push((name.trim().to_ascii_lowercase(), value.to_owned()));
        }
    }
    fields
}

/// The addresses of a field: what stands in angle brackets, or bare. Quoted
/// names and comments are left out first, so that none passes for an address.
fn addresses(value: &str) -> Vec<String> {
    let plain = without_quotes(value);
    let found = plain.split([',', ';']).filter_map(|one| {
        let inner = match one.split_once('<') {
            Some((_, rest)) => rest.split('>').next().unwrap_or_default(),
            None => one,
        };
        let inner = inner.trim();
        let is_address = inner.contains('@') && !inner.contains(char::is_whitespace);
        is_address.then(|| inner.to_owned())
    });
    found.take(MOST).collect()
}

fn without_quotes(value: &str) -> String {
    let (mut plain, mut quoted, mut depth, mut escaped) = (String::new(), false, 0u32, false);
    for sign in value.chars() {
        let is_escaped = std::mem::take(&mut escaped);
        match sign {
            '\\' if !is_escaped => escaped = true,
            '"' if !is_escaped && depth == 0 => quoted = !quoted,
            '(' if !is_escaped && !quoted => depth += 1,
            ')' if !is_escaped && !quoted => depth = depth.saturating_sub(1),
            _ if !quoted && depth == 0 => plain.push(sign),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(message: &str) -> Vec<String> {
        recipients(message.as_bytes())
    }

    #[test]
    fn what_the_server_wrote_on_top_counts() {
        let mail = "Delivered-To: agent@inbox.test\r\nReceived: x\r\n\
            Delivered-To: forged@inbox.test\r\nTo: other@inbox.test\r\n\r\nbody";
        assert_eq!(of(mail), ["agent@inbox.test"]);
        assert_eq!(
            of("X-Original-To: <a@b.test>\nTo: c@d.test\n\n"),
            ["a@b.test"]
        );
    }

    #[test]
    fn otherwise_it_is_for_those_it_is_addressed_to() {
        let mail = "To: \"x@evil.test, y\" <a@b.test>,\r\n\tc@d.test (e@evil.test)\r\n\
            Cc: Team: <f@g.test>;\r\nBcc: h@i.test\r\n\r\nTo: z@evil.test";
        assert_eq!(of(mail), ["a@b.test", "c@d.test", "f@g.test"]);
        assert!(of("Subject: x\n\nTo: a@b.test\n").is_empty());
        assert!(of("").is_empty());
    }

    #[test]
    fn a_huge_header_is_read_within_bounds() {
        let many = format!("To: {}\n\n", "a@b.test,".repeat(100_000));
        assert_eq!(of(&many).len(), MOST);
    }
}
