//! All configured senders and templates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pipeline::{Clock, SenderName, SenderOffer, TemplateOffer};

use crate::approval::Approval;
use crate::reach::Reach;
use crate::sender::{Sender, SenderFlaw};
use crate::settings::{SendSettings, SendSettingsError, SenderSettings};
use crate::template::{Template, TemplateFlaw, TemplateSettings};

/// The senders and the templates of the configuration, checked.
#[derive(Clone)]
pub struct Senders {
    by_name: BTreeMap<SenderName, Sender>,
    templates: BTreeMap<String, Template>,
    settings: SendSettings,
}

impl std::fmt::Debug for Senders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.by_name.keys()).finish()
    }
}

/// The configured senders cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SendersError {
    /// A sender.
    #[error("sender `{0}`: {1}")]
    Sender(String, SenderFlaw),
    /// A template.
    #[error("template `{0}`: {1}")]
    Template(String, TemplateFlaw),
    /// The name of a template.
    #[error("template `{0}`: a name is 1 to 40 of a-z, 0-9, `-` and `_`")]
    TemplateName(String),
    /// The settings that all share.
    #[error(transparent)]
    Settings(#[from] SendSettingsError),
}

impl Senders {
    /// Checks the configuration.
    pub fn build(
        senders: BTreeMap<String, SenderSettings>,
        templates: BTreeMap<String, TemplateSettings>,
        settings: SendSettings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, SendersError> {
        let settings = settings.checked()?;
        let mut checked = BTreeMap::new();
        for (name, template) in templates {
            if name.parse::<SenderName>().is_err() {
                let shown = name.escape_debug().to_string();
                return Err(SendersError::TemplateName(shown));
            }
            let template = Template::build(template)
                .map_err(|flaw| SendersError::Template(name.clone(), flaw))?;
            checked.insert(name, template);
        }
        let mut built = BTreeMap::new();
        for (name, sender) in senders {
            let flaw = |flaw| SendersError::Sender(name.escape_debug().to_string(), flaw);
            let sender = Sender::build(&name, sender, &settings, clock).map_err(flaw)?;
            check_templates(&sender, &checked).map_err(flaw)?;
            built.insert(sender.name.clone(), sender);
        }
        Ok(Self {
            by_name: built,
            templates: checked,
            settings,
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The names of all senders.
    pub fn names(&self) -> impl Iterator<Item = &SenderName> {
        self.by_name.keys()
    }

    /// Whether the provider of each sender can be reached, and where it is. Nothing is
    /// sent.
    pub async fn reach(&self) -> Vec<(SenderName, String, Reach)> {
        let reached = self.by_name.values().map(|sender| async {
            let transport = &sender.transport;
            let reach = transport.reach().await;
            (sender.name.clone(), transport.place(), reach)
        });
        futures_util::future::join_all(reached).await
    }

    /// The addresses of all senders, in lower case.
    pub fn addresses(&self) -> BTreeSet<String> {
        let addresses = self.iter().map(|sender| sender.from.address().to_string());
        addresses.collect()
    }

    /// All senders.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sender> {
        self.by_name.values()
    }

    /// The settings that all share.
    pub(crate) fn settings(&self) -> &SendSettings {
        &self.settings
    }

    /// The sender with this name.
    pub(crate) fn sender(&self, name: &SenderName) -> Option<&Sender> {
        self.by_name.get(name)
    }

    /// What agents may order.
    pub(crate) fn offers(&self) -> Vec<SenderOffer> {
        let of = |sender: &Sender| SenderOffer {
            name: sender.name.clone(),
            templates: self
                .templates
                .iter()
                .filter(|(name, _)| sender.uses(name))
                .map(|(name, template)| TemplateOffer {
                    name: name.clone(),
                    needs_approval: needs_approval(sender, template),
                    values: template.offered_values(),
                })
                .collect(),
        };
        self.iter().map(of).collect()
    }

    /// A template that a sender may use.
    pub(crate) fn template(&self, sender: &Sender, name: &str) -> Option<&Template> {
        let template = self.templates.get(name)?;
        sender.uses(name).then_some(template)
    }
}

/// Checks the templates that a sender may use.
fn check_templates(
    sender: &Sender,
    templates: &BTreeMap<String, Template>,
) -> Result<(), SenderFlaw> {
    let listed = sender.templates.iter().flatten();
    for name in listed {
        if !templates.contains_key(name) {
            return Err(SenderFlaw::UnknownTemplate(name.clone()));
        }
    }
    for (name, template) in templates.iter().filter(|(name, _)| sender.uses(name)) {
        let links = template.check_links(&sender.links);
        links.map_err(|flaw| SenderFlaw::Template(name.clone(), flaw))?;
    }
    Ok(())
}

/// Whether a mail needs an approval.
pub(crate) fn needs_approval(sender: &Sender, template: &Template) -> bool {
    sender.approval == Approval::Always || template.approval() == Approval::Always
}
