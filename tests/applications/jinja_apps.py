"""Renders the mails of the applications that use Jinja, in all their locales.

    jinja_apps.py NAME
    jinja_apps.py --names      the applications
"""

import datetime
import gettext
import re
import sys
from types import SimpleNamespace

import jinja2
from babel import Locale, UnknownLocaleError
from babel.dates import format_timedelta

from jinja_table import APPS, PATHS
from secrets_of import SITE, digits, english_first, part, url_token
from sources import folder

LINKS = ("link confirmation_link login_link reset_link reset_url registration_url confirmation_url url").split()


def environment(name, places, catalog):
    env = jinja2.Environment(loader=jinja2.FileSystemLoader([folder(place) for place in places]),
                             autoescape=lambda file: file.endswith(".html"), extensions=["jinja2.ext.i18n", "jinja2.ext.do"])
    # These three applications set it, too; their catalogs have the trimmed texts.
    env.policies["ext.i18n.trimmed"] = True
    env.install_gettext_translations(catalog, newstyle=True)
    env.filters["dedent"] = lambda text: re.sub(r"^ +", "", text, flags=re.MULTILINE)
    # The names under which Flask and the extensions give their functions to a template.
    env.globals |= {
        "_fsdomain": lambda text, **values: catalog.gettext(text) % values,
        "url_for": lambda *_, **__: SITE + "/static/fonts.css", "url_for_index": lambda **_: SITE + "/",
    }
    return env


def values(what, link, code, within):
    user = SimpleNamespace(email="mara@inbox.example.net", username="mara", first_name="Mara", full_name="Mara Lind", name="mara")
    both = {"both": ("code", "link")}.get(what, (what,))
    return {
        **{key: link if "link" in both else None for key in LINKS}, "user": user, "username": "mara", "user_name": "mara",
        "email": user.email, "site_name": "Harbour", "site_title": "Harbour", "site_url": SITE + "/", "logo": None,
        "group_type": "organization", "group_title": "Crew", "role_name": "Editor", "within": within,
        "security": SimpleNamespace(confirmable=True, recoverable=True),
        **{key: code if "code" in both else None for key in ("token", "login_token", "otp", "reset_code")},
    }


def main(name):
    places, translations, domain, mails = APPS[name]
    places = (places,) if isinstance(places, str) else places
    found = {file.parts[-3] for file in folder(translations).glob(f"*/LC_MESSAGES/{domain}.mo")}
    if name == "Flask-Security-Too":
        from flask_security.core import _default_config as subjects
    for locale in english_first(found | {"en"}):
        catalog = gettext.translation(domain, folder(translations), [locale], fallback=True)
        env = environment(name, places, catalog)
        try:
            within = format_timedelta(datetime.timedelta(hours=5), locale=Locale.parse(locale))
        except UnknownLocaleError:
            within = "5 hours"
        for kind, (file, subject, what) in mails.items():
            secret, code = url_token(), digits(6)
            path = PATHS.get(name if name == "ckan" else file) or PATHS.get(name, "/")
            said = values(what, SITE + path.format(secret, code), code, within)
            if subject is None:
                module = env.get_template(file + ".txt").make_module(said)
                subject, bodies = module.get_subject(), {"text": str(module.get_body())}
            else:
                subject = subjects[subject] if name == "Flask-Security-Too" else subject
                subject = (env.get_template(subject).render(said) if subject.endswith(".txt")
                           else catalog.gettext(str(subject)).format(website_name="Harbour"))
                bodies = {key: env.get_template(file + end).render(title=subject, **said) for key, end in
                          (("text", ".txt"), ("html", ".html")) if any((folder(p) / (file + end)).exists() for p in places)}
            secrets = {"secret": secret} if what in ("link", "both") else {}
            secrets |= {"code": code} if what in ("code", "both") else {}
            part(origin=name, lang=locale.replace("_", "-"), **{"class": kind}, subject=str(subject), formatted=within,
                 **bodies, **secrets)


print(*APPS, sep="\n") if sys.argv[1] == "--names" else main(sys.argv[1])
