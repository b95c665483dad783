//! HTML as a reader sees it: visible lines, links, and what is hidden.

mod attribute;
mod color;
mod declaration;
mod element;
mod entity;
mod implied;
mod page;
mod selector;
mod sheet;
mod token;
mod walk;

pub(crate) use walk::read;
