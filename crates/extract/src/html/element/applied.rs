//! What the declarations of an element say together.

use crate::html::property::{Doubt, Means};

/// Properties that hide an element only in combination.
pub(super) struct Applied {
    pub(super) means: Vec<Means>,
    pub(super) doubts: Vec<Doubt>,
    pub(super) opacity: f32,
    pub(super) clips: bool,
    pub(super) out_of_flow: bool,
}

impl Default for Applied {
    fn default() -> Self {
        Self {
            means: Vec::new(),
            doubts: Vec::new(),
            opacity: 1.0,
            clips: false,
            out_of_flow: false,
        }
    }
}

impl Applied {
    pub(super) fn doubt(&mut self, doubt: Doubt, is: bool) {
        self.doubts.retain(|other| *other != doubt);
        if is {
            self.doubts.push(doubt);
        }
    }

    pub(super) fn set(&mut self, means: Means, is: bool) {
        self.means.retain(|other| *other != means);
        if is {
            self.means.push(means);
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.means.iter().any(|means| match means {
            Means::Height | Means::Width | Means::SmallMaxHeight | Means::LineHeight => self.clips,
            Means::Offset | Means::Clip => self.out_of_flow,
            Means::MaxHeight | Means::Indent | Means::Margin | Means::Scale => true,
        })
    }
}
