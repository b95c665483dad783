//! The words with which a mail speaks to machines, in English.

/// What a machine that reads mail is called.
pub(super) const MACHINES: [&str; 15] = [
    "agent",
    "ai",
    "assistant",
    "bot",
    "crawler",
    "llm",
    "machine",
    "model",
    "parser",
    "program",
    "reader",
    "robot",
    "script",
    "software",
    "system",
];
/// The ones that are no person and no product.
pub(super) const PLAIN: [&str; 5] = ["bot", "crawler", "llm", "parser", "robot"];
/// The ones of these that a person may have as a name.
pub(super) const PERSONS: [&str; 2] = ["bot", "robot"];
/// Words before the others that say it is a machine.
pub(super) const KINDS: [&str; 15] = [
    "ai",
    "artificial",
    "automated",
    "automatic",
    "autonomous",
    "digital",
    "e",
    "email",
    "inbox",
    "language",
    "large",
    "llm",
    "machine",
    "mail",
    "virtual",
];
/// Other words between an address and the machine.
pub(super) const ANY: [&str; 8] = [
    "all",
    "any",
    "every",
    "other",
    "the",
    "those",
    "whatever",
    "whichever",
];
/// Words that address, alone or before "to" and "for".
pub(super) const NOTES: [&str; 7] = [
    "attention",
    "instruction",
    "instructions",
    "memo",
    "message",
    "note",
    "notice",
];
pub(super) const GREETINGS: [&str; 5] = ["attn", "dear", "hello", "hey", "hi"];
/// What follows a machine that is addressed without such a word.
pub(super) const CALLS: [&str; 4] = ["must", "please", "should", "treat"];
/// What only a machine that reads mail does: "the program that reads this".
pub(super) const READS: [&str; 10] = [
    "handles",
    "handling",
    "opening",
    "opens",
    "parses",
    "parsing",
    "processes",
    "processing",
    "reading",
    "reads",
];
/// What it reads.
pub(super) const MAILS: [&str; 8] = [
    "email", "emails", "inbox", "it", "mail", "mails", "message", "this",
];
/// What an order says to forget: "ignore all previous instructions". What follows it is meant for
/// a language model.
pub(super) const INSTRUCTIONS: [&str; 5] =
    ["directive", "guideline", "instruction", "prompt", "rule"];
/// The verb of such an order.
pub(super) const FORGETS: [&str; 6] = [
    "bypass",
    "discard",
    "disregard",
    "forget",
    "ignore",
    "override",
];
/// Words before the verb in its line.
pub(super) const BEFORE_ORDER: [&str; 8] = [
    "also", "and", "must", "now", "please", "should", "then", "you",
];
/// Words directly before the verb, perhaps in the line above, that make it advice to people:
/// "you can ignore …", "do not ignore …". `t` is the end of "don't".
pub(super) const ADVISING: [&str; 7] = ["can", "could", "may", "never", "not", "t", "to"];
/// Words between the verb and the instructions.
pub(super) const WHOSE: [&str; 12] = [
    "all", "any", "every", "my", "of", "other", "our", "safety", "the", "these", "those", "your",
];
/// The ones that say which instructions. They may also follow.
pub(super) const PREVIOUS: [&str; 9] = [
    "above",
    "before",
    "earlier",
    "existing",
    "given",
    "preceding",
    "previous",
    "prior",
    "system",
];
