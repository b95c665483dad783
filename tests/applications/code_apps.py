"""Renders the mails of applications that have their texts in the code and not in templates."""

import gettext
import importlib.util
import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import jinja2

from secrets_of import LETTERS, SITE, digits, english_first, part, some, url_token
from sources import constants, folder, text


@contextmanager
def loaded(file, **stands_in):
    """A module by itself. What it imports of its application is replaced while it is used."""
    spec = importlib.util.spec_from_file_location("loaded", folder(file))
    kept = dict(sys.modules)
    for name, values in stands_in.items():
        name = name.replace("__", ".")
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(values)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.clear()
    sys.modules.update(kept)


def catalogs(place, domain="messages"):
    names = {file.parts[-3] for file in folder(place).glob(f"*/LC_MESSAGES/{domain}.mo")}
    for name in english_first(names | {"en"}):
        yield name.replace("_", "-"), gettext.translation(domain, folder(place), [name], fallback=True)


def kitsu():
    config = SimpleNamespace(DEFAULT_LOCALE="en_US")
    begin, end, middle = [text for text in constants("zou/app/services/templates_service.py") if "<" in text]
    with loaded("zou/app/utils/email_i18n.py", zou={}, zou__app={"config": config}) as words:
        for locale in ["en_US", *sorted(set(words.EMAIL_TRANSLATIONS) - {"en_US"})]:
            for kind, name, what in (("login-code", "otp", "code"), ("reset-link", "password_recovery", "link"),
                                     ("invitation", "invitation", "link"), ("password-changed", "password_changed", "nothing"),
                                     ("second-step-off", "2fa_disabled_by_admin", "nothing")):
                token, code = url_token(64), digits(6)
                values = {"organisation_name": "Harbour", "first_name": "Mara", "otp": code, "email": "mara@inbox.example.net",
                          "reset_url": f"{SITE}/reset-change-password?email=mara%40inbox.example.net&token={token}",
                          "time_string": "2026-11-16 09:00", "person_IP": "192.0.2.7"}
                title, body, signature, subject = (words.get_email_translation(locale, key, **values) for key in (
                    f"auth_{name}_title", f"auth_{name}_body", "email_signature", f"auth_{name}_subject"))
                secrets = {"code": {"code": code}, "link": {"secret": token}}.get(what, {})
                part(origin="kitsu", lang=locale.replace("_US", "").replace("_", "-"), **{"class": kind}, subject=subject,
                     html=begin + title + middle + body + signature + end, **secrets)


class MailCTA(SimpleNamespace):
    """udata's name for a button. The templates ask for it."""

    def __init__(self, label, link):
        super().__init__(label=label, link=link)


def udata():
    """Its mails are lists of paragraphs and buttons. Two templates print them."""
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(folder("udata/templates/mail")), autoescape=lambda file: file.endswith(".html"),
                             extensions=["jinja2.ext.i18n"])
    env.globals["config"] = {"SITE_TITLE": "Harbour"}
    app = SimpleNamespace(config=env.globals["config"])
    for lang, catalog in catalogs("udata/translations", "udata"):
        env.install_gettext_translations(catalog, newstyle=True)
        with loaded("udata/auth/mails.py", udata={}, flask={"current_app": app}, udata__mail={"MailCTA": MailCTA, "MailMessage": SimpleNamespace},
                    udata__i18n={"lazy_gettext": lambda line, **values: catalog.gettext(line) % values},
                    udata__uris={"cdata_url": lambda path: SITE + path}) as mails:
            for kind, make, field, path in (
                    ("welcome-link", mails.welcome, "confirmation_link", SITE + "/confirm/{}"),
                    ("address-link", mails.confirmation_instructions, "confirmation_link", SITE + "/confirm/{}"),
                    ("reset-link", mails.reset_instructions, "reset_token", "{}"), ("address-in-use", mails.welcome_existing, "recovery_link", None),
                    ("password-reset", mails.reset_notice, "", None), ("password-changed", mails.change_notice, "", None)):
                token = url_token()
                message = make(**{field: path.format(token) if path else SITE + "/reset/"})
                said = {"message": message, "recipient": SimpleNamespace(first_name="Mara")}
                bodies = {key: env.get_template(f"message.{end}").render(**said) for key, end in (("text", "txt"), ("html", "html"))}
                # Nobody asked for the reset that this notice offers.
                secrets = {"secret": token} if path else {"deny": "/reset/"} if kind == "password-changed" else {}
                part(origin="udata", lang=lang, **{"class": kind}, subject=message.subject, **bodies, **secrets)


def roundup():
    """Its texts end with a line break, or begin with one, as they stand in the code."""
    actions = "roundup/roundup/cgi/actions.py"
    for lang in english_first({file.stem for file in folder("roundup/locale").glob("*.mo")} | {"en"}):
        with (folder("roundup/locale") / f"{lang}.mo").open("rb") as file:
            say = gettext.GNUTranslations(file).gettext
        for kind, subject, start in (
                ("registration-link", "Complete your registration to %s",
                 'To complete your registration of the user "%(name)s" with\n%(tracker)s, please visit'),
                ("reset-link", "Confirm reset of password for %s", "Someone, perhaps you, has requested")):
            token = some(LETTERS + "0123456789", 32)
            values = {"name": "mara", "tracker": "Harbour", "tracker_name": "Harbour", "url": SITE + "/", "otk": token}
            part(origin="roundup", lang=lang.replace("_", "-"), **{"class": kind}, subject=say(subject) % "Harbour",
                 text=say(text(actions, start)) % values, secret=token)


def jupyterhub():
    words = text("nativeauthenticator/nativeauthenticator.py", "Your JupyterHub account on my-domain")
    token = url_token(120)
    part(origin="jupyterhub", lang="en", **{"class": "activation-link"}, subject="Welcome to JupyterHub on my-domain",
         text=words.format(approval_url=f"{SITE}/hub/confirm/{token}"), secret=token)


for render in (kitsu, udata, roundup, jupyterhub):
    render()
