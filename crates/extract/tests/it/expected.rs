//! A caller that knows the form of the code.

use extract::{AbstainReason, Code, ExpectedCode, Extraction, Policy, extract};

use crate::{extract_any, text_mail};

fn expecting(raw: &[u8], expected: ExpectedCode) -> Extraction<Code> {
    let policy = Policy {
        expected: Some(expected),
        ..Policy::default()
    };
    extract(raw, &policy).unwrap().code
}

fn value(extraction: &Extraction<Code>) -> Option<&str> {
    extraction.found().map(|code| code.compact.as_str())
}

#[test]
fn number_of_another_form_is_no_rival_of_the_code() {
    let raw = text_mail(
        "Your email code is 482913 and your phone code is 77120.\r\n\
         Enter the email code to sign in.",
    );
    let six = expecting(&raw, ExpectedCode::Digits(6));
    let five = expecting(&raw, ExpectedCode::Digits(5));
    assert_eq!((value(&six), value(&five)), (Some("482913"), Some("77120")));
}

#[test]
fn two_codes_of_the_expected_form_stay_ambiguous() {
    let raw = text_mail("Your email code is 482913 and your phone code is 771204.");
    let reason = expecting(&raw, ExpectedCode::Digits(6)).reason();
    assert_eq!(reason, Some(AbstainReason::Ambiguous));
}

#[test]
fn code_of_another_form_is_withheld_as_not_expected() {
    let raw = text_mail("Your verification code is 482913.");
    assert_eq!(value(&extract_any(&raw).code), Some("482913"));
    for other in [
        ExpectedCode::Digits(4),
        ExpectedCode::Letters(6),
        ExpectedCode::Characters(8),
    ] {
        let withheld = Extraction::Withheld(AbstainReason::NotExpected);
        assert_eq!(expecting(&raw, other), withheld, "{other:?}");
    }
}

#[test]
fn code_that_is_bound_to_a_host_must_have_the_form_too() {
    let raw = text_mail("482913 is your Example code.\r\n\r\n@example.com #482913");
    assert_eq!(
        value(&expecting(&raw, ExpectedCode::Digits(6))),
        Some("482913")
    );
    let other = expecting(&raw, ExpectedCode::Digits(8));
    assert_eq!(other, Extraction::Withheld(AbstainReason::NotExpected));
}

#[test]
fn number_of_the_expected_form_in_a_mail_without_a_code_is_not_given() {
    for text in [
        "Your order 482913 has been shipped.",
        "Your discount code SAVE20 and voucher 482913 are valid until June.",
    ] {
        let code = expecting(&text_mail(text), ExpectedCode::Digits(6));
        assert_eq!(value(&code), None, "{text}");
    }
}

#[test]
fn two_labelled_codes_of_different_lengths_are_ambiguous() {
    let raw = b"From: no-reply@bank.example\r\nMessage-ID: <1@bank.example>\r\n\
        Subject: Your verification code\r\n\r\n\
        Your verification code is 482913. Your security code is 77120.\r\n";
    let reason = extract_any(raw).code.reason();
    assert_eq!(reason, Some(AbstainReason::Ambiguous));
}
