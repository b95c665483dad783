//! The name (ARN) of a topic, and the URLs of SNS and S3 in its region.

/// A topic that the source accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topic {
    /// Its ARN.
    pub(super) arn: String,
    /// The URL of its SNS: scheme and host, without a final slash.
    pub(super) origin: String,
}

/// The parts of an ARN that say where the topic is.
struct Location<'a> {
    region: &'a str,
    /// The domain of AWS; China has its own.
    suffix: &'static str,
}

/// Reads `arn:PARTITION:sns:REGION:ACCOUNT:NAME`.
fn location(arn: &str) -> Option<Location<'_>> {
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
    // Topics whose names end in `.fifo` cannot post to HTTP.
    let fits =
        word == "arn" && product == "sns" && [region, account, name].into_iter().all(is_plain);
    fits.then_some(Location { region, suffix })
}

impl Topic {
    /// The topic of this ARN, whose SNS is at its usual URL or at `origin`.
    pub(super) fn read(arn: &str, origin: Option<&str>) -> Option<Self> {
        let Location { region, suffix } = location(arn)?;
        let usual = || format!("https://sns.{region}.{suffix}");
        Some(Self {
            origin: origin.map_or_else(usual, |url| url.trim_end_matches('/').to_owned()),
            arn: arn.to_owned(),
        })
    }

    /// Whether a certificate may be at this URL. The file's name must have SNS's form:
    /// that host has other answers, some of which echo the request, and they must not
    /// pass for a certificate.
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

/// The region (the topic's own unless another one is given) and the URL of its S3.
pub(crate) fn s3_url(arn: &str, region: Option<&str>) -> Option<(String, String)> {
    let topic = location(arn)?;
    let region = region.unwrap_or(topic.region);
    Some((
        region.to_owned(),
        format!("https://s3.{region}.{}", topic.suffix),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_url_must_be_at_the_topics_own_sns() {
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
    fn topic_arn_gives_the_domain_of_its_partition() {
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
