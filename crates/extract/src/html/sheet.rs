//! The style rules that decide what is visible.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::css;
use super::declaration::Declarations;
use super::media::{Applies, applies};
use super::selector::{Node, Selector};
use crate::steps::Steps;

/// More rules than any real mail has.
const MAX_RULES: usize = 2_000;
/// More rules inside each other than any real mail has.
const MAX_NESTING: usize = 8;
/// More classes than any real element has.
pub(super) const MAX_CLASSES: usize = 32;
/// Steps charged for comparing one selector with one element.
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
    styles: RefCell<Styles>,
}

/// The last styles of elements, which most pages repeat.
#[derive(Debug, Default)]
struct Styles {
    known: [(String, Rc<Declarations>); 4],
    /// The place of the oldest.
    oldest: usize,
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

impl Styles {
    /// A longer style is not kept.
    const LONGEST: usize = 400;

    fn parse(&mut self, style: &str) -> Rc<Declarations> {
        let known = self.known.iter().find(|(known, _)| known == style);
        if let Some((_, declarations)) = known {
            return Rc::clone(declarations);
        }
        let declarations = Rc::new(Declarations::parse(style));
        if style.len() <= Self::LONGEST
            && let Some((known, place)) = self.known.get_mut(self.oldest)
        {
            style.clone_into(known);
            *place = Rc::clone(&declarations);
            self.oldest = (self.oldest + 1) % self.known.len();
        }
        declarations
    }
}

impl Sheet {
    /// The declarations of the style of an element.
    pub(super) fn style(&self, style: &str) -> Rc<Declarations> {
        self.styles.borrow_mut().parse(style)
    }

    /// Adds the rules of one `<style>` element.
    pub(super) fn add(&mut self, css: &str, steps: &Steps<'_>) {
        if !steps.charge(6 * css.len()) {
            return;
        }
        let css = css::without_comments(css);
        // An imported `data:` URL is a style sheet whose rules are not read.
        self.is_cut |= css.contains("@import") && css.contains("data:");
        self.add_blocks(&css, Around::NOTHING, steps);
    }

    fn add_blocks(&mut self, css: &str, around: Around<'_>, steps: &Steps<'_>) {
        let mut rest = css;
        while let Some((prelude, body, after)) = css::block(rest) {
            if self.rules.len() == MAX_RULES {
                self.is_cut = true;
                return;
            }
            if !steps.charge(32 + 6 * (rest.len() - after.len())) {
                return;
            }
            rest = after;
            let prelude = prelude.rsplit(';').next().unwrap_or_default().trim();
            let Some(inside) = around.deeper() else {
                self.is_cut = true;
                return;
            };
            if let Some(at_rule) = prelude.strip_prefix('@') {
                self.add_at_rule(at_rule, body, (around, inside), steps);
                continue;
            }
            let (selector, is_nested) = around.selector_of(prelude);
            self.add_rule(selector, body, around.is_conditional || is_nested, steps);
            if body.contains('{') {
                self.add_blocks(body, Around { selector, ..inside }, steps);
            }
        }
    }

    fn add_at_rule(
        &mut self,
        at_rule: &str,
        body: &str,
        (around, inside): (Around<'_>, Around<'_>),
        steps: &Steps<'_>,
    ) {
        let is_conditional = match applies(at_rule) {
            Applies::Always => around.is_conditional,
            Applies::Perhaps => true,
            Applies::Never => return,
        };
        let inside = Around {
            is_conditional,
            ..inside
        };
        self.add_blocks(body, inside, steps);
        if !around.selector.is_empty() {
            self.add_rule(around.selector, body, true, steps);
        }
    }

    fn add_rule(&mut self, prelude: &str, body: &str, is_conditional: bool, steps: &Steps<'_>) {
        let declarations = Declarations::parse(&own_declarations(body));
        if declarations.is_empty() {
            return;
        }
        let block = self.blocks.len();
        let mut rest = Some(prelude);
        while let Some(text) = rest {
            let (selector, after) = css::split(text, b",");
            rest = after;
            let Some(selector) = Selector::parse(selector, steps) else {
                continue;
            };
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

    /// Notes that the page has rules that are not read.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
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

/// What stands around a block.
#[derive(Clone, Copy)]
struct Around<'s> {
    is_conditional: bool,
    /// The selector of the rule that contains the block.
    selector: &'s str,
    depth: usize,
}

impl<'s> Around<'s> {
    const NOTHING: Self = Self {
        is_conditional: false,
        selector: "",
        depth: 0,
    };

    /// The same one level deeper, unless that is too deep.
    fn deeper(self) -> Option<Self> {
        let depth = self.depth + 1;
        (depth <= MAX_NESTING).then_some(Self { depth, ..self })
    }

    /// The selector of a rule, and whether it is inside another one. Then it selects
    /// more than it says, because what is around it is not checked.
    fn selector_of(self, prelude: &'s str) -> (&'s str, bool) {
        if self.selector.is_empty() {
            return (prelude, false);
        }
        let own = prelude
            .trim_start_matches('&')
            .trim_start_matches(['>', '+', '~', ' ']);
        let is_around = own.is_empty() || own.contains('&');
        (if is_around { self.selector } else { own }, true)
    }
}

/// The declarations of a rule without the rules inside it.
fn own_declarations(body: &str) -> Cow<'_, str> {
    if !body.contains('{') {
        return Cow::Borrowed(body);
    }
    let mut own = String::new();
    let mut rest = body;
    while let Some((before, _, after)) = css::block(rest) {
        let end = before.rfind(';').map_or(0, |at| at + 1);
        own.push_str(before.get(..end).unwrap_or_default());
        rest = after;
    }
    own.push_str(rest);
    Cow::Owned(own)
}
