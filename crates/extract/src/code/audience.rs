/// Whom a mail gives a value to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    People,
    Machines,
}
