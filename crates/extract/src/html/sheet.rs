//! The style rules that decide what is visible.

use std::cell::Cell;
use std::collections::HashMap;

use super::declaration::Declarations;
use super::selector::{Node, Selector};

/// More rules than any real mail has.
const MAX_RULES: usize = 400;
const MAX_COMPARISONS: usize = 20_000_000;

/// The style rules of a page.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rules: Vec<(Selector, Declarations)>,
    /// How many comparisons were made.
    spent: Cell<usize>,
    /// Rules by the id, class or tag that they need; other rules are under "".
    by_key: HashMap<String, Vec<usize>>,
}

impl Sheet {
    /// Adds the rules of one `<style>` element.
    pub(super) fn add(&mut self, css: &str) {
        let css = without_comments(css);
        let mut rest = css.as_str();
        while let Some((prelude, body, after)) = block(rest) {
            rest = after;
            let prelude = prelude.rsplit(';').next().unwrap_or_default().trim();
            match prelude.strip_prefix('@') {
                Some(at_rule) if is_unconditional(at_rule) => self.add_flat(body),
                Some(_) => {}
                None => self.add_rule(prelude, body),
            }
        }
    }

    fn add_flat(&mut self, css: &str) {
        let mut rest = css;
        while let Some((prelude, body, after)) = block(rest) {
            rest = after;
            self.add_rule(prelude.trim(), body);
        }
    }

    fn add_rule(&mut self, prelude: &str, body: &str) {
        let declarations = Declarations::parse(body);
        if declarations.is_empty() {
            return;
        }
        for selector in prelude.split(',').filter_map(Selector::parse) {
            if self.rules.len() == MAX_RULES {
                return;
            }
            let subject = &selector.subject;
            let key = subject
                .id
                .clone()
                .or_else(|| subject.classes.first().cloned())
                .or_else(|| subject.tag.clone());
            self.by_key
                .entry(key.unwrap_or_default())
                .or_default()
                .push(self.rules.len());
            self.rules.push((selector, declarations.clone()));
        }
    }

    /// Whether the limit of comparisons was reached.
    pub(super) fn is_exhausted(&self) -> bool {
        self.spent.get() > MAX_COMPARISONS
    }

    /// The declarations that apply to an element, weakest first.
    pub(super) fn matching<N: Node, A: Node>(
        &self,
        node: &N,
        classes: &str,
        open: &[A],
    ) -> Vec<&Declarations> {
        if self.rules.is_empty() || self.is_exhausted() {
            return Vec::new();
        }
        let keys = classes
            .split_ascii_whitespace()
            .take(32)
            .chain([node.tag(), node.id()]);
        let mut found: Vec<usize> = keys
            .filter(|key| !key.is_empty())
            .chain([""])
            .filter_map(|key| self.by_key.get(key))
            .flatten()
            .copied()
            .filter(|index| {
                self.spent.set(self.spent.get() + 1 + open.len() / 8);
                self.rules
                    .get(*index)
                    .is_some_and(|(selector, _)| selector.matches(node, open))
            })
            .collect();
        found.sort_unstable_by_key(|index| {
            (
                self.rules
                    .get(*index)
                    .map(|(selector, _)| selector.specificity()),
                *index,
            )
        });
        found.dedup();
        found
            .iter()
            .filter_map(|index| self.rules.get(*index))
            .map(|(_, declarations)| declarations)
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

/// Whether a rule applies on every screen.
fn is_unconditional(at_rule: &str) -> bool {
    let query = at_rule.strip_prefix("media").map_or("none", str::trim);
    matches!(query, "screen" | "all" | "only screen" | "")
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
