"""Renders the mails of applications and frameworks of PHP, Ruby and C that write only in English.

They come as packages of Debian, which are only unpacked.
"""

import html
import re

from secrets_of import HEX, LETTERS, SITE, digits, part, some
from sources import each_present, folder

READER = "mara@inbox.example.net"


def say(origin, kind, **fields):
    part(origin=origin, lang="en", **{"class": kind}, **fields)


def tiny_tiny_rss():
    place = folder("tt-rss/usr/share/tt-rss/www/templates")
    token = some(HEX, 40)
    values = {"LOGIN": "mara", "TTRSS_HOST": SITE + "/", "NEWMAIL": READER,
              "RESETPASS_LINK": f"{SITE}/public.php?op=forgotpass&hash={token}&login=mara"}
    for kind, name, subject in (
            ("reset-link", "resetpass_link", "Password reset request"), ("address-changed", "mail_change", "Mail address change notification"),
            ("password-changed", "password_change", "Password change notification"), ("second-step-off", "otp_disabled", "OTP change notification")):
        text = re.sub("<!--.*?-->", "", (place / f"{name}_template.txt").read_text())
        say("tt-rss", kind, subject=f"[tt-rss] {subject}", text=re.sub(r"\$\{(\w+)\}", lambda key: values[key[1]], text),
            **({"secret": token} if kind == "reset-link" else {}))


def atheme():
    """Services of an IRC network. The reader types a command with the key in it."""
    place = folder("atheme-services/usr/share/atheme/email")
    signs = LETTERS + "0123456789"
    for kind, name, key in (("registration-code", "register", some(signs, 12)), ("address-code", "setemail", digits(9)),
                            ("reset-code", "setpass", some(signs, 12))):
        values = {"accountname": "mara", "param": key, "nicksvs": "NickServ", "netname": "HarbourNet", "replyto": "help@app.example.com",
                  "date": "Mon Nov 16 2026", "sourceinfo": "mara!mara@192.0.2.7"}
        head, body = re.sub(r"&(\w+)&", lambda name: values.get(name[1], ""), (place / name).read_text()).split("\n\n", 1)
        say("atheme", kind, subject=re.search("Subject: (.*)", head)[1], text=body, code=key)


def anope():
    source = (folder("anope/etc/anope") / "services.conf").read_text()
    for kind, name, length in (("registration-code", "registration", 9), ("reset-code", "reset", 20), ("address-code", "emailchange", 9)):
        code = some(LETTERS + "0123456789", length)
        values = {"n": "mara", "N": "HarbourNet", "c": code, "e": "m@inbox.example.net", "E": READER}
        found = (re.search(rf'{name}_{key} = "((?:[^"\\]|\\.)*)"', source)[1].replace('\\"', '"') for key in ("subject", "message"))
        subject, text = (re.sub("%([nNceE])", lambda sign: values[sign[1]], line) for line in found)
        say("anope", kind, subject=subject, text=re.sub(r"\n\s+", "\n", text), code=code)


def devise():
    """The library for accounts of Rails."""
    place = next(folder("ruby-devise/usr/share/rubygems-integration/all/gems").glob("devise-*")) / "app/views/devise/mailer"
    for kind, name, subject, route in (
            ("address-link", "confirmation_instructions", "Confirmation instructions", "/users/confirmation?confirmation_token="),
            ("reset-link", "reset_password_instructions", "Reset password instructions", "/users/password/edit?reset_password_token="),
            ("unlock-link", "unlock_instructions", "Unlock instructions", "/users/unlock?unlock_token="),
            ("password-changed", "password_change", "Password Changed", None)):
        token = some(LETTERS + "0123456789-_", 20)
        source = (place / f"{name}.html.erb").read_text()
        source = re.sub(r"<%= link_to '([^']*)', [^%]*%>", lambda label: f'<a href="{SITE}{route}{token}">{label[1]}</a>', source)
        say("devise", kind, subject=subject, html=re.sub(r"<%= @[\w.]+ %>", READER, source), **({"secret": token} if route else {}))


def blade(name, **slots):
    """A piece of the frame. Its templates only fill in slots and leave out a logo."""
    place = folder("php-illuminate-mail/usr/share/php/Illuminate/Mail/resources/views/html")
    source = re.sub(r"@if \(.*?@else\n(.*?)@endif", r"\1", (place / f"{name}.blade.php").read_text(), flags=re.DOTALL)
    return re.sub(r"\{\{ (?:[\w\\:]+\()?\$(\w+)(?: \?\? '[^']*')?\)? \}\}", lambda slot: slots.get(slot[1], ""), source)


def laravel():
    """Its mails are lines and a button. The plain text keeps the Markdown of the last link."""
    trouble = 'If you\'re having trouble clicking the "{}" button, copy and paste the URL below\ninto your web browser:'
    end = "© 2026 Harbour. All rights reserved."
    for kind, name, path in (("reset-link", "ResetPassword", "/reset-password/{}?email=mara%40inbox.example.net"),
                             ("address-link", "VerifyEmail", "/email/verify/7/4ac1f0b2?expires=1794819600&signature={}")):
        source = (folder("php-illuminate-auth/usr/share/php/Illuminate/Auth/Notifications") / f"{name}.php").read_text()
        subject, before, action, *after = [line.replace(":count", "60") for line in re.findall(r"Lang::get\('([^']*)'", source)]
        token = some(HEX, 64)
        link = SITE + path.format(token)
        shown, help_ = html.escape(link), trouble.format(action)
        text = "\n\n".join((f"[Harbour]({SITE})", "# Hello!", before, f"{action}: {link}", *after, "Regards,\nHarbour", f"{help_} [{link}]({link})", end))
        lines = "\n".join(f"<p>{line}</p>" for line in after)
        body = f"<h1>Hello!</h1>\n<p>{before}</p>\n{blade('button', url=shown, slot=action)}\n{lines}\n<p>Regards,<br>\nHarbour</p>"
        page = blade("layout", slot=body, header=blade("header", url=SITE, slot="Harbour"), footer=blade("footer", slot=f"<p>{end}</p>"),
                     subcopy=blade("subcopy", slot=f'<p>{help_} <span class="break-all"><a href="{shown}">{shown}</a></span></p>'))
        say("laravel", kind, subject=subject, text=text, html=page, secret=token)


def symfony():
    place = folder("php-symfony-security-http/usr/share/php/Symfony/Component/Security/Http/LoginLink")
    source = (place / "LoginLinkNotification.php").read_text()
    words = re.search(r"sprintf\('(Click on[^']*)'", source)[1] % ("button below", "10 minutes")
    action = re.search(r"->action\('([^']*)'", source)[1]
    token = some(LETTERS + "0123456789", 43)
    link = f"{SITE}/login_check?user=mara%40inbox.example.net&expires=1794819600&hash={token}%3D"
    page = (f'<html><body><p class="lead">Welcome to Harbour</p>{words}'
            f'<table class="button"><tr><td><a href="{html.escape(link)}">{action}</a></td></tr></table></body></html>')
    say("symfony", "login-link", subject="Welcome to Harbour", text=f"Welcome to Harbour\n\n{words}\n\n{action}: {link}\n", html=page, secret=token)


each_present({"tt-rss": tiny_tiny_rss, "atheme-services": atheme, "anope": anope, "ruby-devise": devise, "php-illuminate-mail": laravel,
              "php-symfony-security-http": symfony})
