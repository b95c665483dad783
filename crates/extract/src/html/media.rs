//! Whether the rules of a conditional block apply.

/// The width of the reader's screen, in pixels. Rules for narrow screens do not apply.
const SCREEN: f32 = 1_000.0;

/// Whether a conditional rule applies to a reader with a wide, light screen.
pub(super) enum Applies {
    Always,
    Never,
    Perhaps,
}

/// Judges the prelude of an at-rule: `media only screen and (max-width: 480px)`.
pub(super) fn applies(at_rule: &str) -> Applies {
    let at_rule = at_rule.to_ascii_lowercase();
    let Some(queries) = at_rule.strip_prefix("media") else {
        // These have no rules for elements, or none that last.
        let is_other = [
            "font-",
            "page",
            "property",
            "counter-",
            "view",
            "position-",
            "start",
        ]
        .iter()
        .any(|name| at_rule.starts_with(name));
        return if is_other || at_rule.contains("keyframes") || at_rule.contains("viewport") {
            Applies::Never
        } else {
            Applies::Perhaps
        };
    };
    let answers = queries.split(',').map(query);
    answers.fold(Applies::Never, |all, one| match (all, one) {
        (Applies::Always, _) | (_, Applies::Always) => Applies::Always,
        (Applies::Perhaps, _) | (_, Applies::Perhaps) => Applies::Perhaps,
        _ => Applies::Never,
    })
}

/// One media query: every part of it must apply.
fn query(query: &str) -> Applies {
    let mut all = Applies::Always;
    for part in query.split(" and ").map(str::trim) {
        match condition(part) {
            Applies::Never => return Applies::Never,
            Applies::Perhaps => all = Applies::Perhaps,
            Applies::Always => {}
        }
    }
    all
}

fn condition(part: &str) -> Applies {
    let feature = part.trim_matches(['(', ')', ' ']);
    let (name, value) = feature.split_once(':').unwrap_or((feature, ""));
    let pixels = value.trim().trim_end_matches("px").parse::<f32>().ok();
    let holds = match (name.trim(), pixels) {
        ("screen" | "all" | "only screen" | "only all" | "", _) => true,
        ("print" | "only print" | "speech" | "handheld" | "tv" | "projection", _) => false,
        ("max-width" | "max-device-width", Some(width)) => width >= SCREEN,
        ("min-width" | "min-device-width", Some(width)) => width <= SCREEN,
        ("prefers-color-scheme", _) => value.trim() == "light",
        _ => return Applies::Perhaps,
    };
    if holds {
        Applies::Always
    } else {
        Applies::Never
    }
}
