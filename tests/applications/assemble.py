"""Reads the parts of mails that the renderers print and writes labelled cases.

    assemble.py < PARTS > CASES

A part is a JSON line: origin, lang, class, subject, text, html, and the secrets of the mail:
`code` (the reader types it), `secret` (it is in the action link), `deny` (it is in a link
that must not be returned). `formatted` is a value that a library writes in the words of a
locale even where the mail is not translated. The labels are found in the finished mail by these secrets, so
no renderer has to know how its templates write a link.
"""

import html
import json
import re
import sys
from collections import defaultdict
from email.message import EmailMessage
from email.policy import default

# Django sends 8 bit, too. A line end of a case is \n.
POLICY = default.clone(linesep="\n", cte_type="8bit", max_line_length=78)
# A word may stand right behind a link, so only what a link can be made of counts.
LINK = re.compile(r"https?://app\.example\.com[A-Za-z0-9._~:/?#@!$&*+,;=%-]*")


def links(part, secret):
    """The links of a mail that have a secret in them, as a reader would open them."""
    found = []
    for kind in ("text", "html"):
        for link in LINK.findall(part.get(kind) or ""):
            link = (html.unescape(link) if kind == "html" else link).rstrip(".,;:!。、।۔")
            if secret in link and link not in found:
                found.append(link)
    return found


def cut(found, secret, tails):
    """Ends each link where the first mail of its kind ends it. A translator may have glued
    the next word to a link, and only the application knows where it ends."""
    if not tails:
        tails.update(link.partition(secret)[2] for link in found)
    known = sorted(tails, key=len, reverse=True)
    result = []
    for link in found:
        start, _, tail = link.partition(secret)
        link = start + secret + next((end for end in known if tail.startswith(end)), tail)
        if link not in result:
            result.append(link)
    return result


def encoded(text):
    long = any(len(line.encode()) > 990 for line in text.splitlines())  # RFC 5322 allows 998
    return {"cte": "quoted-printable" if long else "8bit", "charset": "utf-8"}


def mail(part, name):
    message = EmailMessage(policy=POLICY)
    message["From"] = "Harbour <no-reply@app.example.com>"
    message["To"] = "mara@inbox.example.net"
    message["Subject"] = " ".join(part["subject"].split())
    message["Date"] = "Mon, 16 Nov 2026 09:00:00 +0000"
    message["Message-ID"] = f"<{re.sub('[^A-Za-z0-9.-]', '-', name)}@app.example.com>"
    if part.get("text"):
        message.set_content(part["text"], **encoded(part["text"]))
        if part.get("html"):
            message.add_alternative(part["html"], subtype="html", **encoded(part["html"]))
            message.set_boundary("=====part=====")
    else:
        message.set_content(part["html"], subtype="html", **encoded(part["html"]))
    return message.as_bytes().decode()


def main():
    seen, broken, tails = set(), [], defaultdict(set)
    for line in sys.stdin:
        part = json.loads(line)
        name = f"{part['origin']}/{part['class']}/{part['lang']}"
        body = "\n".join(part.get(key) or "" for key in ("subject", "text", "html"))
        for key in ("code", "secret", "deny", "formatted"):
            if part.get(key):
                body = body.replace(part[key], key)
        # A locale that has no translation of a mail sends the English one again.
        if (part["origin"], part["class"], body) in seen:
            continue
        seen.add((part["origin"], part["class"], body))
        # The marks of a translation service, around every word. No reader gets them.
        if "crwdn" in body:
            broken.append(f"{name}: a locale for translators")
            continue
        action, denied = (
            cut(links(part, part[key]), part[key], tails[part["origin"], part["class"], key]) if part.get(key) else []
            for key in ("secret", "deny")
        )
        lost = [key for key, found in (("secret", action), ("deny", denied)) if part.get(key) and not found]
        if part.get("code") and "code" not in body:
            lost.append("code")
        if lost:
            broken.append(f"{name}: no {' and no '.join(lost)} in the mail")
            continue
        case = {
            "id": name,
            "origin": part["origin"],
            "channel": "email",
            "lang": part["lang"],
            "class": part["class"],
            "raw": mail(part, name),
            "expected_otp": part.get("code"),
            "accept": [],
            "expected_links": action,
            "forbidden_links": denied,
            "note": part.get("note", ""),
        }
        print(json.dumps(case, ensure_ascii=False))
    # A translator may have lost a placeholder. Such a mail cannot be acted on.
    print(*(f"left out: {line}\n" for line in broken), sep="", end="", file=sys.stderr)


main()
