//! Sentences whose terms are easy to get wrong.

use crate::{code, extract_any, text_mail};

#[test]
fn words_that_contain_a_label_are_no_label() {
    for text in [
        "some unicode is 123456",
        "your vscode is: 12312312",
        "some decode is 123456",
        "your footpath is 123456",
        "a barcode 123456",
    ] {
        assert_eq!(code(&extract_any(&text_mail(text))), None, "{text}");
    }
}

#[test]
fn labels_without_accents_are_found() {
    for text in [
        "Ma xac thuc cua ban la 482913",
        "Dogrulama kodunuz 482913",
        "Su codigo de verificacion es 482913",
        "Vas overovaci kod je 482913",
    ] {
        assert_eq!(
            code(&extract_any(&text_mail(text))),
            Some("482913"),
            "{text}"
        );
    }
}
