//! Whether a mail is forwarded, as its subject says. Only its plain text is read differently.

/// What mail programs put before the subject of a mail that they forward. Replies have other
/// words, and what they quote is an older mail. The shortest are Italian (`i`), Polish (`pd`),
/// Spanish (`rv`), French (`tr`), Swedish (`vb`), Finnish (`vl`) and German (`wg`).
const PREFIXES: [&str; 27] = [
    "chuyển tiếp",
    "doorst",
    "enc",
    "fw",
    "fwd",
    "i",
    "ilt",
    "i̇lt",
    "pd",
    "przek",
    "redir",
    "reenv",
    "rv",
    "tov",
    "továbbítás",
    "tr",
    "trs",
    "vb",
    "videresendt",
    "vl",
    "wg",
    "πρθ",
    "пер",
    "пересл",
    "הועבר",
    "轉寄",
    "转发",
];

/// Whether the first of the prefixes of a subject says so.
pub(crate) fn is_forwarded(subject: &str) -> bool {
    // "[EXTERNAL] Fwd: ..."
    let mut subject = subject.trim_start();
    while let Some((_, rest)) = subject
        .strip_prefix('[')
        .and_then(|tag| tag.split_once(']'))
    {
        subject = rest.trim_start();
    }
    let Some((prefix, _)) = subject.split_once([':', '：']) else {
        return false;
    };
    let prefix = prefix.trim();
    // "TR : …", "Fwd[2]: …"
    let prefix = prefix.split('[').next().unwrap_or_default().to_lowercase();
    PREFIXES.contains(&prefix.trim_end())
}

#[cfg(test)]
mod tests {
    use super::is_forwarded;

    #[test]
    fn subjects_of_forwarded_mails_are_known() {
        for subject in [
            "Fwd: Your code",
            "WG: Ihr Code",
            "TR : votre code",
            "Πρθ: Κωδικός",
            "转发：验证码",
            "Fwd[2]: code",
            "[EXTERNAL] Fwd: code",
        ] {
            assert!(is_forwarded(subject), "{subject}");
        }
        for subject in [
            "Re: Fwd: Your code",
            "AW: WG: Ihr Code",
            "Your code: 482913",
            "Fwd",
        ] {
            assert!(!is_forwarded(subject), "{subject}");
        }
    }
}
