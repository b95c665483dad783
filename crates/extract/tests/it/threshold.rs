//! The least confidence that an operator asks for.

use extract::{AbstainReason, Extracted, Extraction, Policy, extract};

use crate::{extract_any, html_mail, text_mail};

fn extract_at(raw: &[u8], threshold: u8) -> Extracted {
    let policy = Policy {
        threshold,
        ..Policy::default()
    };
    extract(raw, &policy).unwrap()
}

#[test]
fn code_below_the_threshold_is_withheld_as_not_convincing() {
    let raw = text_mail("Your verification code is 482913.");
    let found = extract_any(&raw).code;
    let confidence = found.found().unwrap().confidence;
    assert_eq!(extract_at(&raw, confidence).code, found);
    let above = extract_at(&raw, confidence + 1).code;
    assert_eq!(above, Extraction::Withheld(AbstainReason::NotConvincing));
}

#[test]
fn link_below_the_threshold_is_withheld_as_not_convincing() {
    let raw = html_mail(
        "<p>Confirm your address:</p>\
         <a href='https://example.com/verify?token=8f14e45fceea167a5a36dedd4bea2543'>Verify email</a>",
    );
    let found = extract_any(&raw).link;
    let confidence = found.found().unwrap().confidence;
    assert_eq!(extract_at(&raw, confidence).link, found);
    let above = extract_at(&raw, confidence + 1).link;
    assert_eq!(above, Extraction::Withheld(AbstainReason::NotConvincing));
}
