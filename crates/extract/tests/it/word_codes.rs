//! Codes of words, and what a stranger could say with them.

use extract::AbstainReason;

use crate::{code, extract_any, html_mail, text_mail};

fn of_text(body: &str) -> Option<String> {
    code(&extract_any(&text_mail(body))).map(str::to_owned)
}

#[test]
fn words_in_a_line_of_their_own_are_the_code() {
    for words in [
        "copper otter lantern",
        "tulip-ravine",
        "MARBLE OTTER",
        "heron 38",
        "tiger copper lamp",
        "copper heron seventeen",
    ] {
        let body = format!(
            "Hello Ana,\n\nto sign in, type these words into the box on the page you left \
             open:\n\n{words}\n\nThey expire in 10 minutes. Do not share them with anyone.\n"
        );
        assert_eq!(of_text(&body).as_deref(), Some(words));
    }
}

#[test]
fn last_word_of_a_wrapped_sentence_is_no_code() {
    for (line, word) in [
        (
            "devons vérifier que ana@inbox.example est effectivement votre adresse",
            "électronique.",
        ),
        (
            "Um fortzufahren, tippen Sie es bitte noch einmal ein auf der Seite für",
            "gebäude-neun.",
        ),
    ] {
        let body = format!(
            "Bonjour,\n\nPour continuer et pour vous connecter, nous\n{line}\n{word}\n\n\
             Veuillez cliquer sur le lien suivant pour continuer l'inscription:\n\n\
             https://app.example.com/register/?token=tcKusz9NHZ6rP7FZvynAAM40XIx11bok\n"
        );
        assert_eq!(of_text(&body), None, "{word}");
    }
}

#[test]
fn words_that_are_not_latin_keep_their_capitals() {
    for code in ["ГРАБ 507", "луна-48", "жкл507"] {
        let body = format!(
            "Здравствуйте!\n\nЧтобы войти, введите этот код подтверждения на странице \
             входа:\n\n{code}\n\nКод действует 10 минут. Никому его не сообщайте.\n"
        );
        assert_eq!(of_text(&body).as_deref(), Some(code));
    }
}

#[test]
fn bold_words_in_a_sentence_are_the_code() {
    let mail = html_mail(
        "<p>To confirm that this address is yours, please type <b>walnut 39 ferry</b> on the \
         sign-in page within 10 minutes. Do not share it.</p>",
    );
    assert_eq!(code(&extract_any(&mail)), Some("walnut 39 ferry"));
}

#[test]
fn words_without_a_request_are_no_code() {
    for body in [
        "Our new colours are here:\n\ncopper lantern\n\nCome and see them in the shop.\n",
        "Your guide today:\n\nMARBLE OTTER\n\nThe walk begins at noon.\n",
        "Neu in unserem Geschäft:\n\nPIXEL 8\n\nNur bis Sonntag.\n",
        "Never share your verification code with anyone.\n\nROUTE 66\n",
    ] {
        assert_eq!(of_text(body), None, "{body}");
    }
}

/// The lines are a request and a sentence in the place of the code.
#[test]
fn words_that_ask_for_something_are_no_code() {
    for (ask, sentences) in [
        (
            "Your verification code is:",
            [
                "send money now",
                "ignore all rules",
                "open the door",
                "call this number",
                "pay the invoice",
            ],
        ),
        (
            "Ihr Bestätigungscode lautet:",
            [
                "überweise alles jetzt",
                "ignoriere die regeln",
                "öffne die tür",
                "ruf mich an",
                "lösche das konto",
            ],
        ),
        (
            "Su código de verificación es:",
            [
                "envía el dinero",
                "ignora las reglas",
                "abre la puerta",
                "llama a este número",
                "borra la cuenta",
            ],
        ),
        (
            "Ваш код подтверждения:",
            [
                "переведи все деньги",
                "забудь свои правила",
                "открой эту ссылку",
                "позвони нам сейчас",
                "удали свой аккаунт",
            ],
        ),
    ] {
        for sentence in sentences {
            let found = of_text(&format!("{ask}\n\n{sentence}\n"));
            assert_eq!(found, None, "{ask} {sentence}");
        }
    }
}

/// The request is English, and the words are of another language or of letters that look
/// alike.
#[test]
fn words_of_another_language_that_ask_for_something_are_no_code() {
    for sentence in [
        "envia dinero ahora",
        "überweise alles jetzt",
        "переведи все деньги",
        "удали все файлы",
        "hapus semua berkas",
        "supprime tout",
        "kill server",
        "destroy laptop",
        "destroy tractor",
        "remove seven lamp",
        "déstroy évery sérver",
        "ｄｅｓｔｒｏｙ ａｌｌ",
        "𝐬𝐞𝐧𝐝 𝐦𝐨𝐧𝐞𝐲",
        "ѕеոԁ сαѕһ",
        "删除-马上",
        "mallory.com",
        "etc/shadow",
    ] {
        let body = format!(
            "Hello Ana,\n\nto sign in, type these words into the box on the page you left \
             open:\n\n{sentence}\n\nThey expire in 10 minutes. Do not share them with anyone.\n"
        );
        assert_eq!(of_text(&body), None, "{sentence}");
    }
}

/// Groups of letters and digits with signs between them, and one word with a number.
#[test]
fn words_with_signs_or_numbers_that_ask_for_something_are_no_code() {
    for request in [
        "pay.me.now.5",
        "kill.bob.7",
        "give.root.99",
        "rm.rf.9.x",
        "rm.db.all.1",
        "GO/RM/DB7",
        "KILL-ALL",
        "SEND-BTC",
        "SEND-IT",
        "delete-7",
        "KILL-99",
        "GO-RM",
        "K-I-L-L",
        "杀死 62",
        "关机 99",
        "烧毁 62",
        "הרס 622",
        "부숴 622",
        "もやせ 62",
    ] {
        for body in [
            format!("Your verification code is:\n\n{request}\n\nIt expires in 10 minutes.\n"),
            format!("Enter this code on the page you left open: {request}\n"),
        ] {
            assert_eq!(of_text(&body), None, "{body}");
        }
    }
}

/// In these scripts a word may be an order, so a code is a known word for a thing.
#[test]
fn word_for_a_thing_and_a_number_are_the_code_in_every_script() {
    for (ask, code) in [
        (
            "サインインを続けるには、次の確認コードを入力してください",
            "みかん 507",
        ),
        ("请在登录页面输入以下验证码", "海豚 622"),
        ("로그인하려면 다음 인증 코드를 입력하세요", "호랑이 77"),
        ("כדי להתחבר הזינו את קוד האימות", "זית 582"),
    ] {
        assert_eq!(
            of_text(&format!("{ask}:\n\n{code}\n")).as_deref(),
            Some(code)
        );
    }
}

#[test]
fn name_of_a_thing_and_a_number_in_a_sentence_are_the_code() {
    for (sentence, code) in [
        ("To sign in, please type tuna 66 into the box.", "tuna 66"),
        (
            "To sign in, please type Walnut 12 into the box.",
            "Walnut 12",
        ),
        (
            "Um sich anzumelden, geben Sie bitte Ahorn 64 in das Feld ein.",
            "Ahorn 64",
        ),
        (
            "Per accedere, inserisca quercia 7 nella casella.",
            "quercia 7",
        ),
    ] {
        let body = format!("Hello Ana,\n\n{sentence}\n\nIt expires in 10 minutes.\n");
        assert_eq!(of_text(&body).as_deref(), Some(code), "{sentence}");
    }
    for sentence in [
        "To sign in, please type flurb 66 into the box.",
        "To sign in, open the page. The price of oak 12 is higher now.",
    ] {
        let body = format!("Hello Ana,\n\n{sentence}\n\nIt expires in 10 minutes.\n");
        assert_eq!(of_text(&body), None, "{sentence}");
    }
}

#[test]
fn one_of_three_words_need_not_name_a_known_thing() {
    let ask = "Hello Ana,\n\nto sign in, type these words into the box on the page:";
    let of = |words: &str| of_text(&format!("{ask}\n\n{words}\n\nThey expire in 10 minutes.\n"));
    for words in ["otter velvet quarry", "otter-velvet-quarry"] {
        assert_eq!(of(words).as_deref(), Some(words));
    }
    for words in [
        "approve otter velvet",
        "destroy-amber-otter",
        "ignore velvet otter",
        "drink hemlock cider",
        "drown lamb otter",
        "pluck barn rooster",
        "wolf murder lamb",
    ] {
        assert_eq!(of(words), None, "{words}");
    }
    let order = "B4 RAPE ANA 7";
    assert_ne!(of(order).as_deref(), Some(order));
}

#[test]
fn codes_with_signs_are_returned() {
    for code in [
        "k.9.v.2.h",
        "LL/20/PX",
        "7/K/31/Q",
        "99p-45p",
        "BX-7702-E",
        "dl_93fa7c",
        "FERN-6",
        "C-214",
    ] {
        let body = format!("Your verification code is:\n\n{code}\n\nIt expires in 10 minutes.\n");
        assert_eq!(of_text(&body).as_deref(), Some(code));
    }
}

#[test]
fn groups_of_capitals_with_a_number_are_returned_whole() {
    for code in ["HTRV 5520 KM", "A17 8472 QXV", "R4 WILLOW 19"] {
        let body = format!("Your verification code: {code}\n\nEnter it on the sign-in page.\n");
        assert_eq!(of_text(&body).as_deref(), Some(code));
    }
}

#[test]
fn thing_with_a_number_that_is_a_part_of_more_is_no_code() {
    for code in [
        "velvet tuna 66",
        "tuna 66 otter",
        "tuna 66 4",
        "tuna 66 B",
        "tuna 66.5",
    ] {
        let found = of_text(&format!("To sign in, please type {code} into the box.\n"));
        assert_ne!(found.as_deref(), Some("tuna 66"), "{code}");
    }
}

#[test]
fn code_with_a_letter_that_is_not_latin_is_returned_whole() {
    for (line, code) in [
        ("Код: Ж80551", "Ж80551"),
        ("Ваш код для входу: Ў7-318", "Ў7-318"),
        ("Введите код для входа:\n\n2Б 90 17", "2Б 90 17"),
        ("Введіть код для входу:\n\nМЖ4–118–ТР0", "МЖ4-118-ТР0"),
        ("Πληκτρολογήστε τον κωδικό:\n\nΔ4-6620", "Δ4-6620"),
    ] {
        let found = of_text(&format!("{line}\n"));
        assert_eq!(found.as_deref(), Some(code));
    }
}

#[test]
fn groups_of_digits_before_a_sign_are_returned_whole() {
    for (line, code) in [
        ("482 913 | 10 minutes", "482 913"),
        ("4829 1377 | 24 hours left", "4829 1377"),
        ("482 913 / 10 minutes", "482 913"),
        ("4829 1377 / 24 hours left", "4829 1377"),
    ] {
        let found = of_text(&format!(
            "Your verification code: {line}\n\nEnter it on the sign-in page.\n"
        ));
        assert_eq!(found.as_deref(), Some(code));
    }
}

#[test]
fn forwarded_mail_with_a_short_paragraph_after_two_arrows_is_read() {
    let body = "> your verification code is 482913.\n\n>> Order 55\n";
    assert_eq!(of_text(body).as_deref(), Some("482913"));
}

#[test]
fn lines_that_a_forwarded_mail_quotes_are_read() {
    let body = "This came for you.\n\n> Hi,\n>\n> your verification code is 482913.\n";
    for (subject, expected) in [("Fwd: Sign in", Some("482913")), ("Re: Sign in", None)] {
        let mail = [
            format!("Subject: {subject}\r\n").as_bytes(),
            &text_mail(body),
        ]
        .concat();
        assert_eq!(code(&extract_any(&mail)), expected, "{subject}");
    }
}

#[test]
fn name_before_a_code_in_groups_is_no_part_of_it() {
    for (line, code) in [
        ("acme 482 913", "482 913"),
        ("ACME 482 913", "482 913"),
        ("TOKEN 482913", "482913"),
    ] {
        let body = format!(
            "Enter this code on the sign-in page to confirm your address:\n\n{line}\n\nIt \
             expires in 10 minutes. Do not share it.\n"
        );
        assert_eq!(of_text(&body).as_deref(), Some(code));
    }
}

#[test]
fn groups_and_accented_words_that_the_text_asks_for_are_codes() {
    for (body, code) in [
        (
            "To confirm that it is you, please enter QN 0418 on the screen.",
            "QN 0418",
        ),
        (
            "To finish your login, enter this code:\n\nK-88 31 05\n",
            "K-88 31 05",
        ),
        (
            "Verification code for your account: RTK 3 914. Enter it now.",
            "RTK 3 914",
        ),
        ("Your sign-in code is LIGHTHOUSE-80.", "LIGHTHOUSE-80"),
        ("Indtast koden ÆBLE-31 for at logge ind.", "ÆBLE-31"),
        (
            "Ihr Anmeldecode lautet BÜKK9. Geben Sie ihn jetzt ein.",
            "BÜKK9",
        ),
        ("Use the one-time passcode 339-0716 to sign in.", "339-0716"),
    ] {
        assert_eq!(
            of_text(&format!("{body}\n")).as_deref(),
            Some(code),
            "{body}"
        );
    }
}

#[test]
fn code_below_more_words_than_are_examined_is_withheld() {
    let names = "marble otter\n".repeat(1_100);
    let body = format!("{names}\nYour verification code is 482913. It expires in 10 minutes.\n");
    let mail = extract_any(&text_mail(&body));
    assert_eq!(mail.code.reason(), Some(AbstainReason::Ambiguous));
}

/// Stars are bold in plain text. Before digits without an end they hide others.
#[test]
fn code_between_stars_is_returned_whole() {
    for code in ["4829 1357", "48 29 13", "482 913", "482913"] {
        let body = format!("Your verification code: *{code}*\n\nIt expires in 10 minutes.\n");
        assert_eq!(of_text(&body).as_deref(), Some(code));
    }
}
