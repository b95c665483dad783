//! Which key may use which path. The table is closed: a path that is not in it
//! is the operator's, so a route that somebody forgets here gives nothing away.

use actix_web::HttpRequest;
use pipeline::Permission;

use crate::limits::Purse;

/// One way to ask something, and what it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) permission: Permission,
}

impl Access {
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
    get("/v1/inboxes", Permission::Feed),
    post("/v1/inboxes", Permission::Attempt),
    get("/v1/inboxes/{inbox}", Permission::Feed),
    delete("/v1/inboxes/{inbox}", Permission::Attempt),
    post("/v1/inboxes/{inbox}/rotate", Permission::Attempt),
    get("/v1/inboxes/{inbox}/artifacts", Permission::Feed),
    get("/v1/events", Permission::Feed),
    post("/v1/artifacts/{artifact}/consume", Permission::Consume),
    post("/v1/attempts", Permission::Attempt),
    get("/v1/attempts/{attempt}", Permission::Attempt),
    post("/v1/attempts/{attempt}/consume", Permission::Consume),
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
    }
}

const fn delete(path: &'static str, permission: Permission) -> Access {
    Access {
        method: "DELETE",
        path,
        permission,
    }
}

const fn post(path: &'static str, permission: Permission) -> Access {
    Access {
        method: "POST",
        path,
        permission,
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
