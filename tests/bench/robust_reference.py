#!/usr/bin/env python3
"""Rules that withstand lies, written from their papers in numpy, in the setting of robust_rows.py, with Dirichlet(0.1).

    OPENBLAS_NUM_THREADS=1 python3 tests/bench/robust_reference.py RULE ATTACK PARTITION SEED [START]

RULE is mean, median, trimmed_mean, krum, multi_krum, bulyan or bulyan_once, which scores updates once where bulyan scores those left
again. ATTACK is none, sign_flip, label_flip, alie or ipm. A fifth of each round lies, always others. The first model is drawn by the seed, or
with a START by that number, as robust_rows.py has it (mlp_onnx.py; START is the partition there). Nothing of Coterie is in it but
where the data lie. It prints the mean accuracy of the last ten models.
"""
import random
import sys

from federated_reference import BATCH, DEVICES, SHAPES, VECTORS, accuracy, data, gradient

import numpy as np

ROUNDS, COHORT, LIARS, RATE = 40, 25, 5, np.float32(.1)


def train(start, x, y, draw):
    """The difference that one epoch makes, as one vector."""
    model = [u.copy() for u in start]
    order = draw.permutation(len(y))
    for at in range(0, len(y), BATCH):
        batch = order[at:at + BATCH]
        for u, g in zip(model, gradient(model, x[batch], y[batch])):
            u -= RATE * g
    return np.concatenate([(u - v).ravel() for u, v in zip(model, start)])


def scores(squared):
    """Of Krum: the sum of the squared distances to the n - f - 2 nearest others, of which there is one at least."""
    near = max(1, len(squared) - LIARS - 2)
    return np.sort(squared + np.diag(np.full(len(squared), np.inf)), axis=1)[:, :near].sum(1)


def around_median(updates, kept):
    """Of each coordinate the mean of the values nearest to the median."""
    nearest = np.argsort(np.abs(updates - np.median(updates, axis=0)), axis=0, kind="stable")[:kept]
    return np.take_along_axis(updates, nearest, axis=0).mean(0)


def chosen_by_krum(squared, how_many, is_again):
    left, chosen = list(range(len(squared))), []
    if not is_again:
        return list(np.argsort(scores(squared), kind="stable")[:how_many])
    for _ in range(how_many):
        chosen.append(left.pop(int(scores(squared[np.ix_(left, left)]).argmin())))
    return chosen


def combined(rule, updates):
    if rule == "mean":
        return updates.mean(0)
    if rule == "median":
        return np.median(updates, axis=0)
    if rule == "trimmed_mean":
        return np.sort(updates, axis=0)[LIARS:-LIARS].mean(0)
    wide = updates.astype(np.float64)
    squared = np.array([((wide - one) ** 2).sum(1) for one in wide])
    if rule == "krum":
        return updates[scores(squared).argmin()]
    if rule == "multi_krum":
        return updates[chosen_by_krum(squared, COHORT - LIARS, False)].mean(0)
    theta = COHORT - 2 * LIARS
    return around_median(updates[chosen_by_krum(squared, theta, rule == "bulyan")], theta - 2 * LIARS)


def unpacked(vector):
    ends = np.cumsum([int(np.prod(shape)) for shape in SHAPES])
    return [part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1]), SHAPES)]


def first_model(draw):
    """`draw`: of one normal number, by its standard deviation."""
    return [np.array([draw((2 / shape[0]) ** .5) for _ in range(shape[0] * shape[1])], np.float32).reshape(shape) if len(shape) == 2
            else np.zeros(shape, np.float32) for shape in SHAPES]


def run(rule, attack, partition, seed, start=None):
    x, y, held_x, held_y = data()
    owners = np.frombuffer((VECTORS / f"part_0.1_{partition}.bin").read_bytes(), np.uint8)
    parts = [np.flatnonzero(owners == device) for device in range(DEVICES)]
    parts = [part for part in parts if len(part)]
    draw = np.random.default_rng(seed)
    normal = draw.normal if start is None else random.Random(start).gauss
    model = first_model(lambda deviation: normal(0, deviation))
    accuracies = []
    for _ in range(ROUNDS):
        cohort = draw.choice(len(parts), COHORT, replace=False)
        updates = []
        for number, device in enumerate(cohort):
            lies = number < LIARS and attack != "none"
            labels = y[parts[device]]
            update = train(model, x[parts[device]], 9 - labels if lies and attack == "label_flip" else labels, draw)
            updates.append(-5 * update if lies and attack == "sign_flip" else update)
        updates = np.stack(updates)
        if attack == "alie":
            updates[:LIARS] = updates[LIARS:].mean(0) - 1.5 * updates[LIARS:].std(0)
        if attack == "ipm":
            updates[:LIARS] = -.5 * updates[LIARS:].mean(0)
        model = [u + v for u, v in zip(model, unpacked(combined(rule, updates[draw.permutation(COHORT)]).astype(np.float32)))]
        accuracies.append(accuracy(model, held_x, held_y))
    return sum(accuracies[-10:]) / 10


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    print(" ".join(sys.argv[1:]) + f": {run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *map(int, sys.argv[5:])):.4f}")
