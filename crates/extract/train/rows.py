#!/usr/bin/env python3
"""Writes the labelled mails that are no hands as rows for the example `features`.

    crates/extract/train/rows.py FOLDER [SHARED]

FOLDER/own.jsonl holds the project's own corpus, tests/fixtures/mail. With SHARED, a folder
with cases.jsonl and written.jsonl, it writes those as raw mails, too. Hostile mails and
disputed rows are left out: their labels say what must be refused, not what is right.
"""

import base64
import json
import pathlib
import sys

CORPUS = pathlib.Path(__file__).resolve().parents[3] / "tests" / "fixtures" / "mail"
KEPT = ("id", "lang", "expected_otp", "accept", "expected_links", "forbidden_links", "origin", "channel")


def own():
    for file in sorted(CORPUS.glob("*.eml")):
        label = json.loads(file.with_suffix(".json").read_text())
        kind, link = label.get("class"), label.get("link")
        if kind == "hostile" or kind == "link_safety" and not link:
            continue
        try:
            raw = file.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        yield {
            "id": file.stem, "lang": label.get("lang"), "class": kind,
            "expected_otp": label.get("code"), "expected_links": [link] if link else [], "raw": raw,
        }


def shared(folder, name):
    for line in (folder / f"{name}.jsonl").open():
        row = json.loads(line)
        if row.get("disputed"):
            continue
        try:
            raw = (folder / row["eml_path"]).read_bytes().decode() if row.get("eml_path") else raw_mail(row)
        except UnicodeDecodeError:
            continue
        yield {key: row.get(key) for key in KEPT} | {"raw": raw}


def raw_mail(row):
    """A mail around a text or an HTML body."""
    encoded = lambda text: base64.b64encode(text.encode()).decode()  # noqa: E731
    kind, body = ("html", row["html"]) if row.get("html") else ("plain", row.get("text") or "")
    head = ["From: Sender <no-reply@sender.example>", "To: inbox@inbox.example", "MIME-Version: 1.0"]
    if row.get("subject"):
        head.append(f"Subject: =?utf-8?b?{encoded(row['subject'])}?=")
    head += [f"Content-Type: text/{kind}; charset=utf-8", "Content-Transfer-Encoding: base64", ""]
    text = encoded(body)
    lines = [text[at : at + 76] for at in range(0, len(text), 76)] or [""]
    return "\r\n".join([*head, *lines, ""])


def write(file, rows):
    with file.open("w") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write(target / "own.jsonl", own())
    for name in ("cases", "written") if len(sys.argv) == 3 else ():
        write(target / f"{name}.jsonl", shared(pathlib.Path(sys.argv[2]), name))


if __name__ == "__main__":
    main()
