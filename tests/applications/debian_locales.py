"""Renders the mails of applications of PHP, Ruby and Perl in all their locales.

Their templates and translations are text, so they are filled in here. They come as packages of
Debian, which are only unpacked.
"""

import gettext
import html
import json
import re

import yaml

from secrets_of import HEX, LETTERS, SITE, digits, english_first, part, some
from sources import each_present, folder

READER = "mara@inbox.example.net"


def say(origin, lang, kind, **fields):
    part(origin=origin, lang=lang.replace("_", "-"), **{"class": kind}, **fields)


def without_slashes(text):
    return re.sub(r"\\(['\"\\$])", r"\1", text.replace("\\n", "\n"))


# --- WordPress ---------------------------------------------------------------------------


def wordpress_texts():
    """The texts in its code that are translated."""
    place = folder("wordpress/usr/share/wordpress/wp-includes")
    source = "\n".join((place / f"{name}.php").read_text() for name in ("user", "pluggable", "ms-functions"))
    return [without_slashes(text) for _, text in re.findall(r"""__\(\s*(['"])((?:(?!\1)[^\\]|\\.)*)\1""", source)]


# Kind, subject, how the text begins, the path of its link, and what the link is.
WORDPRESS = (
    ("activation-link", "[%s] Activate %2$s", "To activate your user", "/wp-activate.php?key={}", "secret"),
    ("address-link", "[%s] Email Change Request", "Howdy ###USERNAME###,\n\nYou recently", "/wp-admin/profile.php?newuseremail={}", "secret"),
    ("erasure-link", "[%1$s] Confirm Action: %2$s", "Howdy,\n\nA request has been made",
     "/wp-login.php?action=confirmaction&request_id=7&confirm_key={}", "deny"),
    ("password-changed", "[%s] Password Changed", "Hi ###USERNAME###,\n\nThis notice confirms that your password", "", None),
    ("address-changed", "[%s] Email Changed", "Hi ###USERNAME###,\n\nThis notice confirms that your email", "", None),
)


def wordpress_mails(word, texts):
    """`word` translates. These two mails are put together line by line."""
    fill = lambda line, value="Harbour": re.sub(r"%(\d\$)?s", lambda _: value, word(line))
    key = some(LETTERS + "0123456789", 20)
    link = f"{SITE}/wp-login.php?action=rp&key={key}&login=mara"
    yield "reset-link", fill("[%s] Password Reset"), "\n\n".join((
        word("Someone has requested a password reset for the following account:"), fill("Site Name: %s"), fill("Username: %s", "mara"),
        word("If this was a mistake, ignore this email and nothing will happen."),
        word("To reset your password, visit the following address:"), link + "&wp_lang=en_US",
        fill("This password reset request originated from the IP address %s.", "192.0.2.7"))), {"secret": key}
    key = some(LETTERS + "0123456789", 20)
    link = f"{SITE}/wp-login.php?action=rp&key={key}&login=mara"
    yield "welcome-link", fill("[%s] Login Details"), "\n\n".join((
        fill("Username: %s", "mara"), word("To set your password, visit the following address:"), link, SITE + "/wp-login.php")), {"secret": key}
    for kind, subject, start, path, what in WORDPRESS:
        key, action = some(HEX, 32), word("Erase Personal Data")
        link = SITE + path.format(key)
        values = {"USERNAME": "mara", "ADMIN_URL": link, "CONFIRM_URL": link, "EMAIL": READER, "NEW_EMAIL": READER, "DESCRIPTION": action,
                  "SITENAME": "Harbour", "SITEURL": SITE, "ADMIN_EMAIL": "admin@app.example.com"}
        text = word(next(line for line in texts if line.lstrip().startswith(start))).replace("%s", link)
        if kind == "activation-link":
            subject = word(("New user notification email subject", "[%1$s] Activate %2$s")).replace("%2$s", "mara").replace("%1$s", "Harbour")
        else:
            subject = word(subject).replace("%2$s", action).replace("%1$s", "Harbour").replace("%s", "Harbour")
        yield kind, subject, re.sub("###(\\w+)###", lambda name: values.get(name[1], name[0]), text), {what: key} if what else {}


def wordpress():
    place = folder("wordpress-l10n/usr/share/wordpress/wp-content/languages")
    names = {file.stem for file in place.glob("*.mo") if re.fullmatch(r"[a-z]{2,3}(_[A-Z]{2})?(_[a-z]+)?", file.stem)}
    texts = wordpress_texts()
    for lang in english_first(names | {"en"}):
        catalog = gettext.NullTranslations()
        if lang in names:
            with (place / f"{lang}.mo").open("rb") as file:
                catalog = gettext.GNUTranslations(file)
        word = lambda line: catalog.pgettext(*line) if isinstance(line, tuple) else catalog.gettext(line)
        for kind, subject, text, secret in wordpress_mails(word, texts):
            say("wordpress", lang, kind, subject=subject, text=text, **secret)


# --- PostfixAdmin ------------------------------------------------------------------------


def postfixadmin():
    place = folder("postfixadmin/usr/share/postfixadmin/languages")
    english = {}
    for lang in english_first({file.stem for file in place.glob("*.lang")}):
        source = (place / f"{lang}.lang").read_text()
        found = re.findall(r"""\$PALANG\['(pPassword_\w+)'\]\s*=\s*(["'])((?:(?!\2)[^\\]|\\.)*)\2""", source)
        words = english | {key: without_slashes(value) for key, _, value in found}
        english = english or words
        code = some("23456789abcdefghijkmnpqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ", 8)
        link = f"{SITE}/users/password-change.php?username=mara%40inbox.example.net&code={code}"
        say("postfixadmin", lang, "reset-link", subject=words["pPassword_welcome"], secret=code,
            text=words["pPassword_recovery_email_body"].replace("%s", link) + "Postmaster")


# --- Redmine -----------------------------------------------------------------------------

# Kind, template, the path of its link, and whether the reader waits for this link.
REDMINE = (
    ("reset-link", "lost_password", "/account/lost_password?token={}", True), ("activation-link", "register", "/account/activate?token={}", True),
    ("activated", "account_activated", "/login", False),
    ("approval", "account_activation_request", "/users?sort=created_on%3Adesc&status=2", False),
)


def redmine():
    place = folder("redmine/usr/share/redmine")
    load = lambda name: yaml.safe_load((place / "config" / name).read_text())
    footer = load("settings.yml")["emails_footer"]["default"].replace("http://hostname", SITE)
    english = load("locales/en.yml")["en"]
    for lang in english_first({file.stem for file in (place / "config/locales").glob("*.yml")}):
        words = {key: str(value) for key, value in (english | next(iter(load(f"locales/{lang}.yml").values()))).items()}
        for kind, file, path, is_asked in REDMINE:
            token = some(HEX, 40)
            values = {"@url": SITE + path.format(token), "@login_url": SITE + path, "@token.user.login": "mara"}

            def filled(end):
                source = (place / f"app/views/mailer/{file}.{end}.erb").read_text()
                source = re.sub(r"<%= l\(:(\w+)(?:, [^%]*)?\) %>", lambda key: words[key[1]].replace("%{value}", "lena"), source)
                source = re.sub(r"<%= link_to (@\w+), \1 %>", r'<a href="<%= \1 %>"><%= \1 %></a>', source)
                value = lambda name: html.escape(values[name[1]]) if end == "html" else values[name[1]]
                return re.sub(r"<%= (@[\w.]+) %>", value, source)

            subject = {"activated": "register", "approval": "account_activation_request"}.get(kind, file)
            say("redmine", lang, kind, subject=words[f"mail_subject_{subject}"].replace("%{value}", "Harbour"), text=f"{filled('text')}\n-- \n{footer}",
                html=f'<html><body>{filled("html")}<hr /><span class="footer"><p>{footer}</p></span></body></html>',
                **({"secret": token} if is_asked else {}))


# --- LemonLDAP::NG -----------------------------------------------------------------------

# Kind, template, subject, the path of its link.
LEMONLDAP = (
    ("reset-link", "confirm", "mailConfirmSubject", "/resetpwd?mail_token={}&skin=bootstrap"), ("login-code", "2fcode", "mail2fSubject", ""),
    ("registration-link", "register_confirm", "registerConfirmSubject", "/register?register_token={}&skin=bootstrap"),
    ("new-location", "new_location_warning", "newLocationWarningMailSubject", ""), ("certificate-reset", "certificateReset", "resetCertificateOK", ""),
)


def lemonldap():
    place = folder("liblemonldap-ng-portal-perl/usr/share/lemonldap-ng/portal/templates/common")
    load = lambda name: json.loads((place / f"mail/{name}.json").read_text())
    for lang in english_first({file.stem for file in (place / "mail").glob("*.json")}):
        words = load("en") | load(lang)
        for kind, file, subject, path in LEMONLDAP:
            token, code = some(HEX, 64), digits(6)
            values = {"url": SITE + path.format(token), "code": code, "session_cn": "Mara Lind", "firstname": "Mara", "lastname": "Lind",
                      "MAIN_LOGO": "logo.png", "session_ipAddr": "192.0.2.7", "location": "192.0.2.7", "date": "2026-11-16 09:00", "ua": "Firefox"}
            source = (place / f"mail_{file}.tpl").read_text()
            source = re.sub(r'<TMPL_INCLUDE NAME="([\w.]+)">', lambda name: (place / name[1]).read_text(), source)
            source = re.sub(r'<TMPL_VAR NAME="(\w+)"[^>]*>', lambda name: html.escape(values[name[1]]), source)
            source = re.sub(r'<span trspan="(\w+)">[^<]*', lambda key: "<span>" + words.get(key[1], key[1]), source)
            secret = {"secret": token} if path else {"code": code} if kind == "login-code" else {}
            say("lemonldap", lang, kind, subject=words[subject], html=source, **secret)


# --- Sympa -------------------------------------------------------------------------------

SYMPA = (
    ("subscription-link", "subscribe", "%1 / subscribing to %2", "You requested that your e-mail address be added to list", "secret"),
    ("signoff-link", "signoff", "%1 / unsubscribing from %2", "You requested that your e-mail address be removed from list", "deny"),
)


def sympa():
    place = folder("sympa/usr/share")
    source = "\n".join((place / f"sympa/default/mail_tt2/{name}.tt2").read_text() for name in ("sendpasswd", "request_auth"))
    blocks = re.findall(r"\[%\|loc[^%]*%\]([^\[]*)\[%-? ?END", source)
    names = {file.parts[-3] for file in (place / "locale").glob("*/LC_MESSAGES/sympa.mo")}
    for lang in english_first(names | {"en"}):
        catalog = gettext.translation("sympa", place / "locale", [lang], fallback=True)

        def word(line, *values):
            return re.sub(r"%(\d)", lambda at: (*values, at[0])[min(int(at[1]) - 1, len(values))], catalog.gettext(line))

        def block(start, *values):
            return word(next(line for line in blocks if line.startswith(start)), *values)

        ticket = digits(14)
        say("sympa", lang, "reset-link", secret=ticket, subject=word("%1 / your environment", "Harbour Lists"), text="\n".join((
            block("Someone, probably you", "app.example.com"), f"{block('You may ignore')}: {SITE}/sympa/ticket/{ticket}", "",
            block("Help on Sympa", SITE + "/sympa", "/help"))))
        for kind, action, subject, start, what in SYMPA:
            key = some(HEX, 16)
            say("sympa", lang, kind, subject=word(subject, "Harbour Lists", "news"), text="\n".join((
                block(start, "news"), "", block("If you want this action"),
                f"  {SITE}/sympa/auth/{key}/{action}?email=mara%40inbox.example.net", "",
                block("If you do not want this action"))), **{what: key})


each_present({"wordpress": wordpress, "redmine": redmine, "liblemonldap-ng-portal-perl": lemonldap, "sympa": sympa, "postfixadmin": postfixadmin})
