//! Codes in unusual shapes, each in a mail that labels it plainly.

use crate::{code, extract_any, html_mail, text_mail};

const BEFORE: &str = "Hi, enter this verification code to sign in:";
const AFTER: &str = "The code expires in 10 minutes. Do not share it with anyone.";

#[test]
fn codes_in_unusual_shapes_are_found_in_text() {
    for (written, value) in [
        ("D8K4ZN", "D8K4ZN"),
        (">>> 95 83 41 <<<", "95 83 41"),
        ("419-883-02", "419-883-02"),
        ("9\n5\n8\n3\n4\n1", "958341"),
        ("7 - K - 4 - B - 2 - M", "7K4B2M"),
        ("KRT 907", "KRT 907"),
        ("8R4T 61", "8R4T 61"),
        ("2025 31", "2025 31"),
    ] {
        let mail = text_mail(&format!("{BEFORE}\n\n{written}\n\n{AFTER}\n"));
        assert_eq!(code(&extract_any(&mail)), Some(value), "{written}");
    }
}

#[test]
fn codes_inside_a_sentence_are_found() {
    for (sentence, value) in [
        (
            "Your verification code is the series TR6 W0B 4 today.",
            "TR6 W0B 4",
        ),
        (
            "Your verification code is 31.75.09, for ten minutes.",
            "31.75.09",
        ),
        (
            "Enter the letters TBNKUA as your verification code.",
            "TBNKUA",
        ),
    ] {
        let mail = text_mail(&format!("You asked to sign in. {sentence} {AFTER}\n"));
        assert_eq!(code(&extract_any(&mail)), Some(value), "{sentence}");
    }
}

#[test]
fn code_in_cells_of_several_digits_is_one_code() {
    let mail = html_mail(&format!(
        "<p>{BEFORE}</p><table><tr><td>95</td><td>83</td><td>41</td></tr></table><p>{AFTER}</p>"
    ));
    assert_eq!(code(&extract_any(&mail)), Some("95 83 41"));
}

#[test]
fn comma_without_a_space_ends_a_code() {
    let mail = text_mail("您好!您的登录验证码为 739105,5 分钟内有效。请勿将验证码告知他人。");
    assert_eq!(code(&extract_any(&mail)), Some("739105"));
}

#[test]
fn prefix_of_grammar_is_no_part_of_a_code() {
    let mail = text_mail(&format!(
        "{BEFORE} ikhodi yakho u-831752 uyifake manje. {AFTER}"
    ));
    assert_eq!(code(&extract_any(&mail)), Some("831752"));
}
