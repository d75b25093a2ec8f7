#!/usr/bin/env python3
"""A small LSTM that says which character comes next, as ONNX, written field by field: no package is needed for it.

    python3 examples/datasets/char_lstm.py CHARACTERS LENGTH OUT.onnx [SEED]

An embedding of 8, an LSTM of 64, a dense layer of its last state. CHARACTERS is as many as the text has different ones.
"""
import pathlib
import random
import struct
import sys

FEATURES, HIDDEN = 8, 64
FLOAT, INT32, INT64 = 1, 6, 7


def varint(number):
    out = b""
    while True:
        number, low = number >> 7, number & 127
        out += bytes([low | (128 if number else 0)])
        if not number:
            return out


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    payload = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def tensor(name, dims, values, kind=FLOAT):
    code = "f" if kind == FLOAT else "q"
    return (b"".join(field(1, dim) for dim in dims) + field(2, kind) + field(8, name) +
            field(9, struct.pack(f"<{len(values)}{code}", *values)))


def node(op, inputs, outputs, attributes=b""):
    return (b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs) + field(3, outputs[-1]) +
            field(4, op) + attributes)


def number(name, value):
    return field(5, field(1, name) + field(3, value) + field(20, 2))


def numbers(name, values):
    return field(5, field(1, name) + b"".join(field(8, value) for value in values) + field(20, 7))


def value_info(name, kind, dims):
    shape = b"".join(field(1, field(2, dim) if isinstance(dim, str) else field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def lstm(characters, length, seed):
    """Bytes of the file. Weights are drawn as PyTorch draws them: evenly, by 1 / sqrt(HIDDEN)."""
    draw = random.Random(seed)
    bound = HIDDEN ** -.5

    def drawn(name, dims, scale=bound):
        count = 1
        for dim in dims:
            count *= dim
        return tensor(name, dims, [draw.uniform(-scale, scale) for _ in range(count)])

    nodes = [node("Gather", ["table", "x"], ["rows"]), node("Transpose", ["rows"], ["steps"], numbers("perm", [1, 0, 2])),
             node("LSTM", ["steps", "w", "r", "b"], ["all", "last"], number("hidden_size", HIDDEN)),
             node("Squeeze", ["last", "first"], ["state"]), node("Gemm", ["state", "head.weight", "head.bias"], ["y"])]
    tensors = [drawn("table", (characters, FEATURES), 1.0), drawn("w", (1, 4 * HIDDEN, FEATURES)), drawn("r", (1, 4 * HIDDEN, HIDDEN)),
               tensor("b", (1, 8 * HIDDEN), [0.0] * (8 * HIDDEN)), tensor("first", (1,), [0], INT64),
               drawn("head.weight", (HIDDEN, characters)), tensor("head.bias", (characters,), [0.0] * characters)]
    graph = (b"".join(field(1, each) for each in nodes) + field(2, "char_lstm") + b"".join(field(5, each) for each in tensors) +
             field(11, value_info("x", INT32, ["n", length])) + field(12, value_info("y", FLOAT, ["n", characters])))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def main(characters, length, out, seed=1):
    pathlib.Path(out).write_bytes(lstm(int(characters), int(length), int(seed)))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
