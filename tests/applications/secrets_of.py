"""Values of the shapes that the applications make, and the way to print a part."""

import json
import os
import random
import string
import sys

SITE = "https://app.example.com"
HEX = "0123456789abcdef"
LETTERS = string.ascii_letters
# The same number gives the same mails, so that two binaries can be compared.
RANDOM = random.Random(int(os.environ.get("APPLICATIONS_SEED", "2026")))


def some(alphabet, length):
    return "".join(RANDOM.choices(alphabet, k=length))


def digits(length):
    return some(string.digits, length)


def django_token():
    """As django.contrib.auth.tokens makes it: a time in base 36 and 32 hex digits."""
    return some(string.ascii_lowercase + string.digits, 6) + "-" + some("0123456789abcdef", 32)


def url_token(length=43):
    return some(string.ascii_letters + string.digits, length)


def part(**fields):
    json.dump(fields, sys.stdout, ensure_ascii=False)
    sys.stdout.write("\n")


def english_first(locales):
    """English first: the mails that equal it are mails without a translation."""
    return sorted(set(locales), key=lambda name: (not name.startswith("en"), name != "en", name))
