//! The recipients of a raw mail, read from its header.
//!
//! A mailbox or a folder keeps no envelope. The server that delivered the mail wrote its
//! recipient at the top, in `Delivered-To` or a similar field. Only the topmost field
//! counts, because the sender may have written others below. Without such a field the
//! addresses of `To` and `Cc` are used. In both cases an unknown sender may have chosen
//! the addresses; they only become inboxes where the operator allows it.

/// The fields that servers write on delivery, the preferred one first.
const DELIVERED: [&str; 6] = [
    "delivered-to",
    "x-original-to",
    "envelope-to",
    "x-delivered-to",
    "x-envelope-to",
    "x-rcpt-to",
];

/// Google's field for the address that a mail was sent to before routing. It is preferred,
/// but only above the second `Received`: below it, the sender may have written it.
const GOOGLE: &str = "x-gm-original-to";

/// The most addresses that are read from one header.
const MOST: usize = 100;

/// The addresses that a message was delivered to.
pub(crate) fn recipients(message: &[u8]) -> Vec<String> {
    let fields = fields(message);
    let is_hop = |(field, _): &(String, String)| field == "received";
    let mut hops = fields.iter().enumerate().filter(|(_, field)| is_hop(field));
    let own = hops.nth(1).map_or(fields.len(), |(at, _)| at);
    let routed = fields.iter().take(own).find(|(field, _)| field == GOOGLE);
    if let Some((_, value)) = routed {
        let found = addresses(value);
        if !found.is_empty() {
            return found;
        }
    }
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

/// The header's fields, unfolded, with their names in lower case.
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

/// The addresses of a field, in angle brackets or bare. Quoted names and comments are
/// removed first, so that none of them is taken for an address.
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
    for character in value.chars() {
        let is_escaped = std::mem::take(&mut escaped);
        match character {
            '\\' if !is_escaped => escaped = true,
            '"' if !is_escaped && depth == 0 => quoted = !quoted,
            '(' if !is_escaped && !quoted => depth += 1,
            ')' if !is_escaped && !quoted => depth = depth.saturating_sub(1),
            _ if !quoted && depth == 0 => plain.push(character),
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
    fn topmost_delivery_field_names_the_recipient() {
        let mail = "Delivered-To: agent@inbox.test\r\nReceived: x\r\n\
            Delivered-To: forged@inbox.test\r\nTo: other@inbox.test\r\n\r\nbody";
        assert_eq!(of(mail), ["agent@inbox.test"]);
        assert_eq!(
            of("X-Original-To: <a@b.test>\nTo: c@d.test\n\n"),
            ["a@b.test"]
        );
    }

    #[test]
    fn google_routing_field_of_the_receiving_server_is_preferred() {
        let mail = "Delivered-To: catchall@g.test\nReceived: by g\n\
            X-Gm-Original-To: agent@inbox.test\nReceived: from a\n\nbody";
        assert_eq!(of(mail), ["agent@inbox.test"]);
        let forged = "Delivered-To: a@b.test\nReceived: by b\nReceived: from a\n\
            X-Gm-Original-To: forged@inbox.test\n\nbody";
        assert_eq!(of(forged), ["a@b.test"]);
    }

    #[test]
    fn without_a_delivery_field_to_and_cc_name_the_recipients() {
        let mail = "To: \"x@evil.test, y\" <a@b.test>,\r\n\tc@d.test (e@evil.test)\r\n\
            Cc: Team: <f@g.test>;\r\nBcc: h@i.test\r\n\r\nTo: z@evil.test";
        assert_eq!(of(mail), ["a@b.test", "c@d.test", "f@g.test"]);
        assert!(of("Subject: x\n\nTo: a@b.test\n").is_empty());
        assert!(of("").is_empty());
    }

    #[test]
    fn at_most_100_addresses_are_read() {
        let many = format!("To: {}\n\n", "a@b.test,".repeat(100_000));
        assert_eq!(of(&many).len(), MOST);
    }
}
