//! Turns the lexicon files into tables that the library contains. Every process would
//! otherwise spend 50 ms on it.

use std::io::Error;
use std::path::Path;

#[expect(
    dead_code,
    unreachable_pub,
    reason = "the library folds mails with the rest"
)]
#[path = "src/fold.rs"]
mod fold;
#[path = "src/property.rs"]
mod property;

#[path = "src/lexicon"]
mod lexicon {
    pub(crate) mod compile;
    pub(crate) mod concept;
    pub(crate) mod node;
    pub(crate) mod sense;
    pub(crate) mod table;
}

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lexicon");
    println!("cargo::rerun-if-changed=src/fold.rs");
    println!("cargo::rerun-if-changed=src/fold");
    let to = std::env::var_os("OUT_DIR").ok_or_else(|| Error::other("OUT_DIR is not set"))?;
    lexicon::compile::compile(Path::new("src/lexicon"), Path::new(&to))
}
