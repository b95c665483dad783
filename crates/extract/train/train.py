#!/usr/bin/env python3
"""Trains the weights of the extractor's two models.

    pip install numpy scipy scikit-learn
    cargo run --release -p extract --example features -- CASES.jsonl ... > features.jsonl
    crates/extract/train/train.py features.jsonl crates/extract/src/model

Each line of features.jsonl is a labelled mail and what the models see of it. The result is
`codes.bin` and `links.bin`: one signed byte for each place in the table of weights. The
same input gives the same bytes.

Before it writes, it prints precision and recall by cross-validation: each writer's mails
are scored by models that saw none of them.
"""

import collections
import json
import pathlib
import re
import sys

import numpy
from scipy import sparse
from sklearn.linear_model import LogisticRegression

PLACES = 1 << 17
UNIT = 32
# How strongly weights are held near zero, chosen by cross-validation.
STRENGTH = {"codes": 0.3, "links": 0.3}
# A link that must never be returned counts as this many others, and so does a mail of the
# project's own corpus, whose labels are tests.
FORBIDDEN = 25.0
OWN = 3.0
FOLDS = 5


def compact(text):
    return re.sub(r"[^A-Za-z0-9]", "", text or "").upper()


def is_same(one, other):
    """Equal, or equal but for a prefix of letters, as the extractor compares codes."""
    long, short = sorted([compact(one), compact(other)], key=len, reverse=True)
    prefix = long[: len(long) - len(short)]
    is_prefixed = len(short) >= 4 and len(prefix) <= 4 and prefix.isalpha() and long.endswith(short)
    return long == short or is_prefixed


class Candidates:
    """The candidates of all mails for one model."""

    def __init__(self, kind, mails):
        self.kind = kind
        self.mails = []
        self.mail_of, self.values, self.labels, self.forbidden, self.usable = [], [], [], [], []
        places, ends = [], [0]
        for mail in mails:
            if not mail["features"] or kind == "links" and mail["expected_links"] is None:
                continue
            self.mails.append(mail)
            shared = mail["features"]["shared"][0 if kind == "codes" else 1]
            for one in mail["features"][kind]:
                self.mail_of.append(len(self.mails) - 1)
                self.values.append(one["value"])
                self.labels.append(self.is_right(mail, one["value"]))
                self.forbidden.append(one["value"] in (mail["forbidden_links"] or []))
                self.usable.append(one["points"] > -1000)
                # A place that is in both lists counts twice, as in the extractor.
                places.extend(shared)
                places.extend(one["features"])
                ends.append(len(places))
        ones = numpy.ones(len(places), dtype=numpy.float32)
        shape = (len(self.labels), PLACES)
        self.matrix = sparse.csr_matrix((ones, places, ends), shape=shape)
        self.matrix.sum_duplicates()
        self.labels = numpy.array(self.labels)
        self.writer = numpy.array([self.mails[at]["writer"] for at in self.mail_of])
        self.weights = numpy.where(self.forbidden, FORBIDDEN, 1.0)
        self.weights *= numpy.where(self.writer == "own", OWN, 1.0)

    def is_right(self, mail, value):
        if self.kind == "links":
            return value in mail["expected_links"]
        accepted = [mail["expected_otp"], *(mail["accept"] or [])]
        return any(is_same(value, code) for code in accepted if code)

    def fit(self, rows):
        model = LogisticRegression(
            C=STRENGTH[self.kind], solver="liblinear", fit_intercept=False, max_iter=400
        )
        model.fit(self.matrix[rows], self.labels[rows], sample_weight=self.weights[rows])
        return numpy.clip(numpy.rint(model.coef_[0] * UNIT), -127, 127).astype(numpy.int8)

    def scores(self, weights, rows):
        return self.matrix[rows] @ weights.astype(numpy.float32) / UNIT

    def answers(self, weights, rows):
        """For each mail its best value, by score."""
        best = collections.defaultdict(dict)
        for row, score in zip(rows, self.scores(weights, rows)):
            if self.usable[row]:
                known = best[self.mail_of[row]]
                value = self.values[row]
                known[value] = max(known.get(value, (-99, False)), (score, bool(self.labels[row])))
        return {mail: max(known.values()) for mail, known in best.items()}


def tally(candidates, answers, mails, threshold):
    right = wrong = expected = 0
    for at in mails:
        mail = candidates.mails[at]
        wanted = mail["expected_otp"] if candidates.kind == "codes" else mail["expected_links"]
        expected += bool(wanted)
        score, is_right = answers.get(at, (-99, False))
        if score >= threshold:
            right += is_right
            wrong += not is_right
    precision = right / max(1, right + wrong)
    return f"precision {precision:.3f} recall {right / max(1, expected):.3f} wrong {wrong}"


def cross_validate(candidates):
    writers = sorted({writer for writer in candidates.writer if writer.isdigit()})
    answers = {}
    for fold in range(FOLDS):
        is_held_back = numpy.isin(candidates.writer, writers[fold::FOLDS])
        weights = candidates.fit(numpy.where(~is_held_back)[0])
        answers.update(candidates.answers(weights, numpy.where(is_held_back)[0]))
    mails = [at for at, mail in enumerate(candidates.mails) if mail["writer"].isdigit()]
    print(f"{candidates.kind}: {len(mails)} mails of {len(writers)} writers, cross-validated")
    for threshold in (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0):
        print(f"  log odds >= {threshold:4.1f}: {tally(candidates, answers, mails, threshold)}")


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    mails = [json.loads(line) for line in source.open()]
    for mail in mails:
        mail["writer"] = pathlib.Path(mail["file"]).stem
    for kind in ("codes", "links"):
        candidates = Candidates(kind, mails)
        cross_validate(candidates)
        weights = candidates.fit(numpy.arange(len(candidates.labels)))
        (target / f"{kind}.bin").write_bytes(weights.tobytes())
        print(f"  wrote {target / kind}.bin, {numpy.count_nonzero(weights)} weights")


if __name__ == "__main__":
    main()
