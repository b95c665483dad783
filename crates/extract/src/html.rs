//! Turns HTML into the lines and links that a person would see.

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
