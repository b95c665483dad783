"""Renders the mails of more applications that use Jinja, in all their locales.

A mail has the stem of its template, its subject, the path of its link, and what it is: a
link (the usual case), a code, both or nothing.
"""

import gettext
from datetime import datetime
from types import SimpleNamespace

import jinja2

from secrets_of import SITE, english_first, part, some, url_token
from sources import folder

# A function of Flask that makes an address.
ROUTES = {
    "auth.autoactivate_account": "/auth/activate/{}", "auth.reset_password": "/auth/reset-password/{}",
    ".activate_account": "/register/activate", ".forgot_password_change": "/forgot-password/change",
    ".user_settings_email_validate": "/user/mara/settings/email/validate", ".confirm_registration": "/register/confirm",
}
SYNAPSE = "/_{}/email/submit_token?token={{}}&client_secret=dGq3xWm0ZkPv7LcR&sid=NfEkYbTqWjHsUaCo"
ENDS = (".txt", ".html")
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


APPS = {
    "FlaskBB": {
        "templates": "flaskbb/templates", "translations": ("flaskbb/translations", "messages"),
        "mails": {"activation-link": ("email/activate_account", "Account Activation", "{}"),
                  "reset-link": ("email/reset_password", "Password Recovery Confirmation", "{}")},
    },
    "noggin": {
        "templates": "noggin/themes/fas/templates", "translations": ("noggin/translations", "messages"),
        "mails": {"activation-link": ("email-validation", "Verify your email address", "{}"),
                  "reset-link": ("forgot-password-email", "Password reset procedure", "{}"),
                  "address-link": ("settings-email-validation", "Verify your email address", "{}")},
    },
    "mediagoblin": {
        "templates": "mediagoblin/mediagoblin", "translations": ("mediagoblin/mediagoblin/i18n", "mediagoblin"),
        "mails": {"address-link": ("templates/mediagoblin/auth/verification_email", "GNU MediaGoblin - Verify your email!", "/verify_email/?token={}"),
                  "reset-link": ("plugins/basic_auth/templates/mediagoblin/plugins/basic_auth/fp_verification_email",
                                 "GNU MediaGoblin - Change forgotten password!", "/auth/forgot_password/verify/?token={}")},
    },
    "TracAccountManager": {
        "templates": "acct_mgr/templates/jinja2", "ends": [".txt"], "syntax": {"variable_start_string": "${", "variable_end_string": "}"},
        "mails": {"address-code-and-link": ("account_verify_email", "[Harbour] Account email verification: mara",
                                            "/verify_email?token={}&verify=1", lambda: some(BASE64, 8), "both")},
    },
    "matrix-synapse": {
        "templates": "synapse/res/templates",
        "mails": {"reset-link": ("password_reset", "[app.example.com] Password reset", SYNAPSE.format("synapse/client/password_reset")),
                  "registration-link": ("registration", "[app.example.com] Validate your email",
                                        SYNAPSE.format("matrix/client/unstable/registration")),
                  "address-link": ("add_threepid", "[app.example.com] Validate your email",
                                   SYNAPSE.format("matrix/client/unstable/add_threepid")),
                  "address-in-use": ("already_in_use", "[app.example.com] Email already in use", None)},
    },
    "Flask-AppBuilder": {
        "templates": "flask_appbuilder/templates/appbuilder/general/security",
        "translations": ("flask_appbuilder/translations", "messages"),
        "mails": {"activation-link": ("register_mail", "Account activation", "/register/activation/{}")},
    },
    "moin": {
        "templates": "moin/templates/mail", "translations": ("moin/translations", "messages"),
        "mails": {"address-link": ("account_verification", "[{sitename}] Please verify your email address", "/+verifyemail?username=mara&token={}"),
                  "reset-link": ("password_recovery", "[{sitename}] Your wiki password recovery link", "/+recoverpass?username=mara&token={}")},
    },
    "abilian-core": {
        "templates": "abilian/services/auth/templates/login/email",
        "mails": {"reset-link": ("password_reset_instructions", "Password reset instruction for Harbour", "/user/reset_password/{}"),
                  "reset-link-fr": ("password_reset_instructions.fr", "Password reset instruction for Harbour", "/user/reset_password/{}")},
    },
    "fief": {
        "templates": "fief/services/email_template/templates",
        "mails": {"reset-link": ("forgot_password", "Reset your Harbour's password", "/reset?token={}"),
                  "address-code": ("verify_email", "Verify your email for your Harbour's account", None,
                                   lambda: some("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 6), "code"),
                  "welcome": ("welcome", "Welcome to Harbour", None)},
    },
}


def environment(place, catalog, syntax, token):
    files = jinja2.FileSystemLoader(folder(place))
    # fief keeps its templates in a database, under other names.
    base = jinja2.FunctionLoader(lambda name: files.get_source(None, "base.html")[0] if name == "BASE" else None)
    env = jinja2.Environment(loader=jinja2.ChoiceLoader([files, base]), autoescape=lambda file: (file or "").endswith(".html"),
                             extensions=["jinja2.ext.i18n", "jinja2.ext.do"], **syntax)
    env.install_gettext_translations(catalog, newstyle=True)
    env.globals["url_for"] = lambda name, **_: SITE + ROUTES.get(name, "/").format(token)
    return env


def values(link, token):
    user = SimpleNamespace(name="Mara", username="mara", first_name="Mara", email="mara@inbox.example.net")
    names = "link url reset_url reset_link verification_url".split()
    return {
        **{name: link for name in names}, "token": token, "code": token, "username": "mara", "first_name": "Mara", "last_name": "Lind",
        "user": user, "address": user.email, "ttl": 30, "valid_until": datetime(2026, 11, 16, 9, 30), "tenant": SimpleNamespace(name="Harbour"),
        "verify": SimpleNamespace(link=link), "account": SimpleNamespace(username="mara", token=token),
        "project": SimpleNamespace(name="Harbour", url=SITE, descr="The planning of the harbour"),
        "config": SimpleNamespace(SITE_NAME="Harbour"),
    }


def render(name, app, locale, catalog):
    for kind, (stem, subject, path, *more) in app["mails"].items():
        make, what = more or (url_token, "link" if path else "nothing")
        token = make()
        env = environment(app["templates"], catalog, app.get("syntax", {}), token)
        said = values(SITE + (path or "").format(token), token)
        title = catalog.gettext(subject)
        bodies = {key: env.get_template(stem + end).render(**said, title=title)
                  for key, end in (("text", ".txt"), ("html", ".html"))
                  if end in app.get("ends", ENDS) and (folder(app["templates"]) / (stem + end)).exists()}
        secrets = {"link": {"secret": token}, "code": {"code": token}, "both": {"secret": token, "code": token}}.get(what, {})
        part(origin=name, lang=locale.replace("_", "-"), **{"class": kind}, subject=title.replace("{sitename}", "Harbour"), **bodies, **secrets)


def main():
    for name, app in APPS.items():
        place, domain = app.get("translations", (None, None))
        found = {file.parts[-3] for file in folder(place).glob(f"*/LC_MESSAGES/{domain}.mo")} if place else set()
        for locale in english_first(found | {"en"}):
            catalog = gettext.translation(domain, folder(place), [locale], fallback=True) if place else gettext.NullTranslations()
            render(name, app, locale, catalog)


main()
