//! The style rules that decide what is visible.

use std::collections::HashMap;

use super::declaration::Declarations;
use super::selector::{Node, Selector};
use crate::steps::Steps;

/// More rules than any real mail has.
const MAX_RULES: usize = 2_000;
/// More classes than any real element has.
pub(super) const MAX_CLASSES: usize = 32;
/// The width of the reader's screen, in pixels. Rules for narrow screens do not apply.
const SCREEN: f32 = 1_000.0;
/// The steps of comparing one selector with one element.
const PER_COMPARISON: usize = 12;

/// The style rules of a page.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rules: Vec<Rule>,
    /// The declarations of each block, which all its selectors share.
    blocks: Vec<Declarations>,
    /// Rules by the id, class or tag that they need; other rules are under "".
    by_key: HashMap<String, Vec<usize>>,
    /// There are more rules than are kept.
    is_cut: bool,
}

#[derive(Debug)]
struct Rule {
    selector: Selector,
    specificity: (usize, usize, usize),
    /// Whether it certainly applies to the elements that it matches.
    is_certain: bool,
    /// The index of its block.
    block: usize,
}

/// A block of declarations that matches an element.
#[derive(Clone, Copy)]
pub(super) struct Match<'s> {
    pub(super) declarations: &'s Declarations,
    pub(super) is_certain: bool,
}

/// Whether a conditional rule applies to a reader with a wide, light screen.
enum Applies {
    Always,
    Never,
    Perhaps,
}

impl Sheet {
    /// Adds the rules of one `<style>` element.
    pub(super) fn add(&mut self, css: &str, steps: &Steps<'_>) {
        if !steps.charge(8 * css.len()) {
            return;
        }
        let css = without_comments(css);
        self.add_blocks(&css, steps);
    }

    fn add_blocks(&mut self, css: &str, steps: &Steps<'_>) {
        let mut rest = css;
        while let Some((prelude, body, after)) = block(rest) {
            if !steps.charge(32 + 8 * (rest.len() - after.len())) {
                return;
            }
            rest = after;
            let prelude = prelude.rsplit(';').next().unwrap_or_default().trim();
            match prelude.strip_prefix('@') {
                Some(at_rule) => match applies(at_rule) {
                    Applies::Always => self.add_flat(body, false, steps),
                    Applies::Perhaps => self.add_flat(body, true, steps),
                    Applies::Never => {}
                },
                None => self.add_rule(prelude, body, false),
            }
        }
    }

    fn add_flat(&mut self, css: &str, is_conditional: bool, steps: &Steps<'_>) {
        let mut rest = css;
        while let Some((prelude, body, after)) = block(rest) {
            if !steps.charge(32 + 8 * (rest.len() - after.len())) {
                return;
            }
            rest = after;
            self.add_rule(prelude.trim(), body, is_conditional);
        }
    }

    fn add_rule(&mut self, prelude: &str, body: &str, is_conditional: bool) {
        let declarations = Declarations::parse(body);
        if declarations.is_empty() {
            return;
        }
        let block = self.blocks.len();
        for selector in prelude.split(',').filter_map(Selector::parse) {
            if self.rules.len() == MAX_RULES {
                self.is_cut = true;
                break;
            }
            let key = selector.subject.key().unwrap_or_default();
            self.by_key
                .entry(key.to_owned())
                .or_default()
                .push(self.rules.len());
            self.rules.push(Rule {
                specificity: selector.specificity(),
                is_certain: !is_conditional && !selector.is_wide,
                selector,
                block,
            });
        }
        self.blocks.push(declarations);
    }

    /// Whether there are more rules than are kept.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The declarations that apply to an element inside the open elements, weakest
    /// first.
    pub(super) fn matching<N: Node>(
        &self,
        node: &N,
        open: &[N],
        steps: &Steps<'_>,
    ) -> Vec<Match<'_>> {
        if self.rules.is_empty() {
            return Vec::new();
        }
        let keys = node.classes().chain([node.tag(), node.id()]);
        let mut found: Vec<usize> = keys
            .filter(|key| !key.is_empty())
            .chain([""])
            .filter_map(|key| self.by_key.get(key))
            .flatten()
            .copied()
            .filter(|index| {
                steps.charge(PER_COMPARISON)
                    && self
                        .rules
                        .get(*index)
                        .is_some_and(|rule| rule.selector.matches(node, open, steps))
            })
            .collect();
        let strength =
            |index: &usize| (self.rules.get(*index).map(|rule| rule.specificity), *index);
        found.sort_unstable_by_key(strength);
        found.dedup();
        found
            .iter()
            .filter_map(|index| {
                let rule = self.rules.get(*index)?;
                Some(Match {
                    declarations: self.blocks.get(rule.block)?,
                    is_certain: rule.is_certain,
                })
            })
            .collect()
    }
}

/// Splits `prelude { body } after`. Inner braces stay in the body.
fn block(css: &str) -> Option<(&str, &str, &str)> {
    let (prelude, rest) = css.split_once('{')?;
    let mut depth = 1_usize;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some((prelude, rest.get(..at)?, rest.get(at + 1..)?));
        }
    }
    Some((prelude, rest, ""))
}

/// Judges the prelude of an at-rule: `media only screen and (max-width: 480px)`.
fn applies(at_rule: &str) -> Applies {
    let at_rule = at_rule.to_ascii_lowercase();
    let Some(queries) = at_rule.strip_prefix("media") else {
        let is_conditional = ["supports", "layer", "container", "scope"]
            .iter()
            .any(|name| at_rule.starts_with(name));
        return if is_conditional {
            Applies::Perhaps
        } else {
            Applies::Never
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

fn without_comments(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.replace("<!--", "").replace("-->", "")
}
