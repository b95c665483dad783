//! Turns HTML into the lines and links that a person would see.

mod attribute;
mod color;
mod css;
mod declaration;
mod element;
mod entity;
mod implied;
mod length;
mod media;
mod page;
mod property;
mod selector;
mod sheet;
mod token;
mod walk;

pub(crate) use walk::read;
