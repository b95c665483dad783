//! The extractor must find in each sample its code or link, and nothing else.

use extract::{Allowlist, Policy, extract};

use super::*;

fn policy() -> Policy {
    let links = Allowlist::parse(&["example.com".to_owned()]).unwrap();
    Policy {
        links,
        ..Policy::default()
    }
}

#[test]
fn the_code_of_every_sample_is_found() {
    let to = "agent@inbox.test".parse().unwrap();
    for _ in 0..300 {
        let sample = sample_mail(SampleKind::Otp, &to);
        let found = extract(&sample.mail, &policy()).unwrap();
        let code = found.code.found().map(|code| code.compact.as_str());
        assert_eq!(code, Some(sample.value.as_str()), "{}", text_of(&sample));
    }
}

#[test]
fn the_link_of_every_sample_is_found() {
    let to = "agent@inbox.test".parse().unwrap();
    for _ in 0..300 {
        let sample = sample_mail(SampleKind::MagicLink, &to);
        let found = extract(&sample.mail, &policy()).unwrap();
        let link = found.link.found().map(|link| link.url.as_str());
        assert_eq!(link, Some(sample.value.as_str()), "{}", text_of(&sample));
        assert!(found.code.found().is_none(), "{}", text_of(&sample));
    }
}

#[test]
fn every_sample_contains_its_rivals() {
    let to = "agent@inbox.test".parse().unwrap();
    let sample = sample_mail(SampleKind::Otp, &to);
    let text = text_of(&sample);
    assert_eq!(sample.rivals.len(), 3);
    for (rival, what) in &sample.rivals {
        assert!(text.contains(rival), "{what}: {rival}");
        assert_ne!(rival, &sample.value);
    }
}

fn text_of(sample: &Sample) -> String {
    String::from_utf8_lossy(&sample.mail).into_owned()
}
