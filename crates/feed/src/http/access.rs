//! Which permission each path needs. The table is complete: a path that is missing
//! from it needs the permission `operator`, so a forgotten route exposes nothing.

use actix_web::{HttpRequest, web};
use pipeline::Permission;

use crate::state::BudgetKind;

/// One operation, and what it takes to use it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) permission: Permission,
    /// Another permission that is enough.
    pub(crate) or: Option<Permission>,
    /// The query parameters that it reads. Any other is refused.
    pub(crate) query: &'static [&'static str],
}

impl Access {
    const fn or(self, other: Permission) -> Self {
        Self {
            or: Some(other),
            ..self
        }
    }

    /// Whether a key with these permissions may use it.
    pub(crate) fn is_open_to(&self, permissions: &[Permission]) -> bool {
        permissions.contains(&self.permission)
            || self.or.is_some_and(|other| permissions.contains(&other))
    }

    const fn with_query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    /// Whether a query has only known parameters, each at most once. An ignored
    /// typo in `wait` would cost its author hours.
    pub(crate) fn accepts_query(&self, query: &str) -> bool {
        type Pairs = Vec<(String, String)>;
        let Ok(pairs) = web::Query::<Pairs>::from_query(query) else {
            return false;
        };
        let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let is_repeated = names.iter().zip(names.iter().skip(1)).any(|(a, b)| a == b);
        !is_repeated && names.iter().all(|name| self.query.contains(name))
    }

    /// The budget that the operation is charged to.
    pub(crate) fn budget(&self) -> BudgetKind {
        match (self.permission, self.method) {
            (Permission::Consume, _) => BudgetKind::Consumes,
            (_, "GET") => BudgetKind::Reads,
            _ => BudgetKind::Attempts,
        }
    }
}

/// All operations.
pub(crate) const TABLE: &[Access] = &[
    get("/v1/inboxes", Permission::Feed).with_query(&["after", "limit"]),
    post("/v1/inboxes", Permission::Attempt),
    get("/v1/inboxes/{inbox}", Permission::Feed),
    delete("/v1/inboxes/{inbox}", Permission::Attempt),
    post("/v1/inboxes/{inbox}/rotate", Permission::Attempt),
    get("/v1/inboxes/{inbox}/rules", Permission::Feed),
    post("/v1/inboxes/{inbox}/rules", Permission::Attempt),
    get("/v1/inboxes/{inbox}/artifacts", Permission::Feed)
        .with_query(&["after", "limit", "wait", "from", "sender"]),
    get("/v1/events", Permission::Feed).with_query(&["inbox", "after", "from", "sender"]),
    post("/v1/artifacts/{artifact}/consume", Permission::Consume),
    post("/v1/attempts", Permission::Attempt),
    get("/v1/attempts/{attempt}", Permission::Attempt).with_query(&["wait"]),
    post("/v1/attempts/{attempt}/consume", Permission::Consume).with_query(&["wait"]),
    post("/v1/attempts/{attempt}/resend", Permission::Attempt),
    post("/v1/attempts/{attempt}/finish", Permission::Attempt),
    post("/v1/guards", Permission::Guard),
    get("/v1/guards/{guard}", Permission::Guard),
    post("/v1/guards/{guard}/confirm", Permission::Guard),
    post("/v1/guards/{guard}/release", Permission::Guard),
    post("/v1/guards/{guard}/extend", Permission::Guard),
    get("/v1/senders", Permission::Send).or(Permission::Reply),
    get("/v1/sends", Permission::Operator).with_query(&["state", "before", "limit"]),
    post("/v1/sends", Permission::Send),
    post("/v1/sends/batch", Permission::Send),
    get("/v1/sends/{send}", Permission::Send)
        .or(Permission::Reply)
        .with_query(&["wait"]),
    post("/v1/sends/{send}/cancel", Permission::Send),
    post("/v1/sends/{send}/approve", Permission::Operator),
    post("/v1/sends/{send}/refuse", Permission::Operator),
    post("/v1/sends/{send}/settle", Permission::Operator),
    get("/v1/messages/{message}", Permission::Feed),
    post("/v1/messages/{message}/replies", Permission::Reply),
    get("/v1/threads", Permission::Operator).with_query(&["limit"]),
    get("/v1/threads/{thread}", Permission::Reply),
    post("/v1/threads/{thread}/release", Permission::Operator),
    get("/v1/audit", Permission::Operator).with_query(&["before", "limit"]),
    get("/v1/keys", Permission::Operator),
    post("/v1/keys", Permission::Operator),
    delete("/v1/keys/{name}", Permission::Operator),
];

const fn get(path: &'static str, permission: Permission) -> Access {
    Access {
        method: "GET",
        path,
        permission,
        or: None,
        query: &[],
    }
}

const fn delete(path: &'static str, permission: Permission) -> Access {
    Access {
        method: "DELETE",
        path,
        permission,
        or: None,
        query: &[],
    }
}

const fn post(path: &'static str, permission: Permission) -> Access {
    Access {
        method: "POST",
        path,
        permission,
        or: None,
        query: &[],
    }
}

/// The access to a path that is missing from the table.
const UNLISTED: Access = get("", Permission::Operator);

/// The access that a request needs, by the route that it matched.
pub(crate) fn access_of(request: &HttpRequest) -> Access {
    let pattern = request.match_pattern().unwrap_or_default();
    let row = TABLE
        .iter()
        .find(|row| row.method == request.method().as_str() && row.path == pattern);
    row.copied().unwrap_or(UNLISTED)
}
