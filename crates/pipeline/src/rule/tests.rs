//! Each condition and each action.

use super::*;

fn rule(condition: fn(&mut RuleSettings), action: &str) -> InboundRule {
    let mut settings = RuleSettings {
        name: "r".to_owned(),
        action: action.to_owned(),
        ..RuleSettings::default()
    };
    match action {
        "route" => settings.to = Some("other@inbox.test".to_owned()),
        "label" => settings.label = Some("news".to_owned()),
        _ => {}
    }
    condition(&mut settings);
    settings.try_into().unwrap()
}

fn inboxes() -> Vec<InboxId> {
    vec!["agent@inbox.test".parse().unwrap()]
}

fn mail(recipients: &[InboxId]) -> MailTraits<'_> {
    MailTraits {
        sender: Some("a@mail.example.com"),
        domain: Some("mail.example.com"),
        is_proven: true,
        recipients,
        is_automated: false,
        is_list: false,
        is_own_echo: false,
    }
}

#[test]
fn each_condition_holds_only_for_its_mail() {
    let inboxes = inboxes();
    let mail = mail(&inboxes);
    for (condition, holds) in [
        (
            (|it| it.sender = Some("A@Mail.Example.com".to_owned())) as fn(&mut RuleSettings),
            true,
        ),
        (
            |it| it.sender = Some("b@mail.example.com".to_owned()),
            false,
        ),
        (|it| it.domain = Some("Example.com".to_owned()), true),
        (|it| it.domain = Some("ample.com".to_owned()), false),
        (|it| it.proven = Some(true), true),
        (|it| it.proven = Some(false), false),
        (
            |it| it.recipient = Some("Agent@inbox.test".to_owned()),
            true,
        ),
        (|it| it.recipient = Some("b@inbox.test".to_owned()), false),
        (|it| it.automated = Some(true), false),
        (|it| it.list = Some(false), true),
        (|it| it.own_echo = Some(true), false),
    ] {
        let rule = rule(condition, "drop");
        assert_eq!(rule.applies_to(&mail), holds, "{rule:?}");
    }
}

#[test]
fn conditions_of_one_rule_must_all_hold() {
    let both = rule(
        |it| {
            it.domain = Some("example.com".to_owned());
            it.proven = Some(false);
        },
        "drop",
    );
    let effects = RuleEffects::of(&mail(&inboxes()), &[both], &[]);
    assert_eq!(effects, RuleEffects::default());
}

#[test]
fn each_rule_action_has_its_effect_and_is_listed_in_applied() {
    for (action, disposition, labels, no_reply) in [
        ("drop", Disposition::Drop, 0, None),
        (
            "route",
            Disposition::Route("other@inbox.test".parse().unwrap()),
            0,
            None,
        ),
        ("label", Disposition::Keep, 1, None),
        ("no_reply", Disposition::Keep, 0, Some(ReplyRefusal::Rule)),
    ] {
        let rules = [rule(|it| it.proven = Some(true), action)];
        let effects = RuleEffects::of(&mail(&inboxes()), &rules, &[]);
        assert_eq!(effects.disposition, disposition);
        assert_eq!(effects.labels.len(), labels);
        assert_eq!(effects.no_reply, no_reply);
        assert_eq!(effects.applied, [format!("config.r:{action}")]);
    }
}

#[test]
fn first_drop_or_route_ends_the_rules() {
    let label = || rule(|it| it.proven = Some(true), "label");
    let route = rule(|it| it.proven = Some(true), "route");
    let drop = rule(|it| it.proven = Some(true), "drop");
    let effects = RuleEffects::of(&mail(&inboxes()), &[label(), route], &[drop, label()]);
    assert!(matches!(effects.disposition, Disposition::Route(_)));
    assert_eq!(effects.applied, ["config.r:label", "config.r:route"]);
}

#[test]
fn built_in_rules_apply_without_any_other() {
    let inboxes = inboxes();
    let of = |mail: MailTraits<'_>| RuleEffects::of(&mail, &[], &[]);
    let automated = of(MailTraits {
        is_automated: true,
        ..mail(&inboxes)
    });
    assert_eq!(automated.no_reply, Some(ReplyRefusal::Automated));
    assert_eq!(automated.disposition, Disposition::Keep);
    let list = of(MailTraits {
        is_list: true,
        ..mail(&inboxes)
    });
    assert_eq!(list.no_reply, Some(ReplyRefusal::List));
}

#[test]
fn own_echo_is_dropped_whatever_other_rules_say() {
    let inboxes = inboxes();
    let echo = MailTraits {
        is_own_echo: true,
        is_automated: true,
        ..mail(&inboxes)
    };
    let route = rule(|it| it.own_echo = Some(true), "route");
    let label = rule(|it| it.own_echo = Some(true), "label");
    let effects = RuleEffects::of(&echo, &[route, label], &[]);
    assert_eq!(effects.disposition, Disposition::Drop);
    assert_eq!(effects.no_reply, Some(ReplyRefusal::OwnEcho));
    assert_eq!(effects.labels, ["news"]);
    assert_eq!(effects.applied[0], "built_in.own_echo:drop");
}

#[test]
fn unusable_rules_are_refused_with_the_reason() {
    type Change = fn(&mut RuleSettings);
    let changes: [(Change, RuleError); 9] = [
        (|it| it.name = "A b".to_owned(), RuleError::Name),
        (|it| it.proven = None, RuleError::NoCondition),
        (
            |it| it.sender = Some("nobody".to_owned()),
            RuleError::Sender,
        ),
        (|it| it.domain = Some("a b".to_owned()), RuleError::Domain),
        (
            |it| it.recipient = Some("x".to_owned()),
            RuleError::Recipient,
        ),
        (|it| it.action = "delete".to_owned(), RuleError::Action),
        (|it| it.action = "route".to_owned(), RuleError::To),
        (|it| it.to = Some("a@inbox.test".to_owned()), RuleError::To),
        (|it| it.label = Some("news".to_owned()), RuleError::Label),
    ];
    for (change, error) in changes {
        let mut settings = RuleSettings {
            name: "r".to_owned(),
            proven: Some(true),
            action: "drop".to_owned(),
            ..RuleSettings::default()
        };
        change(&mut settings);
        assert_eq!(InboundRule::try_from(settings), Err(error));
    }
}

#[test]
fn written_rule_is_read_as_the_same_rule() {
    for action in ["drop", "route", "label", "no_reply"] {
        let rule = rule(|it| it.domain = Some("example.com".to_owned()), action);
        let again = InboundRule::try_from(RuleSettings::from(rule.clone()));
        assert_eq!(again, Ok(rule));
    }
}
