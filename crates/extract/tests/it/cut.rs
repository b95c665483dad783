//! Values that stand in a longer one are never returned without the rest.

use crate::{code, extract_any, text_mail};

fn of_text(body: &str) -> Option<String> {
    code(&extract_any(&text_mail(body))).map(str::to_owned)
}

#[test]
fn part_of_a_longer_code_in_a_sentence_is_not_returned() {
    for (whole, parts) in [
        ("HTRV 5520 KM", ["HTRV", "5520"]),
        ("4829 13 B", ["4829 13", "4829"]),
        ("XK7Q+29", ["XK7Q", "29"]),
        ("ERASE/5517", ["ERASE", "5517"]),
    ] {
        let body = format!("Your sign-in code is {whole}. It is valid for 10 minutes.\n");
        let found = of_text(&body);
        assert!(
            !parts.contains(&found.as_deref().unwrap_or_default()),
            "{whole}: {found:?}"
        );
    }
}

#[test]
fn code_beside_a_letter_of_another_script_is_not_returned_without_it() {
    for (sentence, part) in [
        ("ログインコードは か-4829 です。", "4829"),
        ("본인확인 번호입니다.\n\n가-7302", "7302"),
    ] {
        let found = of_text(&format!("{sentence}\n"));
        assert_ne!(found.as_deref(), Some(part), "{sentence}");
    }
}

#[test]
fn code_with_accents_is_returned_with_them_or_not_at_all() {
    for whole in ["KÜ-4829", "Ä7Ö29Ü", "KU\u{308}-4829"] {
        for body in [
            format!("Ihr Anmeldecode lautet {whole}\n"),
            format!("Ihr Anmeldecode:\n\n{whole}\n"),
        ] {
            let found = of_text(&body);
            let found = found.as_deref().unwrap_or(whole);
            assert_eq!(found, whole, "{body}");
        }
    }
}

#[test]
fn wide_digits_and_letters_are_returned_as_ascii() {
    let found = of_text(
        "ログイン用の認証コードは次のとおりです。\n\n４８２９１３\n\n画面に入力してください。\n",
    );
    assert_eq!(found.as_deref(), Some("482913"));
}

#[test]
fn number_behind_unknown_capitals_is_not_returned_without_them() {
    for (sentence, part) in [
        (
            "please enter QN 0418 on the screen to confirm that it is you.",
            "0418",
        ),
        (
            "введите код КТ 441928 в кабинете, чтобы подтвердить адрес.",
            "441928",
        ),
        (
            "введите код КТ-4419-28 в кабинете, чтобы подтвердить адрес.",
            "4419-28",
        ),
        ("להתחברות הקלידו את הקוד תות-4417 באתר.", "4417"),
        (
            "Your one-time password is w7Gh2!kP. Sign in with it.",
            "w7Gh2",
        ),
        (
            "Your one-time password is tR4!x9-Lm2q. Sign in with it.",
            "x9-Lm2q",
        ),
        (
            "अपने खाते में साइन इन करने के लिए सत्यापन कोड 44-09-क दर्ज करें।",
            "44-09",
        ),
        ("Enter the verification code V-206 914 to sign in.", "V-206"),
    ] {
        let found = of_text(&format!("{sentence}\n"));
        assert_ne!(found.as_deref(), Some(part), "{sentence}");
    }
}

#[test]
fn number_with_a_unit_behind_a_code_is_no_part_of_it() {
    let found = of_text("Your sign-in code: XK-72 10 minutes left\n");
    assert_eq!(found.as_deref(), Some("XK-72"));
}

#[test]
fn number_before_an_ending_is_returned() {
    let found = of_text("482-913-ը ձեր Acme կոդն է\n");
    assert_eq!(found.as_deref(), Some("482-913"));
}

#[test]
fn number_behind_a_label_in_capitals_is_returned_without_it() {
    for sentence in [
        "Enter OTP 482913 to sign in.",
        "Enter the PIN 482913 to sign in.",
        "PLEASE ENTER THE CODE 482913 TO SIGN IN.",
        "To confirm that it is you, please try 482913 on the sign-in page.",
        "Try 482913 on the sign-in page to confirm that it is you.",
    ] {
        let found = of_text(&format!("{sentence}\n"));
        assert_eq!(found.as_deref(), Some("482913"), "{sentence}");
    }
}
