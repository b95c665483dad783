"""Renders the mails of applications of Python with other engines: Mako, Chameleon, Genshi."""

import gettext
import re
from types import SimpleNamespace

from babel.messages.pofile import read_po
from chameleon import PageTemplateFile
from genshi.filters import Translator
from genshi.template import MarkupTemplate
from mako.lookup import TemplateLookup

from secrets_of import HEX, SITE, english_first, part, some, url_token
from sources import folder


def catalogs(place, domain):
    """English and every locale with a catalog."""
    names = {file.parts[-3] for file in folder(place).glob(f"*/LC_MESSAGES/{domain}.mo")}
    for name in english_first(names | {"en"}):
        yield name.replace("_", "-"), gettext.translation(domain, folder(place), [name], fallback=True)


def kallithea():
    """The mail has a link, and the code for a reader who cannot open it."""
    lookup = TemplateLookup([str(folder("kallithea/kallithea/templates"))], default_filters=["str", "h"],
                            imports=["from markupsafe import escape as h"], input_encoding="utf-8")
    styles = dict.fromkeys("color_text color_emph color_link color_border color_background_grey color_button".split(), "#395fa0")
    styles |= dict.fromkeys("monospace_style sans_style default_style emph_style link_style".split(), "font-family:Helvetica")
    for lang, catalog in catalogs("kallithea/kallithea/i18n", "kallithea"):
        code = some(HEX, 40)
        link = f"{SITE}/_admin/password_reset_confirmation?email=mara%40inbox.example.net&timestamp=1794819600&token={code}"
        said = {"_": catalog.gettext, "user": "mara", "reset_token": code, "reset_url": link, "c": None, "webutils": None}
        part(origin="kallithea", lang=lang, **{"class": "reset-code-and-link"}, subject=catalog.gettext("Password reset link"),
             text=lookup.get_template("email/password_reset.txt").render_unicode(**said),
             html=lookup.get_template("email/password_reset.html").render_unicode(**said, **styles), code=code, secret=code)


def kotti():
    for lang, catalog in catalogs("kotti/locale", "Kotti"):
        def translate(msgid, domain=None, mapping=None, context=None, target_language=None, default=None):
            found = catalog.gettext(msgid)
            found = (default or msgid) if found == msgid else found
            return re.sub(r"\$\{(\w+)\}", lambda name: str((mapping or {}).get(name[1], name[0])), found)

        for kind, name in (("reset-link", "email-reset-password"), ("invitation", "email-set-password")):
            token = some(HEX, 64)
            mail = PageTemplateFile(str(folder("kotti/templates") / f"{name}.pt"), translate=translate)(
                site_title="Harbour", user_title="Mara", url=f"{SITE}/@@set-password?token=1794819600:{token}&email=mara%40inbox.example.net")
            subject, html = re.search(r"Subject:(.*?)\n\s*\n(.*)", mail, re.DOTALL).groups()
            # The application makes the text with html2text, which keeps the lines of these mails.
            text = re.sub("<[^>]*>", "", html).replace("&amp;", "&")
            part(origin="Kotti", lang=lang, **{"class": kind}, subject=re.sub("<[^>]*>", "", subject), text=text, html=html, secret=token)


def tryton():
    """The translations of Tryton stand in its database, under the name of the report."""
    module = folder("trytond/modules/web_user")
    names = {file.stem for file in (module / "locale").glob("*.po")}
    for lang in english_first(names | {"en"}):
        said = {}
        if lang in names:
            with (module / "locale" / f"{lang}.po").open("rb") as file:
                said = {line.id: line.string for line in read_po(file) if (line.context or "").startswith("report:") and line.string}
        catalog = gettext.NullTranslations()
        catalog.gettext = catalog.ugettext = lambda line, said=said: said.get(line, line)
        for kind, name, path in (("address-link", "email_validation", "/validate?token={}"), ("reset-link", "email_reset_password", "/reset?token={}")):
            token = url_token(40)
            link = SITE + path.format(token)
            user = SimpleNamespace(email="mara@inbox.example.net", get_email_reset_password_url=lambda: link, get_email_validation_url=lambda: link,
                                   reset_password_token_expire=SimpleNamespace(isoformat=lambda: "2026-11-16T10:00:00"))
            template = MarkupTemplate((module / f"{name}.html").read_text())
            Translator(catalog).setup(template)
            html = template.generate(records=[user], record=user, format_timedelta=str, expire_delay="1 h").render("xhtml", encoding=None)
            title = re.search("<title>(.*?)</title>", html)[1]
            part(origin="tryton", lang=lang.replace("_", "-"), **{"class": kind}, subject=title, html=html, secret=token)


kallithea()
kotti()
tryton()
