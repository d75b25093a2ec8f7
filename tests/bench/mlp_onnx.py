"""An ONNX file of a small classifier with one hidden layer, He-normal (He et al. 2015), written field by field: the
reference's network is in no zoo, and the bench needs no package for it."""
import random
import struct


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


def tensor(name, dims, values):
    return (b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name) +
            field(9, struct.pack(f"<{len(values)}f", *values)))


def node(op, inputs, output):
    return b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, output) + field(4, op)


def value_info(name, dims):
    shape = b"".join(field(1, field(2, dim) if isinstance(dim, str) else field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def mlp(shape, hidden, classes, seed, has_norm=False):
    """Bytes of a model file: flatten, dense, relu, dense; with a batch norm before the relu if `has_norm`."""
    draw = random.Random(seed)
    inputs = 1
    for dim in shape:
        inputs *= dim

    def weights(rows, columns):
        return [draw.gauss(0, (2 / rows) ** .5) for _ in range(rows * columns)]

    nodes = [node("Flatten", ["x"], "f"), node("Gemm", ["f", "w1", "b1"], "h"), node("Relu", ["h"], "a"),
             node("Gemm", ["a", "w2", "b2"], "y")]
    tensors = [tensor("w1", (inputs, hidden), weights(inputs, hidden)), tensor("b1", (hidden,), [0] * hidden),
               tensor("w2", (hidden, classes), weights(hidden, classes)), tensor("b2", (classes,), [0] * classes)]
    if has_norm:
        nodes[2:3] = [node("BatchNormalization", ["h", "scale", "shift", "mean", "variance"], "n1"), node("Relu", ["n1"], "a")]
        tensors += [tensor(name, (hidden,), [value] * hidden) for name, value in (("scale", 1), ("shift", 0), ("mean", 0), ("variance", 1))]
    graph = (b"".join(field(1, each) for each in nodes) + field(2, f"mlp{hidden}") + b"".join(field(5, each) for each in tensors) +
             field(11, value_info("x", ["n", shape[2], *shape[:2]])) + field(12, value_info("y", ["n", classes])))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))
