//! Scores labelled mails that no model was trained on, and writes a page and its charts.
//!
//! `accuracy PAGE [--peers FILE] [--applications FILE [--application-peers FILE]]
//! [--rows FILE]... MAILS...`
//!
//! `tests/accuracy/run` makes the files and calls this. `--peers` has what other extractors
//! answered to the same MAILS. `--applications` has the mails of real applications, and
//! `--application-peers` what others answered to those. `--rows` are mails that the models
//! were trained on, and may be given several times. The charts go into the folder `accuracy`
//! beside PAGE.

mod charts;
mod confidence;
mod judge;
mod page;
mod peer;
mod plot;
mod report;
mod tally;

use std::error::Error;
use std::path::{Path, PathBuf};

use page::Page;
use peer::Peer;
use report::Report;

/// The arguments.
#[derive(Default)]
struct Inputs {
    peers: Option<PathBuf>,
    applications: Option<PathBuf>,
    application_peers: Option<PathBuf>,
    rows: Vec<PathBuf>,
    mails: Vec<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = PathBuf::from(arguments.next().ok_or("the file to write is missing")?);
    let inputs = inputs(arguments)?;
    let report = Report::read(&inputs.mails)?;
    let applications = Report::read(inputs.applications.as_slice())?;
    let mut rows = Vec::new();
    for file in inputs.rows {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        rows.push((
            name.into_owned(),
            Report::read(std::slice::from_ref(&file))?,
        ));
    }
    let page = Page {
        report: &report,
        peers: &peers(inputs.peers.as_deref(), &report)?,
        applications: &applications,
        application_peers: &peers(inputs.application_peers.as_deref(), &applications)?,
        rows: &rows,
    };
    let charts = target.with_file_name("accuracy");
    std::fs::create_dir_all(&charts)?;
    let codes = &report.code_confidence;
    std::fs::write(charts.join("threshold.svg"), charts::threshold(codes))?;
    std::fs::write(charts.join("reliability.svg"), charts::reliability(codes))?;
    std::fs::write(target, page.text()?)?;
    Ok(())
}

fn inputs(mut arguments: impl Iterator<Item = String>) -> Result<Inputs, Box<dyn Error>> {
    let mut inputs = Inputs::default();
    while let Some(argument) = arguments.next() {
        let mut file = || arguments.next().ok_or(format!("{argument} needs a file"));
        match argument.as_str() {
            "--peers" => inputs.peers = Some(file()?.into()),
            "--applications" => inputs.applications = Some(file()?.into()),
            "--application-peers" => inputs.application_peers = Some(file()?.into()),
            "--rows" => inputs.rows.push(file()?.into()),
            _ if argument.starts_with('-') => Err(format!("unknown option {argument}"))?,
            _ => inputs.mails.push(argument.into()),
        }
    }
    Ok(inputs)
}

/// What others answered. Scores on other mails stand in no table beside ours.
fn peers(file: Option<&Path>, report: &Report) -> Result<Vec<Peer>, Box<dyn Error>> {
    let Some(file) = file else {
        return Ok(Vec::new());
    };
    let mut peers: Vec<Peer> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let ours = &report.all.codes;
    for peer in &peers {
        let theirs = &peer.codes;
        if (theirs.mails, theirs.expected) != (ours.mails, ours.expected) {
            Err(format!("{} was measured on other mails", peer.name))?;
        }
    }
    peers.sort_by_key(|peer| std::cmp::Reverse(peer.codes.right));
    Ok(peers)
}
