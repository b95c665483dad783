//! How many connections a process has.

use sqlx::Database;

/// The connections of one process to its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionCount {
    /// Connections that do nothing now.
    pub idle: u32,
    /// Connections that are in use.
    pub used: u32,
    /// The most connections that are opened.
    pub most: u32,
}

impl ConnectionCount {
    /// The connections of a driver's pool.
    pub(crate) fn of<D: Database>(pool: &sqlx::Pool<D>) -> Self {
        let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
        Self {
            idle,
            used: pool.size().saturating_sub(idle),
            most: pool.options().get_max_connections(),
        }
    }
}
