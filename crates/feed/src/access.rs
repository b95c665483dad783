//! Which key may use which path. The table is closed: a path that is not in it
//! is the operator's, so a route that somebody forgets here gives nothing away.

use actix_web::{HttpRequest, web};
use pipeline::Permission;

use crate::limits::Purse;

/// One way to ask something, and what it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) permission: Permission,
    /// The query parameters that it reads; any other is refused.
    pub(crate) query: &'static [&'static str],
}

impl Access {
    const fn reading(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    /// Whether a query holds nothing but what is read here, each once. A misspelt
    /// `wait` that is ignored costs its writer an afternoon, and `dry_run` costs
    /// an inbox.
    pub(crate) fn takes(&self, query: &str) -> bool {
        type Pairs = Vec<(String, String)>;
        let Ok(pairs) = web::Query::<Pairs>::from_query(query) else {
            return false;
        };
        let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let is_repeated = names.iter().zip(names.iter().skip(1)).any(|(a, b)| a == b);
        !is_repeated && names.iter().all(|name| self.query.contains(name))
    }

    /// Which budget pays for it.
    pub(crate) fn purse(&self) -> Purse {
        match (self.permission, self.method) {
            (Permission::Consume, _) => Purse::Consumes,
            (_, "GET") => Purse::Reads,
            _ => Purse::Attempts,
        }
    }
}

/// All of them.
pub(crate) const TABLE: &[Access] = &[
    get("/v1/inboxes", Permission::Feed).reading(&["after", "limit"]),
    post("/v1/inboxes", Permission::Attempt),
    get("/v1/inboxes/{inbox}", Permission::Feed),
    delete("/v1/inboxes/{inbox}", Permission::Attempt),
    post("/v1/inboxes/{inbox}/rotate", Permission::Attempt),
    get("/v1/inboxes/{inbox}/artifacts", Permission::Feed).reading(&["after", "limit", "wait"]),
    get("/v1/events", Permission::Feed).reading(&["inbox", "after"]),
    post("/v1/artifacts/{artifact}/consume", Permission::Consume),
    post("/v1/attempts", Permission::Attempt),
    get("/v1/attempts/{attempt}", Permission::Attempt).reading(&["wait"]),
    post("/v1/attempts/{attempt}/consume", Permission::Consume).reading(&["wait"]),
    post("/v1/attempts/{attempt}/resend", Permission::Attempt),
    post("/v1/attempts/{attempt}/finish", Permission::Attempt),
    get("/v1/keys", Permission::Operator),
    post("/v1/keys", Permission::Operator),
    delete("/v1/keys/{name}", Permission::Operator),
];

const fn get(path: &'static str, permission: Permission) -> Access {
    Access {
        method: "GET",
        path,
        permission,
        query: &[],
    }
}

const fn delete(path: &'static str, permission: Permission) -> Access {
    Access {
        method: "DELETE",
        path,
        permission,
        query: &[],
    }
}

const fn post(path: &'static str, permission: Permission) -> Access {
    Access {
        method: "POST",
        path,
        permission,
        query: &[],
    }
}

/// What is taken for a path that is not in the table.
const UNLISTED: Access = get("", Permission::Operator);

/// What a request takes, by the route that it has met.
pub(crate) fn access_of(request: &HttpRequest) -> Access {
    let pattern = request.match_pattern().unwrap_or_default();
    let row = TABLE
        .iter()
        .find(|row| row.method == request.method().as_str() && row.path == pattern);
    row.copied().unwrap_or(UNLISTED)
}
