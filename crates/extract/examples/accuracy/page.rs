//! The page.

use std::fmt::Write as _;

use crate::judge::Class;
use crate::peer::Peer;
use crate::report::Report;
use crate::tally::{Scores, cell};

/// The thresholds that the page shows.
const THRESHOLDS: [u8; 7] = [0, 60, 80, 90, 95, 97, 99];

/// The columns of a table of codes and links.
const BOTH: &str = "codes: precision | recall | wrong | links: precision | recall | wrong |\n\
                    |---|---:|---:|---:|---:|---:|---:|";

/// The columns of a table of extractors.
const EXTRACTORS: &str = "| extractor | version | codes: precision | recall | wrong |\n\
                          |---|---|---:|---:|---:|";

pub(crate) struct Page<'r> {
    pub(crate) report: &'r Report,
    pub(crate) peers: &'r [Peer],
    /// The mails of real applications, if there are any.
    pub(crate) applications: &'r Report,
    pub(crate) application_peers: &'r [Peer],
    /// Mails that the models were trained on: the name of a file, and its scores.
    pub(crate) rows: &'r [(String, Report)],
}

impl Page<'_> {
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut page = String::new();
        self.head(&mut page)?;
        if self.applications.all.codes.mails > 0 {
            self.real_applications(&mut page)?;
        }
        if !self.rows.is_empty() {
            self.labelled_rows(&mut page)?;
        }
        self.by_writer(&mut page)?;
        self.by_class(&mut page)?;
        self.by_language(&mut page)?;
        self.by_threshold(&mut page)?;
        self.by_confidence(&mut page)?;
        Ok(page)
    }

    fn head(&self, page: &mut String) -> std::fmt::Result {
        let Scores { codes, links, .. } = &self.report.all;
        writeln!(
            page,
            "# Accuracy on mail that nobody here tuned on\n\n\
             Written by `tests/accuracy/run`. {} mails by {} writers, {} with a code: those of \
             [the hands](../../tests/fixtures/mail/hands/README.md) that no model was trained \
             on.\n\n\
             {EXTRACTORS}",
            codes.mails,
            self.report.by_origin.len(),
            codes.expected,
        )?;
        extractors(self.report, self.peers, page)?;
        writeln!(
            page,
            "\nPrecision: right answers among all answers. Recall: right answers among the mails \
             that have a code. An answer to a mail without a code is wrong. A code may be \
             spelled with or without its spaces and hyphens.\n\n\
             The form is known where the caller says how many digits, letters or characters the \
             code has. For a mail without a code this caller waits for six digits."
        )?;
        if !self.peers.is_empty() {
            writeln!(page, "{PEERS}")?;
        }
        writeln!(
            page,
            "\nLinks, Maillatch only: precision {}, recall {}, {} wrong. Links that deny, delete \
             or unsubscribe: {} returned.",
            cell(links.precision()),
            cell(links.recall()),
            links.wrong,
            self.report.forbidden,
        )
    }

    fn real_applications(&self, page: &mut String) -> std::fmt::Result {
        let report = self.applications;
        let Scores { codes, links, .. } = &report.all;
        writeln!(
            page,
            "\n## Mails of real applications\n\n\
             What {} applications send, in all their locales, rendered from their own templates \
             by [`tests/applications/run`](../../tests/applications/README.md). {} of these mails \
             have a code, and {} a link. They have fewer traps.\n\n\
             | mails | right | abstained | wrong |\n|---:|---:|---:|---:|\n\
             | {} | {} | {} | {} |\n\n\
             A mail is right if its code and its link are as labelled, also where the label is \
             \"none\". Words that a first measurement found missing were added to the \
             lexicons, so these mails are not quite unseen. Links: precision {}, recall {}.\n\n{EXTRACTORS}",
            report.by_origin.len(),
            codes.expected,
            links.expected,
            codes.mails,
            report.all.right,
            report.all.abstained,
            report.all.wrong,
            cell(links.precision()),
            cell(links.recall()),
        )?;
        extractors(report, self.application_peers, page)
    }

    fn labelled_rows(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\n## Labelled rows\n\n\
             The models were trained on these rows, which `crates/extract/train/rows.py` wrote. \
             So this says what they learned, and not what to expect of other mail. Links count \
             only in rows where they are labelled.\n\n| rows | mails | {}",
            BOTH.replace("|---|", "|---|---:|"),
        )?;
        for (name, report) in self.rows {
            let Scores { codes, links, .. } = &report.all;
            let (mails, codes, links) = (codes.mails, codes.cells(), links.cells());
            writeln!(page, "| {name} | {mails} | {codes} | {links} |")?;
        }
        Ok(())
    }

    fn by_writer(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "\n## By writer\n\n| writer | {BOTH}")?;
        for (writer, Scores { codes, links, .. }) in &self.report.by_origin {
            writeln!(page, "| {writer} | {} | {} |", codes.cells(), links.cells())?;
        }
        Ok(())
    }

    fn by_class(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\n## By class of mail\n\n\
             How many answers were right and wrong, and how many were missed: the mail has one, \
             and got none.\n\n\
             | the mail has | mails | code: right | wrong | missed | link: right | wrong | missed \
             |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|"
        )?;
        for (class, scores) in &self.report.by_class {
            let name = match class {
                Class::Code => "a code, or a code and a link",
                Class::Link => "only a link",
                Class::Neither => "neither",
            };
            let Scores { codes, links, .. } = scores;
            writeln!(
                page,
                "| {name} | {} | {} | {} | {} | {} | {} | {} |",
                codes.mails,
                codes.right,
                codes.wrong,
                scores.missed_codes,
                links.right,
                links.wrong,
                scores.missed_links,
            )?;
        }
        Ok(())
    }

    fn by_language(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\n## By language\n\n\
             Languages with fewer than ten mails are one row, the last.\n\n\
             | language | mails | codes: precision | recall | wrong |\n\
             |---|---:|---:|---:|---:|"
        )?;
        for (language, codes) in self.report.languages() {
            let (mails, cells) = (codes.mails, codes.cells());
            writeln!(page, "| {language} | {mails} | {cells} |")?;
        }
        Ok(())
    }

    fn by_threshold(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\n## By threshold\n\n\
             What is left when `extract.threshold` withholds codes and links with less \
             confidence.\n\n\
             ![Codes by threshold: precision rises and recall falls](accuracy/threshold.svg)\n\n\
             | threshold | {BOTH}"
        )?;
        for threshold in THRESHOLDS {
            let codes = self.report.code_confidence.above(threshold).cells();
            let links = self.report.link_confidence.above(threshold).cells();
            writeln!(page, "| {threshold} % | {codes} | {links} |")?;
        }
        Ok(())
    }

    fn by_confidence(&self, page: &mut String) -> std::fmt::Result {
        let Report {
            code_confidence: codes,
            link_confidence: links,
            ..
        } = self.report;
        writeln!(
            page,
            "\n## Is the confidence right?\n\n\
             Brier score, which is 0 if every answer is right and sure: {:.3} for the codes that \
             were given, {:.3} for the links. A dot is ten percents of confidence, its line the \
             95 % interval. On the dashed line, confidence and truth agree.\n\n\
             ![Codes: stated confidence against the share that was right]\
             (accuracy/reliability.svg)\n\n\
             | confidence | codes given | right |\n|---|---:|---:|",
            codes.brier(),
            links.brier(),
        )?;
        for (tenth, codes) in codes.by_tenth() {
            let (given, right) = (codes.tally.given(), cell(codes.tally.precision()));
            writeln!(page, "| {tenth}0 to {tenth}9 % | {given} | {right} |")?;
        }
        Ok(())
    }
}

const PEERS: &str = "\n\
    The others are packages with a function that takes a text, as they are. Each got the same \
    text: the subject, a blank line, and the text part. A mail without one gave the text of its \
    HTML part. If a function returns several codes, the first counts.\n\n\
    These mails are harder than those of an ordinary day: those without a code are meant to \
    tempt, with other numbers. The label policy is ours.";

/// The rows of a table of extractors: ours, and the others.
fn extractors(report: &Report, peers: &[Peer], page: &mut String) -> std::fmt::Result {
    let version = env!("CARGO_PKG_VERSION");
    let (codes, known_form) = (report.all.codes.cells(), report.known_form.cells());
    writeln!(page, "| **Maillatch** | {version} | {codes} |")?;
    let name = "Maillatch, form of the code known";
    writeln!(page, "| {name} | {version} | {known_form} |")?;
    for peer in peers {
        let (name, registry, version) = (&peer.name, &peer.registry, &peer.version);
        let cells = peer.codes.cells();
        writeln!(page, "| {name} ({registry}) | {version} | {cells} |")?;
    }
    Ok(())
}
