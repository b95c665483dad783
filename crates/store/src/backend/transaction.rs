//! Transactions that are ended, or else discard their connection.

use std::ops::{Deref, DerefMut};

use super::{Backend, Connection, End};
use crate::fault::Fault;

/// A transaction that writes.
///
/// Its commands are sent as they are, and not through the driver's own counter of
/// nested transactions: after an error that ends a transaction in the database (a full
/// disk, for example) that counter is wrong, and every later transaction of the
/// connection fails. A transaction that is dropped unended discards its connection.
pub(crate) struct Transaction<B: Backend> {
    lent: B::Lent,
    is_ended: bool,
}

impl<B: Backend> Transaction<B> {
    pub(crate) async fn begin(backend: &B) -> Result<Self, Fault> {
        let lent = backend.lend_writer().await?;
        let mut transaction = Self {
            lent,
            is_ended: false,
        };
        B::begin(&mut transaction.lent).await?;
        Ok(transaction)
    }

    pub(crate) async fn commit(self) -> Result<(), Fault> {
        self.end(End::Commit).await
    }

    pub(crate) async fn rollback(self) -> Result<(), Fault> {
        self.end(End::Rollback).await
    }

    async fn end(mut self, how: End) -> Result<(), Fault> {
        B::end(&mut self.lent, how).await?;
        self.is_ended = true;
        Ok(())
    }
}

impl<B: Backend> Deref for Transaction<B> {
    type Target = Connection<B>;

    fn deref(&self) -> &Connection<B> {
        &self.lent
    }
}

impl<B: Backend> DerefMut for Transaction<B> {
    fn deref_mut(&mut self) -> &mut Connection<B> {
        &mut self.lent
    }
}

impl<B: Backend> Drop for Transaction<B> {
    fn drop(&mut self) {
        if !self.is_ended {
            B::discard(&mut self.lent);
        }
    }
}
