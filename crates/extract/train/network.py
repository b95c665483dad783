"""A small network that judges the values of codes beside the trees.

It sees the most frequent features of the best occurrence of a value and of its mail, but no
words, and the facts of the trees. It is trained like most networks: Adam, and inputs and cells
that are left out by chance, so that no single one decides. `src/model/network.rs` computes the
same with whole numbers.
"""

import numpy
from scipy import sparse

# How many features are inputs, of candidates and of mails.
CANDIDATE_INPUTS, MAIL_INPUTS = 2500, 500
CELLS = (96, 48)
EPOCHS, BATCH, RATE, DECAY = 14, 512, 2e-3, 1e-4
# Which share of the features, facts and cells is kept in each step.
KEEP = {"features": 0.75, "facts": 0.9, "cells": 0.7}
# Facts count up to about this many standard deviations from their mean.
RANGE = 4.0
# Scores count up to this much.
LIMIT = 10.0
# One, as weights and cells are written.
FINE = 1 << 10


def frequent(features, count):
    """The columns of the most frequent features, sorted."""
    uses = numpy.bincount(features.indices, minlength=features.shape[1])
    return numpy.sort(numpy.argsort(-uses, kind="stable")[:count])


class Inputs:
    """What the network sees of each value."""

    def __init__(self, own, mail, mail_of, facts):
        """`own` are the features of the best occurrence of each value, `mail` those of each
        mail."""
        self.own_keys, self.mail_keys = frequent(own, CANDIDATE_INPUTS), frequent(mail, MAIL_INPUTS)
        chosen = [own[:, self.own_keys], mail[:, self.mail_keys][mail_of]]
        self.features = sparse.hstack(chosen).tocsr().astype(numpy.float32)
        self.features.data[:] = 1.0
        deviation = facts.std(axis=0)
        self.deviation = numpy.where(deviation > 0, deviation, 1.0)
        self.mean = facts.mean(axis=0)
        # Whole numbers, because the extractor has no others.
        self.least = numpy.floor(self.mean - RANGE * self.deviation)
        self.most = numpy.ceil(self.mean + RANGE * self.deviation)
        self.limited = numpy.clip(facts, self.least, self.most)
        self.facts = ((self.limited - self.mean) / self.deviation).astype(numpy.float32)


class Network:
    def __init__(self, inputs, labels, weights, rows):
        self.random = numpy.random.default_rng(0)
        features, facts = inputs.features[rows], inputs.facts[rows]
        labels, weights = labels[rows], weights[rows].astype(numpy.float32)
        self.start(features.shape[1], facts.shape[1])
        for epoch in range(EPOCHS):
            self.rate = RATE * 0.5 * (1 + numpy.cos(numpy.pi * epoch / EPOCHS)) + 1e-5
            order = self.random.permutation(len(labels))
            for at in range(0, len(order), BATCH):
                batch = order[at:at + BATCH]
                self.step(features[batch], facts[batch], labels[batch], weights[batch])

    def start(self, features, facts):
        first, second = CELLS
        shapes = [(features, first), (facts, first), (first,), (first, second), (second,),
                  (second, 1), (1,)]
        inputs = [features + facts, features + facts, 0, first, 0, first, 0]
        self.weights = [
            (self.random.normal(0, (2 / count) ** 0.5, shape) if count else numpy.zeros(shape))
            .astype(numpy.float32)
            for shape, count in zip(shapes, inputs)
        ]
        self.means = [numpy.zeros_like(one) for one in self.weights]
        self.squares = [numpy.zeros_like(one) for one in self.weights]
        self.steps = 0

    def kept(self, shape, what):
        is_kept = self.random.random(shape, dtype=numpy.float32) < KEEP[what]
        return is_kept.astype(numpy.float32) / numpy.float32(KEEP[what])

    def step(self, features, facts, labels, weights):
        of_features, of_facts, start, second, second_start, last, last_start = self.weights
        features.data = features.data * self.kept(len(features.data), "features")
        facts = facts * self.kept(facts.shape, "facts")
        first_sums = features @ of_features + facts @ of_facts + start
        first_kept = self.kept(first_sums.shape, "cells")
        first_cells = numpy.maximum(first_sums, 0) * first_kept
        second_sums = first_cells @ second + second_start
        second_kept = self.kept(second_sums.shape, "cells")
        second_cells = numpy.maximum(second_sums, 0) * second_kept
        odds = numpy.clip((second_cells @ last + last_start)[:, 0], -30, 30)
        error = (1 / (1 + numpy.exp(-odds)) - labels) * weights / len(labels)
        error = error[:, None].astype(numpy.float32)
        second_error = (error @ last.T) * second_kept * (second_sums > 0)
        first_error = (second_error @ second.T) * first_kept * (first_sums > 0)
        self.move([
            features.T @ first_error, facts.T @ first_error, first_error.sum(axis=0),
            first_cells.T @ second_error, second_error.sum(axis=0),
            second_cells.T @ error, error.sum(axis=0),
        ])

    def move(self, slopes):
        """One step of Adam."""
        self.steps += 1
        for weights, mean, square, slope in zip(self.weights, self.means, self.squares, slopes):
            mean *= 0.9
            mean += 0.1 * slope
            square *= 0.999
            square += 0.001 * slope * slope
            scale = numpy.sqrt(square / (1 - 0.999 ** self.steps)) + 1e-8
            decay = DECAY * weights if weights.ndim > 1 else 0.0
            weights -= self.rate * (mean / (1 - 0.9 ** self.steps) / scale + decay)

    def odds(self, inputs, rows):
        of_features, of_facts, start, second, second_start, last, last_start = self.weights
        sums = inputs.features[rows] @ of_features + inputs.facts[rows] @ of_facts + start
        sums = numpy.maximum(sums, 0) @ second + second_start
        return numpy.clip((numpy.maximum(sums, 0) @ last + last_start)[:, 0], -LIMIT, LIMIT)

    def write(self, inputs, target):
        """The file that `src/model/network.rs` reads. Facts are not normalised there, so their
        weights are, and the start of each cell makes up for the mean."""
        of_features, of_facts, start, second, second_start, last, last_start = (
            one.astype(float) for one in self.weights
        )
        of_facts = of_facts / inputs.deviation[:, None]
        start = start - inputs.mean @ of_facts
        whole = [
            rounded(of_features * FINE, 16), rounded(of_facts * FINE * FINE, 32),
            rounded(start * FINE * FINE, 32), rounded(second * FINE, 16),
            rounded(second_start * FINE * FINE, 32), rounded(last * FINE, 16),
            rounded(last_start * FINE * FINE, 32),
        ]
        check(self.odds(inputs, slice(None)), whole, inputs)
        of_features, of_facts, start, second, second_start, last, last_start = whole
        counts = [len(inputs.own_keys), len(inputs.mail_keys), len(of_facts), *CELLS]
        facts = numpy.hstack([inputs.least[:, None], inputs.most[:, None], of_facts])
        own_rows, mail_rows = numpy.split(of_features, [len(inputs.own_keys)])
        parts = [longs(counts), longs(inputs.own_keys), shorts(own_rows),
                 longs(inputs.mail_keys), shorts(mail_rows), longs(facts), longs(start)]
        for cell_start, weights in [*zip(second_start, second.T), (last_start[0], last[:, 0])]:
            parts += [longs(cell_start), shorts(weights)]
        target.write_bytes(b"".join(parts))


def check(odds, whole, inputs):
    """Fails if whole numbers give other odds, computed as in `src/model/network.rs`."""
    of_features, of_facts, start, second, second_start, last, last_start = whole
    sums = (inputs.features.astype(numpy.int64) @ of_features) * FINE + start
    sums = sums + inputs.limited.astype(numpy.int64) @ of_facts
    sums = (numpy.maximum(sums, 0) // FINE) @ second + second_start
    sums = (numpy.maximum(sums, 0) // FINE) @ last + last_start
    whole_odds = numpy.clip(sums[:, 0] / (FINE * FINE), -LIMIT, LIMIT)
    worst = abs(whole_odds - odds).max()
    print(f"network: whole numbers change the log odds by at most {worst:.3f}")
    assert worst < 0.2


def rounded(numbers, bits):
    whole = numpy.rint(numbers)
    assert abs(whole).max() < 1 << (bits - 1), "a weight is too large for the file"
    return whole.astype(numpy.int64)


def longs(numbers):
    return numpy.asarray(numbers).astype("<i4").tobytes()


def shorts(numbers):
    return numpy.asarray(numbers).astype("<i2").tobytes()
