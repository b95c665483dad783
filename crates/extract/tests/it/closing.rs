//! Links that end something are never returned, whatever their label is.

use extract::Extraction;

use crate::{extract_allowed, html_mail};

fn link_of(above: &str, label: &str) -> Option<String> {
    let href = "https://app.example.com/confirm?token=8f7a8b7c8d7e8f9a1b2c";
    let body = format!("<p>{above}</p><p><a href=\"{href}\">{label}</a></p>");
    match extract_allowed(&html_mail(&body)).link {
        Extraction::Found(link) => Some(link.url),
        Extraction::Nothing(_) | Extraction::Withheld(_) => None,
    }
}

#[test]
fn link_that_confirms_the_end_of_an_account_is_not_returned() {
    for (above, label) in [
        ("You asked us to close your account.", "Confirm"),
        (
            "We received a request to permanently delete your account. To make sure it is \
             really you, please verify your email address.",
            "Verify email address",
        ),
        ("You asked to turn off two-step verification.", "Confirm"),
        ("Sie möchten Ihr Konto auflösen.", "Bestätigen"),
        ("Has pedido dar de baja tu cuenta.", "Confirmar"),
        ("Вы запросили закрытие аккаунта.", "Подтвердить"),
        ("طلبت إغلاق حسابك.", "تأكيد"),
    ] {
        assert_eq!(link_of(above, label), None, "{above}");
    }
}

#[test]
fn link_that_stops_a_sign_in_is_not_returned() {
    for (above, label) in [
        ("Somebody signs in to your account.", "Stop this sign-in"),
        ("Někdo se přihlásil.", "Nebyl jsem to já"),
        ("새 로그인이 있었습니다.", "제가 아닙니다"),
    ] {
        assert_eq!(link_of(above, label), None, "{above}");
    }
}

#[test]
fn link_that_confirms_an_address_is_returned() {
    let above = "Thanks for signing up. Please confirm your email address.";
    assert!(link_of(above, "Confirm").is_some());
    let above = "If you do not confirm it, we will remove your address after a week.";
    assert!(link_of(above, "Verify email address").is_some());
}
