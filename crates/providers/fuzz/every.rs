//! The source that a fuzzing run is about: `PROVIDER` names its provider.

use std::collections::BTreeMap;

use providers::{Source, Sources, contract};

/// The provider that `PROVIDER` names, or Standard Webhooks.
pub fn provider() -> String {
    std::env::var("PROVIDER").unwrap_or_else(|_| "standard-webhooks".to_owned())
}

/// A source of that provider, with the settings of its example.
pub fn source() -> &'static Source {
    let settings = contract(&provider()).expect("a provider").example();
    let sources = Sources::build(BTreeMap::from([("main".to_owned(), settings)]));
    let sources: &'static Sources = Box::leak(Box::new(sources.expect("a source")));
    sources.get("main").expect("the source")
}
