//! What an agent asks for when it sends a mail.

use std::collections::BTreeMap;

use pipeline::{Intent, Recipient, Request, SendOrder, TemplateValue};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::auth::Caller;
use crate::guard::IntentBody;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::problem::Problem;
use crate::policy::Policy;
use crate::settings::Settings;

/// The request body. There is no field for free text: a template of the operator says
/// what the mail looks like.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = SendWish)]
pub(crate) struct SendRequestBody {
    /// The configured sender.
    #[schema(required = true)]
    sender: String,
    /// What the mail is for. The same intent is sent once.
    #[schema(value_type = IntentBody, required = true)]
    intent: Option<IntentBody>,
    /// The recipient; a part of the intent. The operator says who is allowed.
    #[schema(required = true)]
    to: String,
    /// The configured template.
    #[schema(required = true)]
    template: String,
    /// The values of the template.
    #[schema(value_type = BTreeMap<String, ValueBody>)]
    values: BTreeMap<String, ValueBody>,
    /// For how many seconds to wait until the mail is sent. If all waits of the key are in
    /// use, the answer comes at once.
    pub(super) wait: u64,
}

/// A text or a whole number.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[schema(as = TemplateValue)]
pub(crate) enum ValueBody {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
}

/// The longest value of a template.
const MAX_VALUE: usize = 4096;
/// The most values of a template.
pub(super) const MAX_VALUES: usize = 64;

impl RequestBody for SendRequestBody {
    fn fields(settings: &Settings, _: &Policy) -> Vec<Field> {
        let name = json!({ "minLength": 1, "maxLength": 40 });
        let values = "at most 64 values of the template, texts or whole numbers";
        let max_wait = settings.wait_limit.as_secs();
        vec![
            Field::new("sender", "the name of a configured sender", name.clone()),
            Field::new("intent", IntentBody::RULE, IntentBody::schema()),
            Field::address("to", "a mail address such as user@example.com"),
            Field::new("template", "a template of the sender", name),
            Field::new("values", values, json!({ "maxProperties": MAX_VALUES })),
            Field::number("wait", 0..=max_wait, "seconds"),
        ]
    }
}

impl SendRequestBody {
    /// Checks the form of the body. Whether sender, template, recipient and values are
    /// known and allowed is decided where the mail is rendered.
    pub(super) fn into_order(
        self,
        fields: &Fields,
        caller: &Caller,
        asked: Option<Request>,
    ) -> Result<SendOrder, Problem> {
        fields.check("wait", self.wait)?;
        let sender = self
            .sender
            .parse()
            .map_err(|_invalid| fields.invalid("sender"))?;
        let to: Recipient = self.to.parse().map_err(|_invalid| fields.invalid("to"))?;
        let intent = self.intent.unwrap_or_default();
        let label = intent.label();
        Intent::new(label.clone(), Some(to.clone()))
            .map_err(|_invalid| fields.invalid("intent"))?;
        if !is_template(&self.template) {
            return Err(fields.invalid("template"));
        }
        let values = template_values(self.values);
        Ok(SendOrder {
            sender,
            label,
            to,
            template: self.template,
            values: values.ok_or_else(|| fields.invalid("values"))?,
            by: caller.consumer.clone(),
            asked,
        })
    }
}

/// Whether a text can be the name of a template.
pub(super) fn is_template(name: &str) -> bool {
    (1..=40).contains(&name.len())
}

/// The values for a template; `None` if there are too many, or one is too long.
pub(super) fn template_values(
    values: BTreeMap<String, ValueBody>,
) -> Option<BTreeMap<String, TemplateValue>> {
    let fits = |value: &ValueBody| match value {
        ValueBody::Text(text) => text.len() <= MAX_VALUE && !text.contains('\0'),
        ValueBody::Number(_) => true,
    };
    if values.len() > MAX_VALUES || !values.values().all(fits) {
        return None;
    }
    let values = values.into_iter().map(|(name, value)| {
        let value = match value {
            ValueBody::Text(text) => TemplateValue::Text(text),
            ValueBody::Number(number) => TemplateValue::Number(number),
        };
        (name, value)
    });
    Some(values.collect())
}
