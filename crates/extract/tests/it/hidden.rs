//! Text that a person does not see, or may not see, gives no code and no link.

use extract::AbstainReason;

use crate::{code, extract_allowed, extract_any, html_mail};

/// Styles that hide, or may hide, the text.
const HIDING: &[&str] = &[
    "color:#fff",
    "color:#fefefe",
    "color:rgba(0,0,0,0.05)",
    "opacity:0.02",
    "opacity:2%",
    "opacity:.2",
    "clip-path:inset(100%)",
    "clip-path:circle(0)",
    "transform:scale(0)",
    "transform:scale(0.01)",
    "transform:translateX(-9999px)",
    "scale:0.01",
    "zoom:0.01",
    "filter:opacity(0)",
    "filter:blur(20px)",
    "height:1px;overflow:hidden",
    "width:1px;overflow:hidden",
    "position:relative;left:-9999px",
    "position:absolute;left:-100em",
    "margin-left:-9999px",
    "text-indent:-100em",
    "-webkit-text-fill-color:transparent",
    "-webkit-mask:linear-gradient(transparent,transparent)",
    "content-visibility:hidden",
];

/// Style sheets that hide, or may hide, `<p class=x>` after another `<p>`.
const SHEETS: &[&str] = &[
    "@media (min-width:1px){.x{display:none}}",
    "@media (prefers-color-scheme:light){.x{display:none}}",
    "@media (orientation:landscape){.x{display:none}}",
    "@supports (display:block){.x{display:none}}",
    "p:not(.y){display:none}",
    "p + .x{display:none}",
    "p ~ p{display:none}",
    "p:last-child{display:none}",
    "[class~=x]{display:none}",
    "p:nth-child(2){display:none}",
];

const CODE: &str = "Your verification code is 482913";

#[test]
fn code_in_hidden_or_unclear_text_is_not_given_out() {
    for style in HIDING {
        let mail = extract_any(&html_mail(&format!(
            "<p>Hello</p><p style=\"{style}\">{CODE}</p>"
        )));
        assert_eq!(code(&mail), None, "{style}");
    }
    for sheet in SHEETS {
        let body = format!("<style>{sheet}</style><p>Hello</p><p class=x>{CODE}</p>");
        assert_eq!(code(&extract_any(&html_mail(&body))), None, "{sheet}");
    }
    for body in [
        format!("<p>Hello</p><details><summary>More</summary><p>{CODE}</p></details>"),
        format!("<p>Hello</p><dialog><p>{CODE}</p></dialog>"),
    ] {
        let mail = extract_any(&html_mail(&body));
        assert_eq!(
            mail.code.reason(),
            Some(AbstainReason::MaybeHidden),
            "{body}"
        );
    }
}

#[test]
fn link_in_unclear_text_is_withheld() {
    let link = "<a href='https://example.com/verify?token=Zk3v9QmB7tY1abcd'>Verify email</a>";
    let shown = extract_allowed(&html_mail(&format!("<p>Verify your email</p>{link}")));
    assert!(shown.link.found().is_some());
    let body = format!("<p>Verify your email</p><div style='opacity:.2'>{link}</div>");
    let unclear = extract_allowed(&html_mail(&body));
    assert_eq!(unclear.link.reason(), Some(AbstainReason::MaybeHidden));
}

#[test]
fn visible_text_in_common_styles_is_read() {
    for body in [
        format!("<p style='color:#fff;background:#06c'>{CODE}</p>"),
        format!("<td bgcolor='#000000'><p style='color:#fff'>{CODE}</p></td>"),
        format!("<div style='background:url(x.png)'><p style='color:#fff'>{CODE}</p></div>"),
        format!(
            "<p style='opacity:.8;transform:rotate(2deg);position:relative;top:2px'>{CODE}</p>"
        ),
        format!(
            "<style>@media (max-width:480px){{.x{{display:none}}}}</style><p class=x>{CODE}</p>"
        ),
        format!(
            "<style>a:hover{{display:none}}@media print{{p{{display:none}}}}</style><p>{CODE}</p>"
        ),
        format!("<details open><p>{CODE}</p></details>"),
    ] {
        let mail = extract_any(&html_mail(&body));
        assert_eq!(code(&mail), Some("482913"), "{body}");
    }
}
