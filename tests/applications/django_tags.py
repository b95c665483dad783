"""Stands in for tags that need the whole application. None of them has a text of its own."""

import re

from django import template
from django.urls import reverse

from secrets_of import SITE

register = template.Library()


@register.simple_tag
def absolute_url(domain, path):
    return f"https://{domain}{path}"


@register.simple_tag
def absoluteurl(name, **arguments):
    return SITE + reverse(name, kwargs=arguments)


@register.simple_tag
def base_url_setting():
    return SITE


@register.simple_tag
def user_display(user):
    return str(user)


@register.simple_tag
def full_name(user):
    return user.full_name


@register.simple_tag
def config(name):
    """The only setting that a mail asks for is the name of the organisation."""
    return "Harbour"


@register.simple_tag
def organisation_website(name):
    return {"name": "Harbour", "url": SITE}.get(name, "")


@register.filter
def add_site_url(content):
    return re.sub(r'(href|src)="/', rf'\1="{SITE}/', content)


class Nothing(template.Node):
    def render(self, context):
        return ""


@register.tag
def compress(parser, token):
    """Style sheets only."""
    parser.parse(("endcompress",))
    parser.delete_first_token()
    return Nothing()


class Now(template.Node):
    def __init__(self, name):
        self.name = name

    def render(self, context):
        context[self.name] = "2026-11-16 09:00"
        return ""


@register.tag
def now(parser, token):
    """`now FORMAT as NAME`. A date in the words of a locale would make a mail without a
    translation look like one with it, and each run would differ from the one before."""
    return Now(token.split_contents()[-1])
