#!/usr/bin/env python3
"""Algorithms that the stored references lack, written from their papers in numpy, in the setting of federated_setting.py.

    OPENBLAS_NUM_THREADS=1 python3 tests/bench/federated_reference.py ALGORITHM PARTITION SEED [RATE]

ALGORITHM is fedavg, uniform or scaffold, which the stored references have, so that this one can be held against them, or
scaffold_1 (option I), mime_lite (with momentum 0.9), fedexp or fedexp_mean (judged by the mean of its last two models), or qffl_Q
(q-FFL with that q). Nothing of Coterie is in it but where the data lie. It prints the mean accuracy of the last ten models, and of the
last one what fairness_rows.py has: on what each device trains on, the mean accuracy of the worst tenth of the devices, and the
variance over devices in squares of a percent.
"""
import gzip
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np  # noqa: E402

from federated_setting import MNIST, VECTORS  # noqa: E402

ROUNDS, COHORT, EPOCHS, BATCH, DEVICES = 100, 10, 5, 10, 100
SHAPES = [(784, 32), (32,), (32, 10), (10,)]
MOMENTUM, EPSILON = .9, .001


def read(name, header):
    with gzip.open(MNIST / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def data():
    images = read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / 255
    labels = read("t10k-labels-idx1-ubyte.gz", 8).astype(int)
    is_held_out = np.arange(len(labels)) % 5 == 4
    return images[~is_held_out], labels[~is_held_out], images[is_held_out], labels[is_held_out]


def forward(model, x):
    hidden = np.maximum(x @ model[0] + model[1], 0)
    return hidden, hidden @ model[2] + model[3]


def loss(model, x, y):
    logits = forward(model, x)[1].astype(np.float64)
    top = logits.max(1)
    return float((top + np.log(np.exp(logits - top[:, None]).sum(1)) - logits[np.arange(len(y)), y]).mean())


def accuracy(model, x, y):
    return float((forward(model, x)[1].argmax(1) == y).mean())


def gradient(model, x, y):
    hidden, logits = forward(model, x)
    d = np.exp(logits - logits.max(1, keepdims=True))
    d /= d.sum(1, keepdims=True)
    d[np.arange(len(y)), y] -= 1
    d /= len(y)
    back = (d @ model[2].T) * (hidden > 0)
    return [x.T @ back, back.sum(0), hidden.T @ d, d.sum(0)]


def added(a, b, factor=1.0):
    return [u + np.float32(factor) * v for u, v in zip(a, b)]


def zeros():
    return [np.zeros(shape, np.float32) for shape in SHAPES]


def squared(a):
    return sum(float((u.astype(np.float64) ** 2).sum()) for u in a)


def train(start, x, y, rate, offset, draw):
    """The model behind all local steps, and how many these are; `offset` is added to each gradient."""
    model, steps = [u.copy() for u in start], 0
    for _ in range(EPOCHS):
        order = draw.permutation(len(y))
        for at in range(0, len(y), BATCH):
            batch = order[at:at + BATCH]
            for u, g, o in zip(model, gradient(model, x[batch], y[batch]), offset):
                u -= rate * (g + o)
            steps += 1
    return model, steps


def run(algorithm, partition, seed, rate):
    x, y, held_x, held_y = data()
    owners = np.frombuffer((VECTORS / f"part_0.1_{partition}.bin").read_bytes(), np.uint8)
    parts = [np.flatnonzero(owners == device) for device in range(DEVICES)]
    draw, rate = np.random.default_rng(seed), np.float32(rate)
    model = [draw.normal(0, (2 / shape[0]) ** .5, shape).astype(np.float32) if len(shape) == 2 else np.zeros(shape, np.float32)
             for shape in SHAPES]
    control, own, momentum, before, accuracies = zeros(), [zeros() for _ in range(DEVICES)], zeros(), model, []
    q = float(algorithm.removeprefix("qffl_")) if algorithm.startswith("qffl_") else None
    is_scaffold, by_examples = algorithm.startswith("scaffold"), algorithm in ("fedavg", "mime_lite", "fedexp", "fedexp_mean")
    for number in range(1, ROUNDS + 1):
        cohort = draw.choice(DEVICES, COHORT, replace=False)
        weights = np.array([len(parts[device]) if by_examples else 1 for device in cohort], np.float64)
        weights /= weights.sum()
        mean, mean_gradient, mean_square, moved, mean_h = zeros(), zeros(), 0.0, zeros(), 0.0
        for device, weight in zip(cohort, weights):
            own_x, own_y = x[parts[device]], y[parts[device]]
            offset = zeros()
            if is_scaffold:
                offset = added(control, own[device], -1)
            if algorithm == "mime_lite":
                offset = [np.float32(MOMENTUM) * u for u in momentum]
            trained, steps = train(model, own_x, own_y, rate, offset, draw)
            delta = added(trained, model, -1)
            if q is not None:  # of Li et al. 2020, both sides divided by the Lipschitz constant 1 / rate
                given = loss(model, own_x, own_y) + 1e-10
                mean_h += weight * (q * given ** (q - 1) * squared(delta) / float(rate) + given ** q)
                delta = [np.float32(given ** q) * u for u in delta]
            mean, mean_square = added(mean, delta, weight), mean_square + weight * squared(delta)
            if algorithm == "mime_lite":
                mean_gradient = added(mean_gradient, gradient(model, own_x, own_y), weight)
            if is_scaffold:
                new = (gradient(model, own_x, own_y) if algorithm == "scaffold_1" else
                       added(added(own[device], control, -1), delta, -1 / (steps * float(rate))))
                moved = added(moved, added(new, own[device], -1), 1 / DEVICES)
                own[device] = new
        factor = 1.0
        if algorithm.startswith("fedexp"):
            factor = max(1.0, mean_square / (2 * (squared(mean) + EPSILON)))
        if q is not None:
            factor = 1 / mean_h
        before, model = model, added(model, mean, factor)
        control = added(control, moved)
        momentum = [np.float32(MOMENTUM) * u + g for u, g in zip(momentum, mean_gradient)]
        judged = [(u + v) / 2 for u, v in zip(before, model)] if algorithm == "fedexp_mean" else model
        if number > ROUNDS - 10:
            accuracies.append(accuracy(judged, held_x, held_y))
    served = np.sort([accuracy(judged, x[part], y[part]) for part in parts])
    return sum(accuracies) / 10, served[:DEVICES // 10].mean(), (100 * served).var()


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    RATE = float(sys.argv[4]) if len(sys.argv) == 5 else .1
    print(f"{sys.argv[1]}, partition {sys.argv[2]}, seed {sys.argv[3]}, rate {RATE}: "
          "{:.4f}, worst tenth {:.3f}, variance {:.0f}".format(*run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), RATE)))
