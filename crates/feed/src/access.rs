//! Which key may use which path. The table is closed: a path that is not in it
//! is the operator's, so a route that somebody forgets here gives nothing away.

use actix_web::HttpRequest;
use actix_web::http::Method;
use pipeline::Permission;

/// One way to ask something, and what it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) permission: Permission,
}

/// All of them.
pub(crate) const TABLE: &[Access] = &[
    get("/v1/inboxes", Permission::Feed),
    post("/v1/inboxes", Permission::Attempt),
    get("/v1/inboxes/{inbox}", Permission::Feed),
    delete("/v1/inboxes/{inbox}", Permission::Attempt),
    post("/v1/inboxes/{inbox}/rotate", Permission::Attempt),
    get("/v1/inboxes/{inbox}/artifacts", Permission::Feed),
    post("/v1/artifacts/{artifact}/consume", Permission::Consume),
    post("/v1/attempts", Permission::Attempt),
    get("/v1/attempts/{attempt}", Permission::Attempt),
    post("/v1/attempts/{attempt}/consume", Permission::Consume),
    post("/v1/attempts/{attempt}/resend", Permission::Attempt),
    post("/v1/attempts/{attempt}/finish", Permission::Attempt),
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

/// What a request takes, by the route that it has met.
pub(crate) fn permission_for(request: &HttpRequest) -> Permission {
    let pattern = request.match_pattern();
    let row = find(request.method(), pattern.as_deref().unwrap_or_default());
    row.map_or(Permission::Operator, |row| row.permission)
}

fn find(method: &Method, pattern: &str) -> Option<&'static Access> {
    TABLE
        .iter()
        .find(|row| row.method == method.as_str() && row.path == pattern)
}
