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
    "line-height:0;overflow:hidden",
    "letter-spacing:-1em",
    "word-spacing:-999px",
    "display:var(--a,none)",
    "opacity:calc(1 - 1)",
    "font-size:calc(0px)",
    "font-size:1e-9px",
    "position:absolute;inset:-9999px auto auto -9999px",
    "translate:-100vw",
    "rotate:y 90deg",
    "scale:1 0",
    "zoom:.5",
    "margin:0 0 0 -9999px",
    "padding-left:9999px;overflow:hidden",
    "mix-blend-mode:difference",
    "-webkit-line-clamp:1;overflow:hidden",
    "max-block-size:0;overflow:hidden",
    "max-height:1px;overflow:scroll",
    "inline-size:0;overflow:hidden",
    "aspect-ratio:1000/1;overflow:hidden",
    "contain:strict",
    "-webkit-text-security:disc",
    "animation:k 1s forwards",
    "filter:invert(1)",
    "offset-path:path('M-9999 0')",
    "position:relative;z-index:-1",
    "content:url(x.png)",
    "unicode-bidi:bidi-override;direction:rtl",
    "color:hsl(0,0%,100%)",
    "color:rgb(100% 100% 100%)",
    "color:oklch(1 0 0)",
    "color:color-mix(in srgb,white,white)",
    "color:var(--w)",
    "color:Canvas",
    "d\\69splay:none",
    "display:n\\6fne",
    "display:/**/none",
    "display:none;content:';display:block;'",
    "display:none;background:url(;display:block;)",
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
    "p:nth-child(n + 2){display:none}",
    "p:not( .a ){display:none}",
    "p:not(.a, .b){display:none}",
    "p:is(:not(:hover)){display:none}",
    "p:checked ~ .x, p:checked{display:none} p:not(:checked){display:none}",
    "p::first-line{color:#fff}",
    "p::first-letter{font-size:0}",
    "body{color:#fff}",
    "html{opacity:0}",
    "html body p.x{display:none}",
    "html>body>p+p{display:none}",
    ":root p{display:none}",
    "body:has(p) .x{display:none}",
    "[class=\"X\" i]{display:none}",
    "[class = x]{display:none}",
    "*|p{display:none}",
    ".\\78{display:none}",
    ".x{d\\69splay:none}",
    ".x{content:\"}\";display:none}",
    ".x{background:url('}');display:none}",
    "p{&.x{display:none}}",
    "body{color:#000;.x{color:red}display:none}",
    "body{@media screen{display:none}}",
    ".y{.x{display:none}",
    "@media screen{@media all{.x{display:none}}}",
    "@-moz-document url-prefix(){.x{display:none}}",
    "@import url(data:text/css,.x%7Bdisplay:none%7D);",
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
        format!("<p>Hello</p><div popover><p>{CODE}</p></div>"),
        format!("<p>Hello</p><select><option>One<option>{CODE}</select>"),
        format!("<p>Hello</p><div style='filter:blur(9px)'><summary>{CODE}</summary></div>"),
        format!("<p>Hello</p><bdo dir=rtl>{CODE}</bdo>"),
        format!("<body text=white><p>Hello</p><p>{CODE}</p>"),
        format!("<p>Hello</p><font color=fff>{CODE}</font>"),
        format!("<body style='filter:blur(9px)'></body><p>Hello</p><p>{CODE}</p>"),
        format!(
            "<style>input:checked ~ p{{display:none}}</style><input type=checkbox checked>\
             <p>Hello</p><p>{CODE}</p>"
        ),
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
fn content_that_is_never_shown_is_not_read() {
    for tag in ["progress", "meter", "template", "object", "video", "svg"] {
        let body = format!("<p>Hello</p><{tag}>{CODE}</{tag}>");
        assert_eq!(code(&extract_any(&html_mail(&body))), None, "{tag}");
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
        format!("<details><summary>{CODE}</summary><p>More</p></details>"),
        format!("<style>.sm\\:x{{display:none}}</style><p class=x>{CODE}</p>"),
        format!("<style>body{{color:#333;margin:0}}</style><p>{CODE}</p>"),
        format!("<p style='letter-spacing:-0.5px;line-height:1.5;overflow:hidden'>{CODE}</p>"),
        format!("<p style='background:#06c;color:rgb(100%,100%,100%)'>{CODE}</p>"),
    ] {
        let mail = extract_any(&html_mail(&body));
        assert_eq!(code(&mail), Some("482913"), "{body}");
    }
}

#[test]
fn link_with_nothing_that_is_seen_is_not_given_out() {
    let link = |inner: &str| {
        let mail = extract_allowed(&html_mail(&format!(
            "<p>Please confirm your email address to activate your account.</p>\
             <a href='https://example.com/verify?token=Zk3v9QmB7tY1abcd'>{inner}</a>"
        )));
        (mail.link.found().is_some(), mail.link.reason())
    };
    for inner in [
        "<span style='display:none'>Verify email</span>",
        "<img src=x alt='Verify email' width=1 height=1>",
        "<img src=x alt='Verify email' style='display:none'>",
    ] {
        assert_eq!(
            link(inner),
            (false, Some(AbstainReason::MaybeHidden)),
            "{inner}"
        );
    }
    for inner in [
        "<img src=x alt='Verify email'>",
        "<img src=x width=200 height=40>",
        "<span style='display:none'>x</span>Verify email",
        "<img src=x width=1 height=1>Verify email",
    ] {
        assert!(link(inner).0, "{inner}");
    }
}
