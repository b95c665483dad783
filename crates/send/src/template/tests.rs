use serde_json::{Value, json};

use super::*;

fn build(settings: Value) -> Result<Template, TemplateFlaw> {
    Template::build(serde_json::from_value(settings).unwrap())
}

fn hosts() -> Vec<String> {
    vec!["example.com".to_owned()]
}

fn fill(template: &Template, values: &Value) -> Result<Content, ValuesError> {
    let values = values.as_object().unwrap().iter();
    let text = |value: &Value| TemplateValue::Text(value.as_str().unwrap().to_owned());
    let values = values.map(|(name, value)| (name.clone(), text(value)));
    template.fill(&values.collect(), &hosts())
}

#[test]
fn values_are_filled_in_and_escaped_in_html() {
    let template = build(json!({
        "subject": "Order {{order}}",
        "text": "Note: {{note}}\n",
        "html": "<p title=\"{{order}}\">{{note}}</p>",
        "values": {"order": {"type": "id"}, "note": {"type": "text"}},
        "approval": "always",
    }))
    .unwrap();
    let content = fill(
        &template,
        &json!({"order": "A-1", "note": "<b>\"x\" & 'y'</b>\nz"}),
    );
    let expected = Content {
        subject: "Order A-1".to_owned(),
        text: "Note: <b>\"x\" & 'y'</b>\r\nz\r\n".to_owned(),
        html: Some(
            "<p title=\"A-1\">&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/b&gt;\nz</p>".to_owned(),
        ),
    };
    assert_eq!(content, Ok(expected));
}

#[test]
fn free_text_in_the_subject_stays_one_line() {
    let template = build(json!({
        "subject": "Re: {{note}}", "text": "x", "approval": "always",
        "values": {"note": {"type": "text"}},
    }))
    .unwrap();
    let content = fill(&template, &json!({"note": "a\r\nBcc: evil@x.test"})).unwrap();
    assert_eq!(content.subject, "Re: a  Bcc: evil@x.test");
}

#[test]
fn wrong_values_are_refused() {
    let template = build(json!({
        "subject": "s", "text": "{{order}}", "values": {"order": {"type": "id"}},
    }))
    .unwrap();
    for (values, error) in [
        (json!({}), ValuesError::Missing("order".to_owned())),
        (json!({"order": "a", "other": "b"}), ValuesError::Undeclared),
        (
            json!({"order": "a b"}),
            ValuesError::Unfit("order".to_owned(), "id"),
        ),
    ] {
        assert_eq!(fill(&template, &values), Err(error));
    }
}

#[test]
fn links_to_foreign_hosts_are_refused_when_written_and_when_filled() {
    let literal = build(json!({"subject": "s", "text": "https://evil.test/"})).unwrap();
    assert!(matches!(
        literal.check_links(&hosts()),
        Err(TemplateFlaw::ForeignLink(_))
    ));
    let free = build(json!({
        "subject": "s", "text": "{{note}}", "approval": "always",
        "values": {"note": {"type": "text"}},
    }))
    .unwrap();
    assert_eq!(free.check_links(&hosts()), Ok(()));
    let content = fill(&free, &json!({"note": "see https://evil.test/x"}));
    assert_eq!(content, Err(ValuesError::ForeignLink));
    // A value cannot complete the host of a literal link either.
    let joined = build(json!({
        "subject": "s", "text": "https://{{sub}}example.com/",
        "values": {"sub": {"type": "id"}},
    }))
    .unwrap();
    let content = fill(&joined, &json!({"sub": "evil"}));
    assert_eq!(content, Err(ValuesError::ForeignLink));
}

#[test]
fn templates_that_cannot_be_safe_are_refused() {
    let id = json!({"x": {"type": "id"}});
    for (settings, flaw) in [
        (
            json!({"subject": "a\nb", "text": "x"}),
            TemplateFlaw::Subject,
        ),
        (
            json!({"subject": "s", "text": "{{x"}),
            TemplateFlaw::Placeholder,
        ),
        (
            json!({"subject": "s", "text": "{{ x }}"}),
            TemplateFlaw::Placeholder,
        ),
        (
            json!({"subject": "s", "text": "{{x}}"}),
            TemplateFlaw::Undeclared("x".to_owned()),
        ),
        (
            json!({"subject": "s", "text": "t", "values": id}),
            TemplateFlaw::Unused("x".to_owned()),
        ),
        (
            json!({"subject": "s", "text": "{{x}}", "values": {"x": {"type": "text"}}}),
            TemplateFlaw::FreeText("x".to_owned()),
        ),
        (
            json!({"subject": "s", "text": "t", "html": "<script>1</script>"}),
            TemplateFlaw::Script,
        ),
    ] {
        assert_eq!(build(settings.clone()).err(), Some(flaw), "{settings}");
    }
    for html in [
        "<p {{x}}>",
        "<p title={{x}}>",
        "<style>{{x}}</style>",
        "<!-- {{x}} -->",
        "<{{x}}>",
    ] {
        let settings = json!({"subject": "s", "text": "t", "html": html, "values": id});
        let flaw = build(settings).err();
        assert_eq!(flaw, Some(TemplateFlaw::Position("x".to_owned())), "{html}");
    }
    for html in [
        "<p>{{x}}</p>",
        "<p title='{{x}}'>",
        "<!-- c --><b>{{x}}</b>",
    ] {
        let settings = json!({"subject": "s", "text": "t", "html": html, "values": id});
        assert!(build(settings).is_ok(), "{html}");
    }
}
