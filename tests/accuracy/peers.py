"""Asks other extractors for the code of each mail and counts their answers.

    peers.py SCORES MAILS...

Every extractor gets the same text, and one that raises an exception gave no answer. An
answer is judged as `crates/extract/examples/accuracy/judge.rs` judges ours.
"""

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import unicodedata
from email import message_from_bytes
from email.policy import default

import imap_reader.parser
import ote.__main__
import otp_gateway.patterns
import otp_message_extractor
from bs4 import BeautifulSoup

NODE = pathlib.Path(os.environ["PEERS_NODE"])
# Letters that no accent can be taken from, as crates/extract/src/fold/character.rs has them.
LETTERS = {
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ɗ": "d", "þ": "th",
    "ħ": "h", "ı": "i", "ə": "e", "ɛ": "e", "ŋ": "n", "ɓ": "b", "ƙ": "k",
}


def compact(code):
    """What counts of a code: letters and digits of any script, without case and accents."""
    kept = []
    for letter in code:
        digit = unicodedata.decimal(letter, None)
        if digit is not None:
            kept.append(str(digit))
        elif "\uff01" <= letter <= "\uff5e":
            kept.append(chr(ord(letter) - 0xFEE0))
        else:
            parts = unicodedata.normalize("NFD", letter.lower())
            kept += [LETTERS.get(part, part) for part in parts]
    return "".join(c for c in "".join(kept) if c.isalnum()).upper()


def text_of(raw):
    """The subject, a blank line, and the text part or else the text of the HTML part."""
    mail = message_from_bytes(raw.encode(errors="replace"), policy=default)
    part = mail.get_body(("plain", "html"))
    body = content(part) if part else ""
    if part and part.get_content_type() == "text/html":
        body = BeautifulSoup(body, "html.parser").get_text("\n")
    return f"{mail['subject'] or ''}\n\n{body}"


def content(part):
    try:
        return part.get_content()
    except LookupError:  # a charset that Python does not know
        return part.get_payload(decode=True).decode(errors="replace")


def from_python(find):
    def answers(texts):
        for text in texts:
            try:
                yield find(text)
            except Exception:  # whatever it is, it is no answer
                yield None

    return answers


def parse_otp_message(texts):
    script = pathlib.Path(__file__).with_name("parse_otp_message.js")
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run(
        ["node", script], input=lines, stdout=subprocess.PIPE, text=True, check=True,
        env=os.environ | {"NODE_PATH": str(NODE / "node_modules")},
    )
    return map(json.loads, done.stdout.splitlines())


def node_version(name):
    return json.loads((NODE / "node_modules" / name / "package.json").read_text())["version"]


def find_with_ote(text):
    # As its function for mails does, which may return a link in place of the code.
    return ote.__main__.get_otp(ote.__main__.reader.handle(text))


# The package, its registry, and how it answers to texts. Where a package returns several
# codes, the first one is its answer.
PEERS = [
    ("otp-message-extractor", "PyPI", from_python(lambda text: (otp_message_extractor.extract_otp(text) or {}).get("code"))),
    ("otp-gateway", "PyPI", from_python(otp_gateway.patterns.extract_otp)),
    ("imap-reader", "PyPI", from_python(lambda text: next(iter(imap_reader.parser.extract_otp_codes(text)), None))),
    ("ote", "PyPI", from_python(find_with_ote)),
    ("parse-otp-message", "npm", parse_otp_message),
]


def scored(cases, answers):
    right = wrong = 0
    for case, answer in zip(cases, answers, strict=True):
        if answer:
            spellings = [case.get("expected_otp"), *(case.get("accept") or [])]
            is_right = compact(answer) in [compact(code) for code in spellings if code is not None]
            right, wrong = right + is_right, wrong + (not is_right)
    expected = sum(case.get("expected_otp") is not None for case in cases)
    return {"mails": len(cases), "expected": expected, "right": right, "wrong": wrong}


def main(target, *files):
    # Not splitlines: a mail may have other line ends in it, which JSON need not escape.
    cases = [json.loads(line) for file in files for line in open(file, encoding="utf-8", newline="\n")]
    texts = [text_of(case["raw"]) for case in cases]
    scores = []
    for name, registry, answers in PEERS:
        version = importlib.metadata.version(name) if registry == "PyPI" else node_version(name)
        scores.append({"name": name, "registry": registry, "version": version, **scored(cases, answers(texts))})
    pathlib.Path(target).write_text(json.dumps(scores, indent=1) + "\n")


main(*sys.argv[1:])
