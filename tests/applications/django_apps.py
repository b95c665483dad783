"""Renders the mails of one Django application in all its locales.

    django_apps.py NAME
    django_apps.py --names      the applications
"""

import sys

import django
from django.conf import settings
from django.template.context import make_context
from django.template.loader import get_template, render_to_string
from django.template.loader_tags import BlockNode
from django.urls import include, path
from django.utils import translation

import django_libraries
import django_services
import django_signin
import django_sites
from django_values import context
from secrets_of import digits, django_token, english_first, part
from sources import folder

APPS = django_libraries.APPS | django_sites.APPS | django_services.APPS | django_signin.APPS

DJANGO = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.admin", "django.contrib.messages",
          "django.contrib.humanize"]


def locales(folders):
    return {file.parts[-3] for place in folders for file in place.glob("*/LC_MESSAGES/django.mo")}


def blocks(file, values):
    """Some applications keep the parts of a mail as the blocks of one template."""
    whole = get_template(file).template
    values = make_context(values)
    with values.bind_template(whole):
        return {node.name: node.nodelist.render(values) for node in whole.nodelist.get_nodes_by_type(BlockNode)}


def said(message, values):
    """A text that the application has in its code: translated, then filled in."""
    message = message() if callable(message) else message
    message = translation.pgettext(*message) if isinstance(message, tuple) else translation.gettext(message)
    if "%s" in message:
        return message % values["domain"]
    return message % values if "%(" in message else message.format_map(values) if "{" in message else message


def rendered(mail, values):
    if "blocks" in mail:
        found = blocks(mail["blocks"], values)
        return {"subject": found["subject"], "text": found["text_body"], "html": found.get("html_body")}
    values |= {key: said(text, values) for key, text in mail.get("say", {}).items()}
    subject = mail["subject"]
    file = isinstance(subject, str) and subject.endswith(".txt")
    values["subject"] = (render_to_string(subject, values) if file else said(subject, values)).strip()
    found = {kind: render_to_string(mail[kind], dict(values)) for kind in ("text", "html") if kind in mail}
    if "message" in mail:
        found["text"] = said(mail["message"], values)
    return {"subject": values["subject"], **found}


def main(name):
    app = APPS[name]
    places = [folder(place) for place in app.get("locales", [])]
    # Libraries that the application takes subjects from. Its own locales are those of a site.
    borrowed = [folder(place) for place in app.get("borrows", [])]
    settings.configure(
        SECRET_KEY="x", USE_I18N=True, LANGUAGE_CODE=app.get("source", "en-us"), USE_TZ=True, LOCALE_PATHS=places + borrowed, ROOT_URLCONF=__name__,
        INSTALLED_APPS=DJANGO,
        TEMPLATES=[{
            "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
            "DIRS": [folder(place) for place in app.get("templates", [])],
            "OPTIONS": {"builtins": app.get("builtins", []), "libraries": dict.fromkeys(app.get("tags", []), "django_tags"),
                        "context_processors": ["django.template.context_processors.i18n"]},
        }],
    )
    django.setup()
    urls = [path(route, print, name=key.rpartition(":")[2]) for key, route in app.get("urls", {}).items()]
    spaces = next((key.split(":")[:-1] for key in app.get("urls", {}) if ":" in key), [])
    for space in reversed(spaces):
        urls = [path("", include((urls, space)))]
    urlpatterns[:] = urls

    # The language of the texts in the templates. It has no catalog of its own.
    source = app.get("source", "en")
    names = english_first(locales(places) - {source})
    for locale in [source, *names]:
        try:
            translation.activate(translation.to_language(locale))
        except ValueError as error:
            print(f"left out: {name}, {locale}: {error}", file=sys.stderr)
            continue
        for kind, mail in app["mails"].items():
            token, code, what = django_token(), mail.get("make", lambda: digits(6))(), mail.get("is", "link")
            if what == "both":  # The link has the code in it.
                token = code
            values = context(app, mail, token, code)
            values.pop(mail.get("unset"), None)
            secret = {"code": {"code": code}, "deny": {"deny": token}, "link": {"secret": token},
                      "both": {"code": code, "secret": token}}.get(what, {})
            if mail.get("cancel"):
                secret["deny"] = token[::-1]
            part(origin=name, lang=locale.replace("_", "-"), **{"class": kind}, **rendered(mail, values), **secret)


urlpatterns = []
if __name__ == "__main__":
    print(*APPS, sep="\n") if sys.argv[1] == "--names" else main(sys.argv[1])
