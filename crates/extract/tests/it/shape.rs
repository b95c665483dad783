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
        (">>> 95 83 41", "95 83 41"),
        ("8 8 4 - 1 9 0 - 2 7", "884-190-27"),
        ("290 | 558 | 13", "290 | 558 | 13"),
        ("8-0-7-7-2-1-5", "8-0-7-7-2-1-5"),
        ("LL/20/PX", "LL/20/PX"),
        ("k.9.v.2.h", "k.9.v.2.h"),
        ("BV.71.KQ", "BV.71.KQ"),
        ("3/14/7/29", "3/14/7/29"),
    ] {
        let mail = text_mail(&format!("{BEFORE}\n\n{written}\n\n{AFTER}\n"));
        assert_eq!(code(&extract_any(&mail)), Some(value), "{written}");
    }
}

#[test]
fn everyday_amounts_dates_and_times_are_no_code() {
    for written in ["24.99", "8.145,02", "15.08.47", "14/07", "11:42"] {
        let mail = text_mail(&format!("{BEFORE}\n\n{written}\n\n{AFTER}\n"));
        assert_eq!(code(&extract_any(&mail)), None, "{written}");
    }
    for notice in [
        "Your password was changed: 14.07.26",
        "Passwort ge\u{e4}ndert: 14.07.26",
        "Your password was changed at 11:42.",
    ] {
        let mail = text_mail(&format!("{notice}\n\nIf it was not you, contact us.\n"));
        assert_eq!(code(&extract_any(&mail)), None, "{notice}");
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
        ("Your verification code is 7/K/31/Q.", "7/K/31/Q"),
        ("Your verification code is FERN-6.", "FERN-6"),
        ("Your verification code is 4K7.P2M.", "4K7.P2M"),
        ("Type \"krivop\" on the sign-in page.", "krivop"),
        ("Please enter КЛЕН47 on the sign-in page.", "КЛЕН47"),
        ("Please enter HWZ 38 P on the sign-in page.", "HWZ 38 P"),
        ("Kérjük, írja be: 915372-t.", "915372"),
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
fn code_in_groups_is_found_beside_other_numbers_in_cells() {
    let mail = html_mail(&format!(
        "<p>{BEFORE}</p><table><tr><th>Rider no.</th><th>Verification code</th><th>Bag no.</th></tr>\
         <tr><td>48 206</td><td><b>93 175</b></td><td>60 412</td></tr></table><p>{AFTER}</p>"
    ));
    assert_eq!(code(&extract_any(&mail)), Some("93 175"));
}

#[test]
fn amounts_dates_and_addresses_without_a_request_are_no_code() {
    for line in [
        "Total: 24.99",
        "24.99",
        "14.11.26",
        "Host: 51.73.40.8",
        "08:45",
    ] {
        let mail = text_mail(&format!(
            "Thank you for your visit to our museum.\n\n{line}\n\nThe garden is open until dusk.\n"
        ));
        assert_eq!(code(&extract_any(&mail)), None, "{line}");
    }
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
