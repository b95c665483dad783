//! The text of one part of a mail, ready to be searched.

mod markup;
mod plain;

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use crate::fold::Folder;
use crate::lexicon::{Hit, Languages, Memory, known_concept_hits};
use crate::machines;
use crate::property::is_alphanumeric;
use crate::steps::Steps;

pub(crate) use markup::is_page;

/// The part of a mail that text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// The Subject field.
    Subject,
    /// The plain text body.
    Text,
    /// The HTML body.
    Html,
}

impl TextSource {
    /// Its name in a feature.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Text => "text",
            Self::Html => "html",
        }
    }
}

/// How many bytes of a text are searched for concepts. A code or a link that comes later is
/// decided without them.
const EXAMINED: usize = 32 * 1024;

/// How many characters beside a text are looked at for others that are bold with it.
const MARGIN: usize = 64;

/// The visible text of one source. Lines end in `\n`, table cells in `\t`.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) source: TextSource,
    pub(crate) folded: Folder,
    /// Text that is printed larger or wider than the rest.
    pub(crate) emphasis: Vec<Range<usize>>,
    /// Bold text, and text in the font of a typewriter.
    pub(crate) stressed: Vec<Range<usize>>,
    /// Text in elements whose class or id says "code".
    pub(crate) marked: Vec<Range<usize>>,
    /// Text that a person may or may not see.
    pub(crate) unclear: Vec<Range<usize>>,
    pub(crate) anchors: Vec<Anchor>,
    /// Hidden text, folded. No artifact is taken from it.
    pub(crate) hidden: String,
    /// The source is longer than what is examined.
    pub(crate) truncated: bool,
    /// The text with small letters, made at the first use.
    small: OnceCell<String>,
    /// Where it speaks to machines, found at the first use.
    machines: OnceCell<Vec<Range<usize>>>,
    /// The languages whose terms stand for concepts in it.
    pub(crate) languages: Languages,
    concepts: OnceCell<Concepts>,
    /// The concepts of lines that the texts of a mail share.
    pub(crate) memory: Rc<RefCell<Memory>>,
}

/// The concepts of a text, and the steps that it takes to find them.
#[derive(Debug)]
pub(crate) struct Concepts {
    pub(crate) hits: Vec<Hit>,
    /// Those that are cues, as cues.
    pub(crate) cues: Vec<Hit>,
    steps: usize,
}

/// Whether a text is bold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stress {
    None,
    /// It and the words beside it.
    WithOthers,
    /// It, and not the words beside it.
    Alone,
}

impl Stress {
    /// Its name in a feature.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::WithOthers => "with others",
            Self::Alone => "alone",
        }
    }
}

/// A link element of HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) href: String,
    /// The range of its text.
    pub(crate) span: Range<usize>,
    /// The alternative text of its pictures, and its title.
    pub(crate) alternative: String,
    /// A person may or may not see it.
    pub(crate) is_unclear: bool,
}

impl Reading {
    pub(crate) fn text(&self) -> &str {
        self.folded.text()
    }

    /// The text with small letters in place of the capitals of ASCII.
    pub(crate) fn small(&self) -> &str {
        self.small.get_or_init(|| self.text().to_ascii_lowercase())
    }

    /// Where the text speaks to machines.
    pub(crate) fn machines(&self, steps: &Steps<'_>) -> &[Range<usize>] {
        self.machines
            .get_or_init(|| machines::addressed(self.small(), steps))
    }

    /// The concepts for the models. They are searched for once, and charged each time.
    pub(crate) fn concepts(&self, steps: &Steps<'_>) -> &Concepts {
        if let Some(concepts) = self.concepts.get() {
            steps.charge(concepts.steps);
            return concepts;
        }
        self.concepts.get_or_init(|| {
            let before = steps.taken();
            let mut memory = self.memory.borrow_mut();
            let hits = known_concept_hits(self.examined(), self.languages, &mut memory, steps);
            let steps = usize::try_from(steps.taken() - before).unwrap_or(usize::MAX);
            let cues = hits.iter().filter_map(Hit::as_cue).collect();
            Concepts { hits, cues, steps }
        })
    }

    /// The same, if they have been searched for.
    pub(crate) fn known_concepts(&self) -> Option<&Concepts> {
        self.concepts.get()
    }

    /// The text that is searched for concepts.
    pub(crate) fn examined(&self) -> &str {
        let end = self.text().floor_char_boundary(EXAMINED);
        self.text().get(..end).unwrap_or_default()
    }

    pub(crate) fn is_emphasised(&self, at: usize) -> bool {
        holds(&self.emphasis, at)
    }

    /// The bold texts that begin before the end of a range and end in it or after it.
    pub(crate) fn stressed_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Range<usize>> {
        let from = self.stressed.partition_point(|one| one.end <= range.start);
        let rest = self.stressed.get(from..).unwrap_or_default().iter();
        let end = range.end;
        rest.take_while(move |one| one.start < end)
    }

    /// How much of the line around a range is bold with it.
    pub(crate) fn stress(&self, range: &Range<usize>) -> Stress {
        let next = self.stressed.partition_point(|one| one.end <= range.start);
        match self.stressed.get(next) {
            Some(one) if one.start <= range.start && range.end <= one.end => {
                let text = |range: Range<usize>| self.text().get(range).unwrap_or_default().chars();
                let before = text(one.start..range.start).rev();
                if is_bare(before) && is_bare(text(range.end..one.end)) {
                    Stress::Alone
                } else {
                    Stress::WithOthers
                }
            }
            _ => Stress::None,
        }
    }

    /// Whether a place is in the text of a link.
    pub(crate) fn is_linked(&self, at: usize) -> bool {
        let next = self.anchors.partition_point(|anchor| anchor.span.end <= at);
        let next = self.anchors.get(next);
        next.is_some_and(|anchor| anchor.span.contains(&at))
    }

    pub(crate) fn is_marked(&self, at: usize) -> bool {
        holds(&self.marked, at)
    }

    pub(crate) fn is_unclear(&self, at: usize) -> bool {
        holds(&self.unclear, at)
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text().trim().is_empty()
    }

    /// Reads one line, such as the subject.
    pub(crate) fn of_line(source: TextSource, line: &str) -> Self {
        let mut reading = Self::empty(source);
        reading.folded.push_str(line, 0);
        reading
    }

    pub(crate) fn empty(source: TextSource) -> Self {
        Self {
            source,
            folded: Folder::default(),
            emphasis: Vec::new(),
            stressed: Vec::new(),
            marked: Vec::new(),
            unclear: Vec::new(),
            anchors: Vec::new(),
            hidden: String::new(),
            truncated: false,
            small: OnceCell::new(),
            machines: OnceCell::new(),
            languages: Languages::ALL,
            concepts: OnceCell::new(),
            memory: Rc::default(),
        }
    }
}

/// Whether one of the ranges, which are in order, holds an offset.
fn holds(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= at);
    after
        .checked_sub(1)
        .and_then(|index| ranges.get(index))
        .is_some_and(|range| at < range.end)
}

/// Whether no letter or digit follows in the line. `away` leads away from a text. If that
/// takes too long to see, there may be one.
fn is_bare(away: impl Iterator<Item = char>) -> bool {
    let mut line = away.take_while(|c| *c != '\n');
    let is_clear = !line.by_ref().take(MARGIN).any(is_alphanumeric);
    is_clear && line.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html;

    fn read(body: &str) -> Reading {
        html::read(body, (10_000, 10_000), &Steps::for_size(0))
    }

    fn stress_of(body: &str, text: &str) -> Stress {
        let reading = read(body);
        let at = reading.text().find(text).unwrap();
        reading.stress(&(at..at + text.len()))
    }

    #[test]
    fn bold_text_is_stressed_alone_or_with_others() {
        for (body, stress) in [
            ("Enter <b>482913</b> now", Stress::Alone),
            ("Enter <strong> 482913.</strong> now", Stress::Alone),
            ("Enter <code>482913</code> now", Stress::Alone),
            (
                "Enter <span style='font-weight:700'>482913</span> now",
                Stress::Alone,
            ),
            ("<b>Enter 482913</b> now", Stress::WithOthers),
            (
                "<b>Enter <span style='font-weight:normal'>482913</span></b>",
                Stress::None,
            ),
            ("Enter 482913 <b>now</b>", Stress::None),
            (
                "<b><p>Your code</p><p>482913</p><p>Thank you</p></b>",
                Stress::Alone,
            ),
        ] {
            assert_eq!(stress_of(body, "482913"), stress, "{body}");
        }
    }

    #[test]
    fn only_the_text_of_a_link_is_linked() {
        let reading = read("one <a href='https://a.example.com'>two</a> three");
        let is_linked = |word: &str| reading.is_linked(reading.text().find(word).unwrap());
        assert!(is_linked("two"));
        assert!(!is_linked("one") && !is_linked("three"));
    }
}
