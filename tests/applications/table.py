"""Prints the table by application.

    table.py CASES ANSWERS...       ANSWERS are reports of `maillatch eval --json --show …`

A mail is right if its code and its link are as labelled. It is wrong if either is another
one, or is there and should not be. Otherwise something was not answered. The exit status
is 1 if a mail is wrong.
"""

import json
import sys
from collections import defaultdict


def main(cases, *answers):
    mails = [json.loads(line) for line in open(cases, encoding="utf-8")]
    outcome = {}
    for file in answers:
        for found in json.load(open(file, encoding="utf-8"))["cases"]:
            verdict = "abstained" if found["outcome"] == "missed" else "wrong"
            if outcome.get(found["id"]) != "wrong":
                outcome[found["id"]] = verdict
            answer = found["got"] or f"nothing ({found['reason']})"
            print(f"{verdict}: {found['id']}: {found['what']} {answer}")
    rows = defaultdict(lambda: {"mails": 0, "locales": set(), "right": 0, "abstained": 0, "wrong": 0})
    for mail in mails:
        for name in (mail["origin"], "all"):
            rows[name]["mails"] += 1
            rows[name]["locales"].add(mail["lang"])
            rows[name][outcome.get(mail["id"], "right")] += 1
    width = max(map(len, rows)) + 2
    print(f"\n{'application':<{width}}{'mails':>7}{'locales':>9}{'right':>7}{'abstained':>11}{'wrong':>7}")
    for name in sorted(rows, key=lambda name: (name == "all", name.lower())):
        row = rows[name]
        print(f"{name:<{width}}{row['mails']:>7}{len(row['locales']):>9}{row['right']:>7}{row['abstained']:>11}{row['wrong']:>7}")
    sys.exit(rows["all"]["wrong"] > 0)


main(*sys.argv[1:])
