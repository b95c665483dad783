use super::*;

/// The key R of the vectors.
fn key() -> ProviderKey {
    let hex = "90a19c76327a9454cec195222e80f61770be230420fa90b381b831f5bc644c7e";
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).unwrap();
        *byte = u8::from_str_radix(digits, 16).unwrap();
    }
    ProviderKey::from_bytes(bytes)
}

fn mail() -> Mail {
    Mail {
        from: "Shop <support@mail.example.com>".parse().unwrap(),
        to: "user@example.com".parse().unwrap(),
        subject: "Re: Where is order 4821?".to_owned(),
        text: "It left our warehouse today.\r\n".to_owned(),
        html: None,
        answers: Some(Answered {
            message_id: Some("<p2@mail.example.org>".to_owned()),
            references: ["<p0@x>", "<p1@y>", "<p2@mail.example.org>"]
                .map(str::to_owned)
                .to_vec(),
        }),
        key: key(),
        date: Timestamp::from_millis(1_763_164_800_250),
    }
}

#[test]
fn reply_has_the_headers_of_the_vector() {
    let message = mail().message().replace("\r\n <", " <");
    let expected = "From: Shop <support@mail.example.com>\r\n\
        To: user@example.com\r\n\
        Subject: Re: Where is order 4821?\r\n\
        Message-ID: <ml.90a19c76327a9454cec195222e80f617@mail.example.com>\r\n\
        Date: Sat, 15 Nov 2025 00:00:00 +0000\r\n\
        In-Reply-To: <p2@mail.example.org>\r\n\
        References: <p0@x> <p1@y> <p2@mail.example.org>\r\n\
        Auto-Submitted: auto-replied\r\n\
        X-Maillatch-Send: ml-90a19c76327a9454cec195222e80f61770be230420fa90b381b831f5bc644c7e\r\n\
        MIME-Version: 1.0\r\n\
        Content-Type: text/plain; charset=utf-8\r\n\
        \r\n\
        It left our warehouse today.\r\n";
    assert_eq!(message, expected);
}

#[test]
fn mail_that_answers_nothing_is_marked_as_generated() {
    let mail = Mail {
        answers: None,
        ..mail()
    };
    let message = mail.message();
    assert!(message.contains("\r\nAuto-Submitted: auto-generated\r\n"));
    assert!(!message.contains("In-Reply-To") && !message.contains("References"));
}

#[test]
fn message_is_ascii_with_short_lines_whatever_the_text() {
    let mail = Mail {
        subject: "Größe €".to_owned(),
        text: format!("ä\r\n{}\r\n", "x".repeat(2000)),
        html: Some(format!("<p>{}</p>", "ß".repeat(2000))),
        ..mail()
    };
    let message = mail.message();
    assert!(message.is_ascii());
    assert!(message.split("\r\n").all(|line| line.len() <= LONGEST_LINE));
    assert!(!message.replace("\r\n", "").contains(['\r', '\n']));
    assert_eq!(
        message.matches("Content-Transfer-Encoding: base64").count(),
        2
    );
}

#[test]
fn line_ends_become_crlf() {
    assert_eq!(with_crlf("a\nb\r\nc\rd"), "a\r\nb\r\nc\r\nd");
}
