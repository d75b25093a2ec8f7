#!/usr/bin/env python3
"""What a build needs for some models: cmake/CoterieOps.cmake runs this.

Usage: ops_from.py ROOT FILE...   prints four lines, each a list with semicolons: the kinds of ops, the families of
                                  kernels, the kernels, the ways to compute a convolution and features that are left out.

A FILE is a model file, or a text with names of ops (OpKind of proto/messages/model.h), of losses and of optimizers (Loss
and OptimizerKind of proto/messages/plan.h), blanks or newlines between them, # before a comment. Losses by class and sgd
are always there. Convolutions have all ways of computing them, but where every model file can do without one, and every
text says so (-depthwise, -fft, -winograd, -winograd_4x4); likewise FEATURES (-avx512 ..), of which models do not say. Which kernels an op needs is read from the sources: all that its
file in device_sdk/runtime/ops calls, always written `kernels.NAME` (tests/tidy/ops_from_test.py sees to that); and the
tables say which family has them.
"""
import pathlib
import re
import struct
import sys

LOSSES = {"element_loss element_loss_of_labels": ["binary_cross_entropy", "binary_cross_entropy_of_probabilities", "l1",
                                                  "kl_divergence", "huber", "smooth_l1", "mean_squared_error"],
          "cosine_embedding triplet_margin": ["cosine_embedding", "triplet_margin"]}
OPTIMIZERS = {"adam_step": ["adam"], "adamw_step": ["adamw", "muon", "shampoo"], "adagrad_step": ["adagrad"], "rmsprop_step": ["rmsprop"],
              "adadelta_step": ["adadelta"], "lion_step": ["lion"], "lamb_direction": ["lamb"],
              "matmul": ["muon", "shampoo"], "inverse_fourth_root": ["shampoo"]}

# To compute a convolution; without them it is computed directly, without winograd_4x4 by winograd's smaller tiles.
WAYS = {"depthwise", "fft", "winograd", "winograd_4x4"}
# Beside ops, for lists to leave out: instruction sets, of which the build takes the best that a CPU has (without avx2 it is
# without avx512, too), and what device_sdk/runtime/left_out.h says. A build has them unless every list that it is made from
# leaves them out; model files do not say.
FEATURES = {"augmentation", "avx2", "avx512", "bf16", "channels", "delegates", "early_stopping", "encryption", "heads", "joined_steps",
            "loss_scaling", "memory_limit", "qat", "soft_labels", "threads", "waves"}
# The sources of device_sdk/runtime that nothing reaches without a feature: their kernels are left out, too.
SOURCES_OF = {"bf16": {"program_bfloat16.cc"}, "qat": {"fake_quantise.cc"}}
KERNELS_OF = {"soft_labels": {"cross_entropy_of_targets"}}  # and these
FFT_KERNEL_MIN = 7  # kFftKernelMin of train_kernels/fft_tiles.h


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


def vector(data, table, index, form):
    """The elements of field `index`, a vector of tables ("table") or of numbers; none if it is absent."""
    at = field(data, table, index)
    if at is None:
        return []
    first = follow(data, at)
    step = 4 if form == "table" else struct.calcsize(form)
    places = [first + 4 + step * i for i in range(number(data, first, "I"))]
    return [follow(data, place) if form == "table" else number(data, place, form) for place in places]


def ops_in_model(data):
    """(number of the kind, groups, shape of the second input) of each op (proto/codec/frame.h, proto/schema/model.fbs)."""
    if number(data, 4, "H") != 1 or number(data, 6, "H") != 100:
        raise ValueError("not a model")
    header = data[24:24 + number(data, 8, "I")]
    model = follow(header, 0)
    shapes = [vector(header, tensor, 2, "q") for tensor in vector(header, model, 1, "table")]
    ops = []
    for op in vector(header, model, 2, "table"):
        kind, groups, inputs = field(header, op, 0), 1, vector(header, op, 2, "I")
        for attribute in vector(header, op, 4, "table"):
            name, value = follow(header, field(header, attribute, 0)), field(header, attribute, 1)
            if header[name + 4:name + 4 + number(header, name, "I")] == b"groups" and value is not None:
                groups = number(header, value, "q")
        weight = shapes[inputs[1]] if len(inputs) > 1 and inputs[1] < len(shapes) else []
        ops.append((0 if kind is None else number(header, kind, "B"), groups, weight))
    return ops


def ways_for(kind, groups, weight):
    """The ways to compute a convolution, of those that a build may be without, that this op may take."""
    if kind == "conv_transpose2d":
        return WAYS
    if kind != "conv2d":
        return set()
    ways = {"depthwise"} if groups > 1 else {"winograd", "winograd_4x4"} if weight[:2] == [3, 3] else set()
    return ways | {"fft"} if min(weight[:2], default=0) >= FFT_KERNEL_MIN else ways


# ---- sources

def family_of_kernels(root):
    return {function: table.stem for table in (root / "train_kernels/tables").glob("*.h")
            for function in re.findall(r"\(\*(\w+)\)\(", table.read_text())}


def kernels_in(text, known):
    return {name for name in re.findall(r"\bkernels\.(\w+)", text) if name in known}


def kernels_of_ops(root, known):
    """kind -> kernels its rule calls, and which of their functions: Unary::NAME, Binary::NAME."""
    kernels = {}
    for source in (root / "device_sdk/runtime/ops").glob("*.cc"):
        text = source.read_text()
        entry = r"{OpKind::(\w+), ((?:Unary|Binary)::\w+)}"  # of a function_table.h
        own = dict(re.findall(entry, text))
        others = set(re.findall(r"\b(?:Unary|Binary)::\w+", re.sub(entry, "", text)))
        for kind in re.findall(r"\bOpKind::(\w+)", text) if source.stem != "registry" else []:
            functions = {own[kind]} if kind in own else others
            kernels.setdefault(kind, set()).update(kernels_in(text, known) | functions)
    return kernels


def kernels_for(root, ops, names, left_out, family_of):
    """What a build with these ops calls; `names` has losses and optimizers, `left_out` features."""
    called = set()
    unreached = set().union(*(SOURCES_OF.get(feature, set()) for feature in left_out))
    for source in (root / "device_sdk/runtime").glob("*.cc"):
        if source.name in unreached:
            continue
        called |= kernels_in(source.read_text(), family_of)
    for listed in (LOSSES, OPTIMIZERS):
        for kernels, of in listed.items():
            if not names & set(of):
                called -= set(kernels.split())
    called -= set().union(*(KERNELS_OF.get(feature, set()) for feature in left_out))
    of_op = kernels_of_ops(root, family_of)
    return called.union(*(of_op.get(op, set()) for op in ops))


def names_in(path, kinds, known):
    """(names, ways of convolutions; features of a list, None of a model)"""
    data = path.read_bytes()
    if data[:4] == b"COTF":
        try:
            ops = [(kinds[kind], groups, weight) for kind, groups, weight in ops_in_model(data)]
        except (KeyError, TypeError, ValueError, struct.error):
            fail(f"{path} is no model file of this version")
        return {op[0] for op in ops}, set().union(*(ways_for(*op) for op in ops)), None
    words = set(re.sub(r"#[^\n]*", "", data.decode(errors="replace")).split())
    without = {word[1:] for word in words if word[1:] in WAYS | FEATURES and word[0] == "-"}
    names = words - {"-" + way for way in without}
    if "winograd" in without:
        without.add("winograd_4x4")
    if "avx2" in without:
        without.add("avx512")
    if not names <= known:
        fail(f"{path} names {', '.join(sorted(names - known)[:5])[:200]}: no op, loss or optimizer")
    ways = WAYS - without if names & {"conv2d", "conv_transpose2d"} else set()
    return names, ways, FEATURES - without


def found_in(root, files):
    """(ops, families of kernels, kernels, ways and features left out) of these files, each a list."""
    kinds = enumerators(root / "proto/messages/model.h", "OpKind")
    known = set(kinds.values())
    for enum in ("Loss", "OptimizerKind"):
        known |= set(enumerators(root / "proto/messages/plan.h", enum).values())
    names, ways, features = set(), set(), []
    for path in files:
        if not path.is_file():
            fail(f"there is no file {path}")
        more, more_ways, has = names_in(path, kinds, known)
        names, ways = names | more, ways | more_ways
        features += [has] if has is not None else []
    ops = [kind for kind in kinds.values() if kind in names]
    if not ops:
        fail("no op is named")
    left_out = FEATURES - set().union(*features) if features else set()
    family_of = family_of_kernels(root)
    kernels = kernels_for(root, ops, names, left_out, family_of)
    families = {family_of[kernel] for kernel in kernels if kernel in family_of}
    return ops, sorted(families), sorted(kernels), sorted(WAYS - ways | left_out)


def main():
    for found in found_in(pathlib.Path(sys.argv[1]), [pathlib.Path(f) for f in sys.argv[2:]]):
        print(";".join(found))


if __name__ == "__main__":
    main()
