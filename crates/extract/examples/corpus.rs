//! Scores the project's own corpus and writes the table and chart of the README.
//!
//! `cargo run --release -p extract --example corpus -- crates/extract/README.md
//! tests/fixtures/corpus.svg` replaces the text between `<!-- corpus -->` and
//! `<!-- /corpus -->`. Without arguments it prints the table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use extract::{Allowlist, Policy, extract};
use serde_json::Value;

type Counts = BTreeMap<String, (u32, u32)>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/mail");
    let mut classes = Counts::new();
    let mut languages = Counts::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "eml") {
            continue;
        }
        let label: Value =
            serde_json::from_str(&std::fs::read_to_string(path.with_extension("json"))?)?;
        let right = u32::from(is_right(&path, &label)?);
        for (counts, key) in [(&mut classes, "class"), (&mut languages, "lang")] {
            let count = counts
                .entry(
                    label
                        .get(key)
                        .and_then(Value::as_str)
                        .unwrap_or("?")
                        .to_owned(),
                )
                .or_default();
            count.0 += 1;
            count.1 += right;
        }
    }
    let table = table(&classes, languages.len());
    let mut arguments = std::env::args().skip(1);
    match (arguments.next(), arguments.next()) {
        (Some(readme), chart) => {
            write_between(Path::new(&readme), &table)?;
            if let Some(chart) = chart {
                std::fs::write(chart, svg(&classes))?;
            }
        }
        _ => print(&table)?,
    }
    Ok(())
}

fn print(text: &str) -> std::io::Result<()> {
    use std::io::Write;
    writeln!(std::io::stdout().lock(), "{text}")
}

fn is_right(path: &Path, label: &Value) -> Result<bool, Box<dyn std::error::Error>> {
    let links = match label.get("allow").and_then(Value::as_array) {
        Some(entries) => Allowlist::parse(entries.iter().filter_map(Value::as_str))?,
        None => Allowlist::any(),
    };
    let mail = extract(&std::fs::read(path)?, &Policy { links })?;
    let code = mail.code.found().map(|code| code.value.as_str());
    let link = mail.link.found().map(|link| link.url.as_str());
    Ok(code == label.get("code").and_then(Value::as_str)
        && link == label.get("link").and_then(Value::as_str))
}

fn table(classes: &Counts, languages: usize) -> String {
    let (rows, right) = classes
        .values()
        .fold((0, 0), |(rows, right), one| (rows + one.0, right + one.1));
    let mut table = format!(
        "{rows} mails in {languages} languages, {right} right.\n\n| class | mails | right |\n|---|---:|---:|\n"
    );
    for (class, (rows, right)) in classes {
        table = format!("{table}| {class} | {rows} | {right} |\n");
    }
    table
}

fn write_between(readme: &Path, table: &str) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(readme)?;
    let (before, rest) = text
        .split_once("<!-- corpus -->")
        .ok_or("no <!-- corpus --> in the file")?;
    let (_, after) = rest
        .split_once("<!-- /corpus -->")
        .ok_or("no <!-- /corpus --> in the file")?;
    std::fs::write(
        readme,
        format!("{before}<!-- corpus -->\n{table}<!-- /corpus -->{after}"),
    )?;
    Ok(())
}

/// One bar for each class: its mails, and those that are right.
fn svg(classes: &Counts) -> String {
    let widest = classes
        .values()
        .map(|(rows, _)| *rows)
        .max()
        .unwrap_or(1)
        .max(1);
    let height = classes.len() * 26 + 16;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n"
    );
    for (line, (class, (rows, right))) in classes.iter().enumerate() {
        let y = line * 26 + 12;
        let width = |count: u32| count * 400 / widest;
        svg = format!(
            "{svg}<text x=\"120\" y=\"{}\" text-anchor=\"end\">{class}</text>\
             <rect x=\"130\" y=\"{y}\" width=\"{}\" height=\"18\" fill=\"#d0d7de\"/>\
             <rect x=\"130\" y=\"{y}\" width=\"{}\" height=\"18\" fill=\"#1a7f37\"/>\
             <text x=\"{}\" y=\"{}\">{right}/{rows}</text>\n",
            y + 14,
            width(*rows),
            width(*right),
            138 + width(*rows),
            y + 14
        );
    }
    svg.push_str("</svg>\n");
    svg
}
