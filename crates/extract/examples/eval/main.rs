//! Scores the extractor on labelled cases.
use extract::{Allowlist, Policy, extract, judge};
use serde_json::Value;
use std::collections::BTreeMap;

fn b64(data: &[u8]) -> String {
    use base64::Engine;
    let s = base64::engine::general_purpose::STANDARD.encode(data);
    s.as_bytes()
        .chunks(76)
        .map(|c| std::str::from_utf8(c).unwrap())
        .collect::<Vec<_>>()
        .join("\r\n")
}

fn mail(case: &Value, folder: &std::path::Path) -> Vec<u8> {
    if let Some(p) = case["eml_path"].as_str() {
        return std::fs::read(folder.join(p)).unwrap();
    }
    let mut raw = String::from(
        "From: Sender <no-reply@sender.example>\r\nTo: inbox@maillatch.example\r\nMIME-Version: 1.0\r\n",
    );
    if let Some(s) = case["subject"].as_str() {
        raw.push_str(&format!(
            "Subject: =?utf-8?b?{}?=\r\n",
            b64(s.as_bytes()).replace("\r\n", "")
        ));
    }
    let (kind, body) = match case["html"].as_str() {
        Some(h) => ("html", h),
        None => ("plain", case["text"].as_str().unwrap_or("")),
    };
    raw.push_str(&format!("Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n{}\r\n", b64(body.as_bytes())));
    raw.into_bytes()
}

fn norm(s: &str) -> String {
    s.chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase()
}

#[derive(Default, Debug)]
struct S {
    rows: u32,
    with: u32,
    ok: u32,
    wrong: u32,
    missed: u32,
    fals: u32,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let show = args
        .iter()
        .position(|a| a == "--show")
        .map(|i| args[i + 1].clone())
        .unwrap_or_default();
    let third = args
        .iter()
        .position(|a| a == "--fold")
        .map(|i| args[i + 1].clone());
    let files: Vec<&String> = args.iter().filter(|a| a.ends_with(".jsonl")).collect();
    let mut per: BTreeMap<String, S> = BTreeMap::new();
    let mut links: BTreeMap<String, [u32; 6]> = BTreeMap::new();
    let mut times = Vec::new();
    let mut urls = [0u32; 8];
    for f in files {
        let folder = std::path::Path::new(f).parent().unwrap();
        for line in std::fs::read_to_string(f).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            if let Some(url) = case["url"].as_str() {
                url_case(&case, url, &mut urls, &show);
                continue;
            }
            if case.get("disputed").is_some() {
                continue;
            }
            let id = case["id"].as_str().unwrap();
            let h = id
                .bytes()
                .fold(7u32, |h, b| h.wrapping_mul(31).wrapping_add(u32::from(b)));
            let fold = if (h >> 3) % 3 == 0 { "held" } else { "tune" };
            if third.as_deref().is_some_and(|t| t != fold) {
                continue;
            }
            let raw = mail(&case, folder);
            let links_allowed = match case["allowlist"].as_array() {
                Some(list) => Allowlist::parse(list.iter().flat_map(|d| {
                    let d = d.as_str().unwrap();
                    [d.to_owned(), format!("*.{d}")]
                }))
                .unwrap(),
                None => Allowlist::any(),
            };
            let t = std::time::Instant::now();
            let policy = Policy {
                links: links_allowed,
                ..Policy::default()
            };
            let got = extract(&raw, &policy);
            times.push((t.elapsed().as_micros() as f64 / 1000.0, id.to_owned()));
            let code = got
                .as_ref()
                .ok()
                .and_then(|g| g.code.found().map(|c| c.value.clone()));
            let expected = case["expected_otp"].as_str();
            let mut accept: Vec<String> = case["accept"]
                .as_array()
                .map(|a| a.iter().map(|s| norm(s.as_str().unwrap())).collect())
                .unwrap_or_default();
            if let Some(e) = expected {
                accept.push(norm(e));
            }
            let outcome = match (&code, expected) {
                (Some(c), Some(_)) if accept.contains(&norm(c)) => "ok",
                (Some(_), Some(_)) => "wrong",
                (Some(_), None) => "false",
                (None, Some(_)) => "missed",
                (None, None) => "none",
            };
            let origin = case["origin"].as_str().unwrap().to_owned();
            let lang = case["lang"].as_str().unwrap();
            let mut keys = vec![
                "all".to_owned(),
                format!("origin {origin}"),
                format!("lang {lang}"),
                format!("fold {fold}"),
            ];
            if lang == "en" && case["channel"] == "email" {
                keys.push("english e-mail".into());
            }
            for k in keys {
                let s = per.entry(k).or_default();
                s.rows += 1;
                s.with += u32::from(expected.is_some());
                match outcome {
                    "ok" => s.ok += 1,
                    "wrong" => s.wrong += 1,
                    "false" => s.fals += 1,
                    "missed" => s.missed += 1,
                    _ => {}
                }
            }
            if show == outcome || show == "codes" && ["wrong", "false", "missed"].contains(&outcome)
            {
                println!(
                    "{outcome} {id} {lang} S:{:?} want {expected:?} got {code:?} {:?}\n    {}",
                    case["subject"].as_str(),
                    got.as_ref().map(|g| g.code.reason()).ok().flatten(),
                    case["text"]
                        .as_str()
                        .map(|t| t.replace('\n', " / ").chars().take(400).collect::<String>())
                        .unwrap_or_default()
                );
                if let Ok(g) = &got {
                    for c in g.explanation.code.iter().take(3) {
                        println!(
                            "      {:?} {:?} {} {:?}",
                            c.source, c.shape, c.score, c.rules
                        );
                    }
                }
            }
            link_case(&case, &got, &mut links, &show, &origin, lang);
        }
    }
    for (k, s) in &per {
        let bad = s.wrong + s.fals + s.missed;
        if k.starts_with("lang") && bad == 0 {
            continue;
        }
        let p = f64::from(s.ok) / f64::from((s.ok + s.wrong + s.fals).max(1));
        let r = f64::from(s.ok) / f64::from(s.with.max(1));
        println!(
            "{k:22} rows {:5} codes {:5} ok {:5} wrong {:3} false {:3} missed {:3}  P {p:.4} R {r:.4} F1 {:.4}",
            s.rows,
            s.with,
            s.ok,
            s.wrong,
            s.fals,
            s.missed,
            2.0 * p * r / (p + r).max(1e-9)
        );
    }
    for (k, [rows, with, ok, wrong, missed, forb]) in &links {
        if k != "all" && wrong + missed + forb == 0 {
            continue;
        }
        println!(
            "links {k:16} rows {rows} with {with} ok {ok} wrong/false {wrong} missed {missed} forbidden {forb} P {:.4} R {:.4}",
            f64::from(*ok) / f64::from((ok + wrong).max(1)),
            f64::from(*ok) / f64::from((*with).max(1))
        );
    }
    println!(
        "urls: rows {} must_reject {} accepted {} good {} rejected {} wrappers {} decoded {}",
        urls[0], urls[1], urls[2], urls[3], urls[4], urls[5], urls[6]
    );
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !times.is_empty() {
        println!(
            "ms p50 {:.3} p99 {:.3} max {:?}",
            times[times.len() / 2].0,
            times[times.len() * 99 / 100].0,
            times.last()
        );
    }
}

fn link_case(
    case: &Value,
    got: &Result<extract::Extracted, extract::Refusal>,
    links: &mut BTreeMap<String, [u32; 6]>,
    show: &str,
    origin: &str,
    lang: &str,
) {
    let Some(expected) = case["expected_links"].as_array() else {
        return;
    };
    let n = |u: &str| {
        url::Url::parse(u)
            .map(|u| u.to_string())
            .unwrap_or_else(|_| u.to_owned())
    };
    let expected: Vec<String> = expected.iter().map(|l| n(l.as_str().unwrap())).collect();
    let forbidden: Vec<String> = case["forbidden_links"]
        .as_array()
        .map(|a| a.iter().map(|l| n(l.as_str().unwrap())).collect())
        .unwrap_or_default();
    let link = got
        .as_ref()
        .ok()
        .and_then(|g| g.link.found().map(|l| l.url.clone()));
    let outcome = match &link {
        Some(l) if expected.contains(l) => "ok",
        Some(l) if forbidden.contains(l) => "forbidden",
        Some(_) => "wronglink",
        None if expected.is_empty() => "none",
        None => "missedlink",
    };
    for k in [
        "all".to_owned(),
        format!("origin {origin}"),
        format!("lang {lang}"),
    ] {
        let s = links.entry(k).or_default();
        s[0] += 1;
        s[1] += u32::from(!expected.is_empty());
        match outcome {
            "ok" => s[2] += 1,
            "wronglink" => s[3] += 1,
            "forbidden" => {
                s[3] += 1;
                s[5] += 1
            }
            "missedlink" => s[4] += 1,
            _ => {}
        }
    }
    if show == "links" && !["ok", "none"].contains(&outcome) {
        println!(
            "{outcome} {} {lang} S:{:?} want {expected:?} got {link:?} {:?}\n   {}",
            case["id"],
            case["subject"].as_str(),
            got.as_ref().map(|g| g.link.reason()).ok().flatten(),
            case["text"]
                .as_str()
                .map(|t| t.replace('\n', " / ").chars().take(500).collect::<String>())
                .unwrap_or_default()
        );
    }
}

fn url_case(case: &Value, url: &str, urls: &mut [u32; 8], show: &str) {
    urls[0] += 1;
    let allowed = match case["allowlist"].as_array() {
        Some(list) => Allowlist::parse(list.iter().flat_map(|d| {
            let d = d.as_str().unwrap();
            [d.to_owned(), format!("*.{d}")]
        }))
        .unwrap(),
        None => Allowlist::any(),
    };
    let got = judge(url, &allowed);
    if case["must_reject"] == true {
        urls[1] += 1;
        if got.is_ok() {
            urls[2] += 1;
            println!("ACCEPTED {case}");
        }
    } else if let Some(want) = case["unwrapped"].as_str() {
        urls[5] += 1;
        let _ = want;
        let d = extract::unwrap(url);
        let n = |u: &str| {
            url::Url::parse(u)
                .map(|u| u.to_string())
                .unwrap_or_else(|_| u.to_owned())
        };
        if d.as_deref().map(n) == Some(n(want)) {
            urls[6] += 1;
        } else {
            println!("WRAPPER {want} got {d:?}");
        }
    } else if url.starts_with("https://") && case.get("reason").is_none() {
        urls[3] += 1;
        if got.is_err() {
            urls[4] += 1;
            if show == "urls" {
                println!("REJECTED {url} {got:?}");
            }
        }
    }
}
