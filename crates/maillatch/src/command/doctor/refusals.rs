//! Posts that were refused lately, and what to do about each reason.

use pipeline::Refusals;
use store::Store;

use super::Check;

/// One line about the posts of the last hour that were refused. Anybody can post, so it is
/// no failure.
pub(super) async fn refusals(store: &Store) -> Option<Check> {
    let recent = store.refusals.recent_refusals().await.ok()?;
    let lines: Vec<String> = recent.iter().map(line).collect();
    Some(if lines.is_empty() {
        Check::ok("refusals", "no post was refused in the last hour")
    } else {
        Check::warning("refusals", lines.join("; "))
    })
}

fn line(refused: &Refusals) -> String {
    let source = refused.source.as_ref();
    let posts = match refused.posts {
        1 => "1 post".to_owned(),
        posts => format!("{posts} posts"),
    };
    let name = source.map_or("an unknown source".to_owned(), ToString::to_string);
    format!(
        "{posts} to {name} refused in the last hour: {}{} ({})",
        refused.reason,
        age(refused.seconds_old),
        next_step(refused.reason.as_str())
    )
}

/// How old the last one was.
fn age(seconds_old: Option<i64>) -> String {
    match seconds_old {
        Some(old) if old < 0 => format!(", the last {} s in the future", old.unsigned_abs()),
        Some(old) => format!(", the last {old} s old"),
        None => String::new(),
    }
}

fn next_step(reason: &str) -> &'static str {
    match reason {
        "signature_mismatch" => "compare the source's `secrets` with the provider's signing secret",
        "stale" => {
            "synchronise this machine's clock with NTP; if it is right, the provider posts late"
        }
        "credentials" => {
            "compare the source's `username`, `password` or `url_token` with the URL at the provider"
        }
        "unknown_source" => {
            "compare the URL at the provider with the paths of: maillatch source list"
        }
        "address_foreign" => "compare the source's `addresses`, and webhook.trusted_proxies",
        "topic_foreign" => "compare the source's `topics` with the topic at the provider",
        "too_large" => "raise webhook.body_limit, if such mail is wanted",
        "header_missing"
        | "header_repeated"
        | "families_mixed"
        | "proof_missing"
        | "signature_unknown"
        | "id_malformed"
        | "timestamp_malformed"
        | "signature_too_large" => {
            "the post is not signed as this source's `provider` signs: check the provider, and \
             whether signing is switched on there"
        }
        "certificate_away" => "allow this machine to fetch the provider's certificate by https",
        _ => "a stranger, or a sender that does not follow the provider's contract",
    }
}
