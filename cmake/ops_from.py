#!/usr/bin/env python3
"""What a build needs for some models: cmake/CoterieOps.cmake runs this.

Usage: ops_from.py ROOT FILE...   prints two lines, each a list with semicolons: the kinds of ops, the families of kernels.

A FILE is a model file, or a text with names of ops (OpKind of proto/messages/model.h) and of losses (Loss of
proto/messages/plan.h), blanks or newlines between them, # before a comment. Which family a rule's kernels belong to is
read from the sources: the functions that device_sdk/runtime/ops/*.cc call, and the tables that have them.
"""
import pathlib
import re
import struct
import sys

ALWAYS = {"elementwise", "loss", "optimizer"}  # of the graph compiler, the losses by labels and the updates
LOSSES = {"elementwise_loss": ["binary_cross_entropy", "binary_cross_entropy_of_probabilities", "kl_divergence", "l1",
                               "huber", "smooth_l1", "mean_squared_error"],
          "embedding_loss": ["cosine_embedding", "triplet_margin"],
          "loss": ["softmax_cross_entropy", "negative_log_likelihood"]}


def fail(what):
    sys.exit(f"COTERIE_OPS_FROM: {what}")


def enumerators(header, enum):
    """Names by value, of an enum that counts."""
    body = re.search(r"enum class %s\b[^{]*{(.*?)};" % enum, header.read_text(), re.S).group(1)
    names = re.findall(r"^\s*(\w+)", re.sub(r"//[^\n]*", "", body).replace(",", ",\n"), re.M)
    return {value: name for value, name in enumerate(names, 1)}


# ---- a FlatBuffer, as far as this needs it: https://flatbuffers.dev/internals

def number(data, at, form):
    return struct.unpack_from("<" + form, data, at)[0]


def field(data, table, index):
    """Where field `index` of the table lies; None if it is absent."""
    vtable = table - number(data, table, "i")
    entry = 4 + 2 * index
    offset = number(data, vtable + entry, "H") if entry < number(data, vtable, "H") else 0
    return table + offset if offset else None


def follow(data, at):
    return at + number(data, at, "I")


def kinds_in_model(data):
    """The numbers of the ops' kinds in a model file (proto/codec/frame.h, proto/schema/model.fbs)."""
    if number(data, 4, "H") != 1 or number(data, 6, "H") != 100:
        raise ValueError("not a model")
    header = data[24:24 + number(data, 8, "I")]
    ops = follow(header, field(header, follow(header, 0), 2))
    tables = [follow(header, ops + 4 + 4 * i) for i in range(number(header, ops, "I"))]
    kinds = [field(header, table, 0) for table in tables]
    return {0 if at is None else number(header, at, "B") for at in kinds}


# ---- sources

def families_of_ops(root):
    """kind -> families of the kernels its rule calls."""
    family_of = {}
    for table in (root / "train_kernels/tables").glob("*.h"):
        for function in re.findall(r"\(\*(\w+)\)\(", table.read_text()):
            family_of[function] = table.stem
    families = {}
    for source in (root / "device_sdk/runtime/ops").glob("*.cc"):
        text = source.read_text()
        called = {family_of[f] for f in re.findall(r"\bkernels\.(\w+)", text) if f in family_of}
        for kind in re.findall(r"\bOpKind::(\w+)", text) if source.stem != "registry" else []:
            families.setdefault(kind, set()).update(called)
    return families


def names_in(path, kinds, known):
    data = path.read_bytes()
    if data[:4] == b"COTF":
        try:
            return {kinds[kind] for kind in kinds_in_model(data)}
        except (KeyError, TypeError, ValueError, struct.error):
            fail(f"{path} is no model file of this version")
    names = set(re.sub(r"#[^\n]*", "", data.decode(errors="replace")).split())
    if not names <= known:
        fail(f"{path} names {', '.join(sorted(names - known)[:5])[:200]}, which is neither an op nor a loss")
    return names


def main():
    root, files = pathlib.Path(sys.argv[1]), [pathlib.Path(f) for f in sys.argv[2:]]
    kinds = enumerators(root / "proto/messages/model.h", "OpKind")
    losses = set(enumerators(root / "proto/messages/plan.h", "Loss").values())
    names = set()
    for path in files:
        if not path.is_file():
            fail(f"there is no file {path}")
        names |= names_in(path, kinds, set(kinds.values()) | losses)
    ops = [kind for kind in kinds.values() if kind in names]
    if not ops:
        fail("no op is named")
    families = set(ALWAYS)
    of_op = families_of_ops(root)
    for op in ops:
        families |= of_op.get(op, set())
    families |= {family for family, of in LOSSES.items() if names & set(of)}
    print(";".join(ops))
    print(";".join(sorted(families)))


if __name__ == "__main__":
    main()
