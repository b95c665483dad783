//! A topic's name, and where its region's SNS and S3 are.

/// A topic that mail may come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topic {
    /// Its whole name.
    pub(super) arn: String,
    /// Where its SNS is: scheme and host, without a slash behind.
    pub(super) origin: String,
}

/// The parts of an ARN that say where a thing is.
struct Place<'a> {
    region: &'a str,
    /// China has a domain of its own.
    suffix: &'static str,
}

/// Reads `arn:PARTITION:sns:REGION:ACCOUNT:NAME`.
fn place(arn: &str) -> Option<Place<'_>> {
    let mut parts = arn.splitn(6, ':');
    let mut next = || parts.next();
    let (word, partition, product) = (next()?, next()?, next()?);
    let (region, account, name) = (next()?, next()?, next()?);
    let suffix = match partition {
        "aws" | "aws-us-gov" => "amazonaws.com",
        "aws-cn" => "amazonaws.com.cn",
        _ => return None,
    };
    let is_plain = |text: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !text.is_empty() && text.bytes().all(plain)
    };
    // First-in-first-out topics, whose names end in `.fifo`, do not post.
    let fits =
        word == "arn" && product == "sns" && [region, account, name].into_iter().all(is_plain);
    fits.then_some(Place { region, suffix })
}

impl Topic {
    /// The topic of this name, whose SNS is at the usual place or at `origin`.
    pub(super) fn read(arn: &str, origin: Option<&str>) -> Option<Self> {
        let Place { region, suffix } = place(arn)?;
        let usual = || format!("https://sns.{region}.{suffix}");
        Some(Self {
            origin: origin.map_or_else(usual, |url| url.trim_end_matches('/').to_owned()),
            arn: arn.to_owned(),
        })
    }

    /// Whether a certificate may be at this URL. The name must be of the form
    /// that SNS uses, so that no other answer of that host, some of which repeat
    /// what they were asked, can pass for a certificate.
    pub(super) fn may_hold(&self, url: &str) -> bool {
        let name = url
            .strip_prefix(&self.origin)
            .and_then(|rest| rest.strip_prefix("/SimpleNotificationService-"))
            .and_then(|rest| rest.strip_suffix(".pem"));
        name.is_some_and(|name| {
            (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric())
        })
    }
}

/// The region of a topic, and where S3 is in the region that is meant.
pub(crate) fn s3_place(arn: &str, region: Option<&str>) -> Option<(String, String)> {
    let place = place(arn)?;
    let region = region.unwrap_or(place.region);
    Some((
        region.to_owned(),
        format!("https://s3.{region}.{}", place.suffix),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_at_the_topics_own_sns_and_nowhere_else() {
        let topic = Topic::read("arn:aws:sns:eu-west-1:123456789012:mail", None).expect("a topic");
        assert!(
            topic.may_hold(
                "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b2c.pem"
            )
        );
        for bad in [
            "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem",
            "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0a.pem",
            "https://sns.evil.com.amazonaws.com.attacker/SimpleNotificationService-0a.pem",
            "https://sns.eu-west-1.amazonaws.com.evil.test/SimpleNotificationService-0a.pem",
            "https://sns.eu-west-1.amazonaws.com@evil.test/SimpleNotificationService-0a.pem",
            "https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-0a.pem",
            "https://sns.eu-west-1.amazonaws.com/x/../SimpleNotificationService-0a.pem",
            "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a/../x.pem",
            "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-.pem",
            "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem?x=.pem",
            "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a.pem#.pem",
            "https://sns.eu-west-1.amazonaws.com/?Action=x&y=SimpleNotificationService-0a.pem",
            "",
        ] {
            assert!(!topic.may_hold(bad), "{bad}");
        }
    }

    #[test]
    fn each_partition_has_its_own_domain() {
        let origin = |arn| Topic::read(arn, None).map(|topic| topic.origin);
        assert_eq!(
            origin("arn:aws-cn:sns:cn-north-1:1:m").as_deref(),
            Some("https://sns.cn-north-1.amazonaws.com.cn")
        );
        for bad in [
            "",
            "arn:aws:sqs:eu-west-1:1:m",
            "arn:aws:sns:eu.evil:1:m",
            "arn:aws:sns:eu/x:1:m",
            "arn:aws:sns::1:m",
            "arn:aws:sns:eu-west-1:1",
            "arn:other:sns:eu-west-1:1:m",
            "arn:aws:sns:eu-west-1:1:m.fifo",
        ] {
            assert_eq!(origin(bad), None, "{bad}");
        }
    }
}
