//! Turns the lexicon files into the tables that the library contains. Only the build
//! script does this.

use std::fs;
use std::io::Error;
use std::path::Path;

use super::concept::{CONCEPTS, MOST_LANGUAGES, OPEN};
use super::node::NO_TERM;
use super::sense::Sense;
use super::table::Table;
use crate::fold::folded;

/// A word that contains a term and means something else: "unicode". The library only has
/// to find it, because the longest term wins.
const NOISE: Sense = Sense(1 << 11);

/// Everything about links.
const LINKS: Sense = Sense::VERIFY
    .or(Sense::LOGIN)
    .or(Sense::RESET)
    .or(Sense::INVITE)
    .or(Sense::CHANGE)
    .or(Sense::APPROVE)
    .or(Sense::DENY)
    .or(Sense::DELETE)
    .or(Sense::LEAVE)
    .or(Sense::PAGE)
    .or(Sense::CLICK)
    .or(Sense::NOT_ME);

/// A term as it is written in a file.
struct Entry {
    language: String,
    sense: Sense,
    written: String,
    /// As it is compared.
    bare: String,
}

impl Entry {
    /// Whether more letters may follow the term in its word.
    fn is_open_after(&self) -> bool {
        self.written.ends_with('*')
    }
}

/// Reads the lexicons in one directory and writes their tables into another. Terms about
/// codes and terms about links overlap, so they are two lexicons. Concepts and the cues of
/// links are two more.
pub(crate) fn compile(from: &Path, to: &Path) -> Result<(), Error> {
    let (about_links, about_codes) = terms(from)?
        .into_iter()
        .partition(|entry| entry.sense.says(LINKS));
    write("codes", about_codes, to)?;
    write("links", about_links, to)?;
    let link_cues = cues(&from.join("link_cues.txt"), link_cue_sense)?;
    write("link_cues", link_cues, to)?;
    write_concepts(cues(&from.join("concepts.txt"), concept)?, to)
}

/// The terms of every language, English first, and then by the name of the language.
fn terms(from: &Path) -> Result<Vec<Entry>, Error> {
    let mut languages = Vec::new();
    for file in fs::read_dir(from)? {
        let path = file?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let is_text = path.extension().is_some_and(|extension| extension == "txt");
        if let Some(language) =
            name.filter(|name| is_text && !name.ends_with("cues") && *name != "concepts")
        {
            languages.push(language.to_owned());
        }
    }
    languages.sort_by_key(|language| (language != "en", language.clone()));
    let mut terms = Vec::new();
    for language in languages {
        let file = fs::read_to_string(from.join(format!("{language}.txt")))?;
        terms.extend(entries(&language, &file, term_sense)?);
    }
    Ok(terms)
}

/// The cues of every language. A line `[de]` begins a language.
fn cues(path: &Path, named: fn(&str) -> Option<Sense>) -> Result<Vec<Entry>, Error> {
    let file = fs::read_to_string(path)?.replace("\r\n", "\n");
    let languages = file.split("\n[").filter_map(|part| part.split_once("]\n"));
    let (mut cues, mut known) = (Vec::new(), Vec::new());
    for (language, part) in languages {
        if known.contains(&language) {
            return Err(Error::other(format!("lexicon {language}: in two places")));
        }
        known.push(language);
        cues.extend(entries(language, part, named)?);
    }
    Ok(cues)
}

/// `sense: term, term, term` lines; `#` begins a comment.
fn entries(
    language: &str,
    file: &str,
    named: fn(&str) -> Option<Sense>,
) -> Result<Vec<Entry>, Error> {
    if language.len() > 3 {
        return Err(Error::other(format!("lexicon {language}: name too long")));
    }
    let mut entries = Vec::new();
    let lines = file.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let malformed = || Error::other(format!("lexicon {language}: malformed line: {line}"));
        let (name, terms) = line.split_once(':').ok_or_else(malformed)?;
        let sense = named(name.trim()).ok_or_else(malformed)?;
        let terms = terms.split(',').map(str::trim);
        // A star allows more letters only at the end of a term.
        if terms
            .clone()
            .any(|term| term.trim_matches('*').contains('*'))
        {
            return Err(malformed());
        }
        entries.extend(terms.map(|term| Entry {
            language: language.to_owned(),
            sense,
            written: term.to_owned(),
            bare: bare(term),
        }));
    }
    Ok(entries)
}

/// Writes the trie of the terms, and what each term means: sense, flag and language.
fn write(name: &str, entries: Vec<Entry>, to: &Path) -> Result<(), Error> {
    let entries = arranged(entries);
    let same_terms = || entries.chunk_by(|one, other| one.bare == other.bare);
    let meanings: Vec<u8> = same_terms().flat_map(meaning).collect();
    fs::write(to.join(format!("{name}.terms")), meanings)?;
    write_trie(name, same_terms(), to)
}

/// Writes the trie of the terms, and what each term stands for in which language.
fn write_concepts(entries: Vec<Entry>, to: &Path) -> Result<(), Error> {
    let entries = arranged(entries);
    let same_terms = || entries.chunk_by(|one, other| one.bare == other.bare);
    let mut names: Vec<&str> = entries
        .iter()
        .map(|entry| entry.language.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let (mut places, mut uses) = (Vec::new(), Vec::new());
    for same in same_terms() {
        places.extend(place(&uses)?);
        for entry in same {
            let language = names.binary_search(&entry.language.as_str());
            let language = language.ok().and_then(|at| u8::try_from(at).ok());
            let language = language.filter(|at| usize::from(*at) < MOST_LANGUAGES);
            let language = language.ok_or_else(|| Error::other("too many languages"))?;
            let open = if entry.is_open_after() { OPEN } else { 0 };
            let [concept, ..] = entry.sense.0.to_le_bytes();
            uses.push([language | open, concept]);
        }
    }
    places.extend(place(&uses)?);
    fs::write(to.join("concepts.places"), places)?;
    fs::write(to.join("concepts.uses"), uses.as_flattened())?;
    write_trie("concepts", same_terms(), to)
}

fn place(uses: &[[u8; 2]]) -> Result<[u8; 4], Error> {
    let place = u32::try_from(uses.len()).map_err(Error::other)?;
    Ok(place.to_le_bytes())
}

/// The entries by their terms. The sort is stable: the first language that has a term stays
/// the first.
fn arranged(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.retain(|entry| !entry.bare.is_empty());
    entries.sort_by(|one, other| one.bare.cmp(&other.bare));
    entries
}

/// Writes the trie in which each group of entries has its number.
fn write_trie<'e>(
    name: &str,
    same_terms: impl Iterator<Item = &'e [Entry]>,
    to: &Path,
) -> Result<(), Error> {
    let terms = same_terms.filter_map(|same| same.first());
    let numbered: Vec<_> = terms.map(|entry| entry.bare.clone()).zip(0..).collect();
    if numbered.is_empty() {
        return Err(Error::other(format!("lexicon {name}: no terms")));
    }
    if numbered.len() > NO_TERM as usize {
        return Err(Error::other(format!("lexicon {name}: too many terms")));
    }
    let table = Table::build(numbered);
    let nodes = table.stored_nodes();
    let nodes = nodes.as_flattened().as_flattened();
    fs::write(to.join(format!("{name}.nodes")), nodes)?;
    fs::write(to.join(format!("{name}.tails")), &table.tails)
}

/// The number of the concept with this name.
fn concept(name: &str) -> Option<Sense> {
    let mut numbered = (0..).zip(CONCEPTS).skip(1);
    let found = numbered.find(|(_, (known, _))| *known == name);
    found.map(|(number, _)| Sense(number))
}

/// What a term means, as `meaning.rs` reads it.
fn meaning(same: &[Entry]) -> Vec<u8> {
    let senses = same.iter().map(|entry| entry.sense);
    let sense = senses.fold(Sense::default(), Sense::or);
    let is_open_after = same.iter().any(Entry::is_open_after);
    let language = same.first().map_or("", |entry| &entry.language);
    let mut meaning = sense.0.to_le_bytes().to_vec();
    meaning.push(u8::from(is_open_after));
    meaning.extend(format!("{language:3}").bytes());
    meaning
}

/// A term as it is compared: folded and in small letters.
fn bare(written: &str) -> String {
    let mut bare = folded(written.trim_matches('*'));
    bare.make_ascii_lowercase();
    bare
}

/// The sense of terms with this name in the file of a language.
fn term_sense(name: &str) -> Option<Sense> {
    Some(match name {
        "code" => Sense::CODE,
        "word" => Sense::WORD,
        "is" => Sense::IS.or(Sense::COPULA),
        "meeting" => Sense::MEETING,
        "not_me" => Sense::NOT_ME,
        "copula" => Sense::COPULA,
        "enter" => Sense::ENTER,
        "expiry" => Sense::EXPIRY,
        "auth" => Sense::AUTH,
        "number" => Sense::NUMBER,
        "kind" => Sense::KIND,
        "unit" => Sense::UNIT,
        "money" => Sense::MONEY,
        "stale" => Sense::STALE,
        "noise" => NOISE,
        "verify" => Sense::VERIFY,
        "login" => Sense::LOGIN,
        "reset" => Sense::RESET,
        "invite" => Sense::INVITE,
        "change" => Sense::CHANGE,
        "approve" => Sense::APPROVE,
        "deny" => Sense::DENY,
        "delete" => Sense::DELETE,
        "leave" => Sense::LEAVE,
        "page" => Sense::PAGE,
        "click" => Sense::CLICK,
        _ => return None,
    })
}

/// The sense of cues of links with this name.
fn link_cue_sense(name: &str) -> Option<Sense> {
    Some(match name {
        "agree" => Sense::AGREE,
        "enter" => Sense::GO_IN,
        "choose" => Sense::CHOOSE,
        "join" => Sense::JOIN,
        "refuse" => Sense::REFUSE,
        "remove" => Sense::REMOVE,
        "leave" => Sense::QUIT,
        "show" => Sense::SHOW,
        "again" => Sense::AGAIN,
        "point" => Sense::POINT,
        "asked" => Sense::ASKED,
        "alarm" => Sense::ALARM,
        _ => return None,
    })
}
