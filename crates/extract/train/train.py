#!/usr/bin/env python3
"""Trains the weights of the extractor's two models.

    pip install numpy scipy scikit-learn
    crates/extract/train/rows.py ROWS SHARED
    cargo run --release -p extract --example features -- \\
        ROWS/*.jsonl tests/fixtures/mail/hands/NN.jsonl ... > features.jsonl
    crates/extract/train/train.py features.jsonl crates/extract/src/model

NN are the writers that `tests/fixtures/mail/hands/README.md` names for training. Each line
of features.jsonl is a labelled mail and what the models see of it. The result is
`codes.bin` and `links.bin`: one signed byte for each place in the table of weights, and
`values.bin`: a bias and the weights with which `code/value.rs` judges a value by all of its
occurrences and by its rivals, as 32-bit integers. The same input gives the same bytes.

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
OWN = {"codes": 3.0, "links": 8.0}
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
        self.points = []
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
                self.points.append(one["points"])
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
        self.weights *= numpy.where(self.writer == "own", OWN[kind], 1.0)

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


def held_back_odds(candidates):
    """The log odds of each candidate, by weights that saw no mail of its writer."""
    writers = sorted({writer for writer in candidates.writer if writer.isdigit()})
    parts = [numpy.isin(candidates.writer, writers[fold::FOLDS]) for fold in range(FOLDS)]
    is_other = ~numpy.isin(candidates.writer, writers)
    parity = numpy.array(candidates.mail_of) % 2
    parts += [is_other & (parity == 0), is_other & (parity == 1)]
    odds = numpy.zeros(len(candidates.labels))
    for part in parts:
        weights = candidates.fit(numpy.where(~part)[0])
        rows = numpy.where(part)[0]
        odds[rows] = candidates.scores(weights, rows)
    return numpy.rint(odds * UNIT).astype(int)


def value_facts(odds, others, points, count, values, value):
    """The same whole numbers as in code/value.rs."""
    limit = lambda number: int(max(-10 * UNIT, min(10 * UNIT, number)))  # noqa: E731
    best, mean = limit(max(odds)), int(sum(map(limit, odds)) / len(odds))
    other = limit(max(others)) if others else -6 * UNIT
    above = lambda number: max(0, number)  # noqa: E731
    flag = lambda is_so: UNIT if is_so else 0  # noqa: E731
    digits = sum(character.isdigit() for character in value)
    return [
        best, mean, other,
        above(best - 2 * UNIT), above(-UNIT - best), above(other), above(mean), above(-mean),
        above(best - other),
        above(points - 60), above(points - 100), min(100, above(60 - points)),
        flag(count == 1), UNIT * min(6, above(count - 2)),
        flag(values == 1), UNIT * min(10, above(values - 2)),
        flag(len(value) == 4), flag(len(value) == 6), UNIT * min(6, above(len(value) - 6)),
        flag(digits == len(value)), flag(digits == 0),
    ]


class Values:
    """The different values of all mails."""

    def __init__(self, candidates, odds):
        self.candidates = candidates
        grouped = collections.defaultdict(lambda: collections.defaultdict(list))
        for row, mail in enumerate(candidates.mail_of):
            grouped[mail][compact(candidates.values[row])].append(row)
        self.facts, self.labels, self.mail_of, self.writer, self.weights = [], [], [], [], []
        for mail, values in grouped.items():
            for value, rows in values.items():
                others = [odds[row] for name, those in values.items() if name != value for row in those]
                points = max(candidates.points[row] for row in rows)
                own = [odds[row] for row in rows]
                self.facts.append(value_facts(own, others, points, len(rows), len(values), value))
                self.labels.append(any(candidates.labels[row] for row in rows))
                self.mail_of.append(mail)
                self.writer.append(candidates.mails[mail]["writer"])
                self.weights.append(OWN["codes"] if self.writer[-1] == "own" else 1.0)
        self.facts = numpy.array(self.facts, dtype=float)
        self.labels, self.writer = numpy.array(self.labels), numpy.array(self.writer)
        self.weights = numpy.array(self.weights)

    def fit(self, rows):
        facts = self.facts[rows] / UNIT
        middle, width = facts.mean(axis=0), facts.std(axis=0) + 1e-9
        model = LogisticRegression(C=0.3, max_iter=2000)
        model.fit((facts - middle) / width, self.labels[rows], sample_weight=self.weights[rows])
        weights = model.coef_[0] / width
        bias = model.intercept_[0] - (weights * middle).sum()
        return numpy.rint([bias * UNIT, *(weights * 1024)]).astype("<i4")

    def scores(self, fitted, rows):
        return (fitted[0] + self.facts[rows] @ fitted[1:] / 1024) / UNIT

    def cross_validate(self):
        writers = sorted({writer for writer in self.writer if writer.isdigit()})
        answers = {}
        for fold in range(FOLDS):
            is_held_back = numpy.isin(self.writer, writers[fold::FOLDS])
            fitted = self.fit(numpy.where(~is_held_back)[0])
            rows = numpy.where(is_held_back)[0]
            for row, score in zip(rows, self.scores(fitted, rows)):
                mail = self.mail_of[row]
                answers[mail] = max(answers.get(mail, (-99, False)), (score, bool(self.labels[row])))
        mails = [at for at, mail in enumerate(self.candidates.mails) if mail["writer"].isdigit()]
        print(f"values: {len(mails)} mails of {len(writers)} writers, cross-validated")
        for threshold in (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
            print(f"  log odds >= {threshold:4.1f}: {tally(self.candidates, answers, mails, threshold)}")


def train_values(candidates, target):
    values = Values(candidates, held_back_odds(candidates))
    values.cross_validate()
    fitted = values.fit(numpy.arange(len(values.labels)))
    (target / "values.bin").write_bytes(fitted.tobytes())
    print(f"  wrote {target / 'values'}.bin, {list(fitted)}")


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
        if kind == "codes":
            train_values(candidates, target)


if __name__ == "__main__":
    main()
