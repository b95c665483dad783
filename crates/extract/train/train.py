#!/usr/bin/env python3
"""Trains the weights of the extractor's models.

    pip install numpy scipy 'scikit-learn>=1.4'
    crates/extract/train/rows.py ROWS SHARED
    cargo run --release -p extract --example features -- \\
        ROWS/*.jsonl tests/fixtures/mail/hands/NN.jsonl ... > features.jsonl
    crates/extract/train/train.py features.jsonl crates/extract/src/model

NN are the writers that `tests/fixtures/mail/hands/README.md` names for training. Each line
of features.jsonl is a labelled mail and what the models see of it. The result is

* `codes.bin` and `links.bin`, one signed byte for each place in the table of weights;
* `mails.bin`, the same for the question whether a mail has a code at all;
* `network.bin`, the network that judges a value beside the trees (`network.py`);
* `trees.bin` and `link_trees.bin`, the trees with which `code/value.rs` judges a value, and
  `link/decide/target.rs` a target, by all of its occurrences and by its rivals.

The same input gives the same bytes on the same machine. Before it writes, it prints precision
and recall by cross-validation: each writer's mails are scored by models that saw none of them.
A third argument, `codes` or `links`, trains only those.
"""

import collections
import json
import pathlib
import re
import struct
import sys
import unicodedata

import numpy
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from network import Inputs, Network

PLACES = {"codes": 1 << 22, "links": 1 << 17}
# Features of fewer rows get no weight: rare words would fill the table, and a new word would
# find the weight of another one. A row is a candidate with the features of its mail, or a mail.
RARE = {"codes": 3, "links": 1, "mails": 3}
UNIT = 32
# How many parts the features of a candidate have.
PARTS = 6
# How strongly weights are held near zero, chosen by cross-validation.
STRENGTH = {"codes": 0.3, "links": 0.3, "mails": 0.1}
# A link that must never be returned counts as this many others, and so does a mail of the
# project's own corpus, whose labels are tests. For the trees, a row that is no mail of the
# writers counts as several: there are few of them.
FORBIDDEN = 25.0
# The same for the trees of links: they see the score of the weights, so less is enough.
FORBIDDEN_TREES = 5.0
OWN_TREES = 15.0
OWN = {"codes": 3.0, "links": 25.0}
ROWS = 3.0
FOLDS = 5
# The trees: as many levels and values of a mail as in the extractor.
LEVELS = {"codes": 6, "links": 4}
VALUES = {"codes": 4, "links": 6}
LEAF = 512
ROUNDS = {"codes": 800, "links": 250}
RATE = {"codes": 0.025, "links": 0.05}
# Which share of the facts each node of a tree may choose from.
SHARE = {"codes": 0.2, "links": 1.0}
TREES = {
    "max_leaf_nodes": None, "min_samples_leaf": 30,
    "l2_regularization": 5.0, "early_stopping": False, "random_state": 0,
}
# How much of the odds of a code are those of the network, as in code/value.rs.
NETWORK = 0.3


def compact(text):
    parts = unicodedata.normalize("NFKD", text or "")
    return "".join(c for c in parts if c.isalnum()).upper()


def is_same(one, other):
    """Equal, or equal but for a prefix of letters, as the extractor compares codes."""
    long, short = sorted([compact(one), compact(other)], key=len, reverse=True)
    prefix = long[: len(long) - len(short)]
    is_prefixed = len(short) >= 4 and len(prefix) <= 4 and prefix.isalpha() and long.endswith(short)
    return long == short or is_prefixed


def matrix(parts, places_of_table):
    """A row for each list of places. A place that is there twice counts twice."""
    places = numpy.array([place for part in parts for place in part], dtype=numpy.int64)
    places &= places_of_table - 1
    ends = numpy.cumsum([0, *map(len, parts)])
    ones = numpy.ones(len(places), dtype=numpy.float32)
    made = sparse.csr_matrix((ones, places, ends), shape=(len(parts), places_of_table))
    made.sum_duplicates()
    return made


def fit(features, labels, weights, kind):
    used = numpy.flatnonzero(numpy.bincount(features.indices) >= RARE[kind])
    solver = "liblinear" if kind == "links" else "lbfgs"
    model = LogisticRegression(
        C=STRENGTH[kind], solver=solver, fit_intercept=False, max_iter=500, tol=1e-4
    )
    model.fit(features[:, used], labels, sample_weight=weights)
    table = numpy.zeros(features.shape[1], dtype=numpy.int8)
    table[used] = numpy.clip(numpy.rint(model.coef_[0] * UNIT), -127, 127)
    return table


def scores(features, weights):
    return (features @ weights.astype(numpy.float32)).astype(int)


class Candidates:
    """The candidates of all mails for one model."""

    def __init__(self, kind, mails):
        self.kind = kind
        self.mails = [
            mail for mail in mails
            if mail["features"] and (kind == "codes" or mail["expected_links"] is not None)
        ]
        self.mail_of, self.values, self.labels, self.forbidden, self.usable = [], [], [], [], []
        self.same = []
        self.points, self.facts, own, shared = [], [], [], []
        for at, mail in enumerate(self.mails):
            shared.append(mail["features"]["shared"][0 if kind == "codes" else 1])
            for one in self.ordered(mail):
                self.mail_of.append(at)
                self.values.append(one["value"])
                self.same.append(one["same"])
                self.labels.append(self.is_right(mail, one["value"]))
                self.forbidden.append(one["value"] in (mail["forbidden_links"] or []))
                self.points.append(one["points"])
                self.usable.append(one["points"] > -1000)
                self.facts.append(one["facts"])
                own.append(one["features"])
        self.mail_of = numpy.array(self.mail_of)
        self.parts = [matrix(part, PLACES[kind]) for part in zip(*own)]
        self.shared_parts = [matrix(part, PLACES[kind]) for part in zip(*shared)]
        self.shared = sum(self.shared_parts[1:], self.shared_parts[0])
        self.all = sum(self.parts[1:], self.parts[0]) + self.shared[self.mail_of]
        self.labels = numpy.array(self.labels)
        self.writers = numpy.array([mail["writer"] for mail in self.mails])
        self.has_one = numpy.array([bool(self.wanted(mail)) for mail in self.mails])
        is_hand = numpy.array([writer.isdigit() for writer in self.writers])
        self.mail_weights = numpy.where(self.writers == "own", OWN[kind], 1.0)
        self.tree_weights = numpy.where(is_hand, 1.0, ROWS)
        if kind == "links":
            self.tree_weights = numpy.where(self.writers == "own", OWN_TREES, self.tree_weights)
        self.weights = numpy.where(self.forbidden, FORBIDDEN, 1.0) * self.mail_weights[self.mail_of]

    def ordered(self, mail):
        """Links in the order of the mail. The order of codes in the file depends on the weights
        that wrote it, so they are sorted."""
        candidates = mail["features"][self.kind]
        if self.kind == "links":
            return candidates
        return sorted(candidates, key=lambda one: (one["value"], one["features"]))

    def wanted(self, mail):
        return mail["expected_otp"] if self.kind == "codes" else mail["expected_links"]

    def is_right(self, mail, value):
        if self.kind == "links":
            return value in mail["expected_links"]
        accepted = [mail["expected_otp"], *(mail["accept"] or [])]
        return any(is_same(value, code) for code in accepted if code)

    def folds(self):
        """For each fold the mails that are held back: writers, then halves of the others."""
        writers = sorted({writer for writer in self.writers if writer.isdigit()})
        for fold in range(FOLDS):
            yield numpy.isin(self.writers, writers[fold::FOLDS])
        is_other = ~numpy.isin(self.writers, writers)
        for parity in (0, 1):
            yield is_other & (numpy.arange(len(self.mails)) % 2 == parity)

    def fit(self, rows):
        return fit(self.all[rows], self.labels[rows], self.weights[rows], self.kind)

    def fit_mails(self, is_used):
        return fit(
            self.shared[is_used], self.has_one[is_used], self.mail_weights[is_used], "mails"
        )

    def held_back(self):
        """The scores of each part of each candidate, and of each mail, by weights that saw no
        mail of its writer."""
        parts = [*self.parts, *(part[self.mail_of] for part in self.shared_parts)]
        odds = numpy.zeros((len(self.labels), len(parts)), dtype=int)
        mails = numpy.zeros(len(self.mails), dtype=int)
        for is_held_back in self.folds():
            rows = numpy.where(is_held_back[self.mail_of])[0]
            weights = self.fit(numpy.where(~is_held_back[self.mail_of])[0])
            for at, part in enumerate(parts):
                odds[rows, at] = scores(part[rows], weights)
            if self.kind == "codes":
                mails[is_held_back] = scores(self.shared[is_held_back], self.fit_mails(~is_held_back))
        return odds, mails


def print_scores(candidates, answers, name):
    """Precision and recall of the best answers: a score, and whether it is right or forbidden."""
    mails = [at for at, mail in enumerate(candidates.mails) if mail["writer"].isdigit()]
    expected = sum(candidates.has_one[at] for at in mails)
    print(f"{name}: {len(mails)} mails of the writers, cross-validated")
    for threshold in (-1.0, -0.5, 0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0):
        given = [answers[at] for at in mails if at in answers and answers[at][0] >= threshold]
        right = sum(is_right for _, is_right, _ in given)
        precision, recall = right / max(1, len(given)), right / expected
        wrong = len(given) - right
        forbidden = sum(is_forbidden for _, _, is_forbidden in given)
        print(
            f"  log odds >= {threshold:5.2f}: {precision:.3f} / {recall:.3f}, "
            f"wrong {wrong}, forbidden {forbidden}"
        )


def limit(number):
    return int(max(-10 * UNIT, min(10 * UNIT, number)))


def code_facts(rows, mail, others, candidates, odds):
    """The same whole numbers as in code/value.rs. `others` are the best odds of the other
    values, their names and their rows."""
    own = [int(odds[row].sum()) for row in rows]
    best_row = rows[own.index(max(own))]
    best, mean, worst = limit(max(own)), int(sum(map(limit, own)) / len(own)), limit(min(own))
    rivals = sorted((other for other, _, _ in others), reverse=True)
    rival, second = [*map(limit, rivals), -10 * UNIT, -10 * UNIT][:2]
    length = len(candidates.same[best_row].encode())
    facts = [candidates.facts[row] for row in rows]
    return [
        best, mean, worst, rival, best - rival, second, limit(mail),
        min(20, len(rows)), min(30, len(others) + 1),
        max(candidates.points[row] for row in rows),
        min(30, 1 + sum(len(other.encode()) == length for _, other, _ in others)),
        max(fact[2] for fact in facts), max(fact[4] == 0 for fact in facts),
        *map(int, odds[best_row]), *candidates.facts[best_row],
    ]


def link_facts(rows, _mail, others, candidates, odds):
    """The same whole numbers as in link/decide/target.rs."""
    own = [int(odds[row].sum()) for row in rows]
    best_row = rows[own.index(max(own))]
    best = limit(max(own))
    rivals = sorted((other for other, _, _ in others), reverse=True)
    rival, second = [*map(limit, rivals), -10 * UNIT, -10 * UNIT][:2]
    points = [candidates.points[row] for row in rows]
    rival_points = [max(candidates.points[row] for row in other) for _, _, other in others]
    parts = list(map(int, odds[best_row]))
    return [
        best, int(sum(map(limit, own)) / len(own)), limit(min(own)), rival, best - rival, second,
        min(20, len(rows)), min(30, len(others) + 1), max(points), min(points),
        max(rival_points, default=-2000), min(30, rival_points.count(-1000)),
        limit(sum(parts[PARTS:])), *parts[:PARTS], *candidates.facts[best_row],
    ]


class Values:
    """The different values of all mails: codes, or targets of links."""

    def __init__(self, candidates, odds, mail_odds):
        self.candidates = candidates
        facts_of = code_facts if candidates.kind == "codes" else link_facts
        grouped = collections.defaultdict(lambda: collections.defaultdict(list))
        for row, mail in enumerate(candidates.mail_of):
            grouped[mail][candidates.same[row]].append(row)
        totals = odds.sum(axis=1)
        self.facts, self.labels, self.mail_of, self.weights, self.usable = [], [], [], [], []
        self.best, self.forbidden = [], []
        for mail, values in grouped.items():
            best = {name: max(totals[row] for row in rows) for name, rows in values.items()}
            for name in sorted(best, key=lambda name: -best[name])[:VALUES[candidates.kind]]:
                rows = values[name]
                others = [
                    (odd, other, values[other]) for other, odd in best.items() if other != name
                ]
                self.facts.append(facts_of(rows, mail_odds[mail], others, candidates, odds))
                self.best.append(max(rows, key=lambda row: totals[row]))
                self.labels.append(any(candidates.labels[row] for row in rows))
                self.mail_of.append(mail)
                is_forbidden = any(candidates.forbidden[row] for row in rows)
                self.forbidden.append(is_forbidden)
                self.weights.append(
                    candidates.tree_weights[mail] * (FORBIDDEN_TREES if is_forbidden else 1.0)
                )
                is_code = candidates.kind == "codes"
                self.usable.append(is_code or all(candidates.usable[row] for row in rows))
        self.facts, self.labels = numpy.array(self.facts, dtype=float), numpy.array(self.labels)
        self.mail_of, self.weights = numpy.array(self.mail_of), numpy.array(self.weights)
        if candidates.kind == "codes":
            # All but the words.
            own = sum(candidates.parts[1:5], candidates.parts[0])[self.best]
            mail = candidates.shared_parts[0] + candidates.shared_parts[1]
            self.inputs = Inputs(own, mail, self.mail_of, self.facts)

    def fit(self, rows):
        kind = self.candidates.kind
        model = HistGradientBoostingClassifier(
            max_depth=LEVELS[kind], max_iter=ROUNDS[kind], learning_rate=RATE[kind],
            max_features=SHARE[kind], **TREES
        )
        return model.fit(self.facts[rows], self.labels[rows], sample_weight=self.weights[rows])

    def network(self, rows):
        return Network(self.inputs, self.labels, self.weights, rows)

    def odds(self, fitted, rows):
        """The log odds of `rows`, by models that were fitted to the rows `fitted`."""
        odds = self.fit(fitted).decision_function(self.facts[rows])
        if self.candidates.kind == "links":
            return odds
        return (1 - NETWORK) * odds + NETWORK * self.network(fitted).odds(self.inputs, rows)

    def cross_validate(self):
        answers = {}
        for is_held_back in list(self.candidates.folds())[:FOLDS]:
            is_tested = is_held_back[self.mail_of]
            rows = numpy.where(is_tested)[0]
            for row, score in zip(rows, self.odds(numpy.where(~is_tested)[0], rows)):
                mail = self.mail_of[row]
                answer = (score, bool(self.labels[row]), self.forbidden[row])
                if self.usable[row]:
                    answers[mail] = max(answers.get(mail, (-99, False, False)), answer)
        print_scores(self.candidates, answers, self.candidates.kind)

    def write(self, target):
        """Trains on everything."""
        model = self.fit(numpy.arange(len(self.labels)))
        start = round(float(model._baseline_prediction[0, 0]) * LEAF)
        levels = LEVELS[self.candidates.kind]
        trees = [tree_bytes(stage[0].nodes, levels) for stage in model._predictors]
        target.write_bytes(struct.pack("<i", start) + b"".join(trees))


def tree_bytes(nodes, levels):
    """A tree with all of its levels: for each inner node a fact and the most that goes left,
    and then the leaves. Where a branch ends early, everything goes left."""
    inner, leaves = [], []
    level = [0]
    for _ in range(levels):
        below = []
        for at in level:
            node = nodes[at]
            if node["is_leaf"]:
                inner.append((0, 32767))
                below += [at, at]
            else:
                threshold = numpy.floor(node["num_threshold"])
                inner.append((int(node["feature_idx"]), int(max(-32768, min(32767, threshold)))))
                below += [node["left"], node["right"]]
        level = below
    leaves = [round(float(nodes[at]["value"]) * LEAF) for at in level]
    packed = [struct.pack("<hh", fact, most) for fact, most in inner]
    return b"".join(packed) + struct.pack(f"<{len(leaves)}h", *leaves)


def train_codes(mails, target):
    candidates = Candidates("codes", mails)
    odds, mail_odds = candidates.held_back()
    values = Values(candidates, odds, mail_odds)
    values.cross_validate()
    values.write(target / "trees.bin")
    values.network(numpy.arange(len(values.labels))).write(values.inputs, target / "network.bin")
    everything = numpy.arange(len(candidates.labels))
    (target / "codes.bin").write_bytes(candidates.fit(everything).tobytes())
    all_mails = numpy.ones(len(candidates.mails), dtype=bool)
    (target / "mails.bin").write_bytes(candidates.fit_mails(all_mails).tobytes())


def train_links(mails, target):
    candidates = Candidates("links", mails)
    odds, mail_odds = candidates.held_back()
    values = Values(candidates, odds, mail_odds)
    values.cross_validate()
    values.write(target / "link_trees.bin")
    everything = numpy.arange(len(candidates.labels))
    (target / "links.bin").write_bytes(candidates.fit(everything).tobytes())


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    kinds = sys.argv[3:] or ["codes", "links"]
    mails = [json.loads(line) for line in source.open()]
    for mail in mails:
        mail["writer"] = pathlib.Path(mail["file"]).stem
    if "codes" in kinds:
        train_codes(mails, target)
    if "links" in kinds:
        train_links(mails, target)


if __name__ == "__main__":
    main()
