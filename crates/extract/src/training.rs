//! The features of a mail, for the script that trains the models.

use crate::model::CandidateFeatures;
use crate::refusal::Refusal;
use crate::steps::Steps;
use crate::{code, link, mail, read, structure};

/// What the models see of a mail.
#[derive(Debug, serde::Serialize)]
pub struct MailFeatures {
    /// The features that all candidates share: of codes, then of links.
    pub shared: [Vec<Vec<u32>>; 2],
    /// Candidates for the code.
    pub codes: Vec<CandidateFeatures>,
    /// Candidates for the link.
    pub links: Vec<CandidateFeatures>,
}

/// The features of a raw mail.
pub fn features(raw: &[u8]) -> Result<MailFeatures, Refusal> {
    let steps = Steps::for_size(raw.len());
    let structure = structure::read(raw, &steps)?;
    let bodies = mail::bodies(&structure, &steps);
    let subject = mail::header_text(&structure.headers, "Subject", &steps);
    let readings = read::readings(&subject, &bodies, &steps);
    let (shared, codes) = code::seen_by_model(&readings, &steps);
    let (shared_links, links) = link::seen_by_model(&readings, &steps);
    Ok(MailFeatures {
        shared: [shared, shared_links],
        codes,
        links,
    })
}
