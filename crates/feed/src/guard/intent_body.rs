//! An intent in a request.

use pipeline::{Intent, IntentError, IntentLabel, Recipient};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What an action is for. The same intent is acted on once.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Intent)]
pub(crate) struct IntentBody {
    /// What the action is, such as `order.confirmation`.
    #[schema(required = true)]
    r#type: String,
    /// What it is about, such as `order_4821`.
    #[schema(required = true)]
    entity: String,
    /// Which edition of it; 1 if it is left out. Another version is another intent.
    version: Option<u32>,
}

impl IntentBody {
    /// The label of the intent.
    pub(crate) fn label(&self) -> IntentLabel {
        IntentLabel {
            kind: self.r#type.clone(),
            entity: self.entity.clone(),
            version: self.version.unwrap_or(1),
        }
    }

    /// The intent with this recipient.
    pub(crate) fn intent(&self, to: Option<Recipient>) -> Result<Intent, IntentError> {
        Intent::new(self.label(), to)
    }

    /// What it may contain, for the caller.
    pub(crate) const RULE: &'static str = "an object with `type` (1 to 64 characters of a-z, 0-9, `.`, `_`, `-`), `entity` (1 to 128 \
         letters, digits, `. _ : / + = ~ -`) and `version` (at least 1)";

    /// The same as JSON Schema.
    pub(crate) fn schema() -> Value {
        json!({})
    }
}
