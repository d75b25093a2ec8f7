#!/usr/bin/env python3
"""ONNX's backend node tests as coterie model run computes them: how many pass, that none is wrong, what is refused.

Usage: onnx_nodes.py NODE_CASES COUNTS [--data FOLDER] [--report]

NODE_CASES is the program of node_cases.cc. The cases are those that the installed onnx package (Debian's python3-onnx)
makes, or those of FOLDER, which is onnx/backend/test/data/node of a release of ONNX. COUNTS is a JSON file that says by
the version of the package how many pass at least, and how many are refused at most by operator. Exit status 77: skipped,
as there is no such package, or COUNTS says nothing of its version. --report prints what is refused and why.
"""
import collections
import contextlib
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile

SKIPPED = 77
MUTATIONS = 2000


def generate(folder):
    """Writes the package's cases into folders of their own, and returns the package's version."""
    import numpy
    # Names that NumPy 1.24 has taken away, and ONNX 1.12 uses.
    for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in numpy.__dict__:
            setattr(numpy, name, kind)
    numpy.random.seed(0)
    import onnx
    from onnx import numpy_helper
    with contextlib.redirect_stdout(io.StringIO()):
        from onnx.backend.test.case.node import collect_testcases
        cases = collect_testcases(None)
    for case in cases:
        target = folder / case.name / "test_data_set_0"
        target.mkdir(parents=True, exist_ok=True)
        (target.parent / "model.onnx").write_bytes(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        for kind, values in (("input", inputs), ("output", outputs)):
            for i, value in enumerate(values):
                type_of = getattr(case.model.graph, kind)[i].type
                if isinstance(value, onnx.TensorProto):
                    proto = value
                elif type_of.HasField("optional_type"):
                    proto = optional_of(value, type_of.optional_type.elem_type)
                elif isinstance(value, list):
                    proto = numpy_helper.from_list(value, dtype=onnx.SequenceProto.TENSOR)
                elif isinstance(value, numpy.ndarray) and declared(case.model, kind, i) == onnx.TensorProto.BFLOAT16:
                    # NumPy has no bfloat16: these are its bits as uint16.
                    proto = onnx.TensorProto(dims=value.shape, data_type=onnx.TensorProto.BFLOAT16, raw_data=value.tobytes())
                else:
                    proto = numpy_helper.from_array(numpy.asarray(value))
                (target / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString())
    return onnx.__version__


def optional_of(value, type_of):
    """An optional value of that type; None holds nothing."""
    import onnx
    from onnx import numpy_helper
    proto = onnx.OptionalProto()
    if value is None:
        return proto
    if type_of.HasField("sequence_type"):
        proto.elem_type = onnx.OptionalProto.SEQUENCE
        proto.sequence_value.CopyFrom(numpy_helper.from_list(value, dtype=onnx.SequenceProto.TENSOR))
    else:
        proto.elem_type = onnx.OptionalProto.TENSOR
        proto.tensor_value.CopyFrom(numpy_helper.from_array(value[0] if isinstance(value, list) else value))
    return proto


def declared(model, kind, i):
    return getattr(model.graph, kind)[i].type.tensor_type.elem_type


def said_of(program, folders):
    result = subprocess.run([program] + [str(folder) for folder in folders], stdout=subprocess.PIPE, check=True)
    return result.stdout.decode(errors="replace")


def run(program, folders):
    rows = [line.split("\t", 2) for line in said_of(program, folders).splitlines()]
    assert len(rows) == len(folders), "a case without a line"
    return rows


def damage(folders, scratch):
    """Copies of cases with some bytes of their graphs changed."""
    draw = random.Random(22)
    damaged = []
    for number in range(MUTATIONS):
        folder = draw.choice(folders)
        copy = scratch / f"damaged_{number}"
        copy.mkdir()
        (copy / "test_data_set_0").symlink_to(folder / "test_data_set_0")
        model = bytearray((folder / "model.onnx").read_bytes())
        for _ in range(draw.randint(1, 3)):
            model[draw.randrange(len(model))] = draw.randrange(256)
        (copy / "model.onnx").write_bytes(model)
        damaged.append(copy)
    return damaged


def operator_in(name):
    """What a case is about, where its model could not be read."""
    return "case " + name.removeprefix("test_").split("_")[0]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--report"]
    program, counts = arguments[0], json.loads(pathlib.Path(arguments[1]).read_text())
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if "--data" in arguments:
            folder = pathlib.Path(arguments[arguments.index("--data") + 1])
            version = "data"
        else:
            try:
                version = generate(folder)
            except ImportError as error:
                print(f"skipped: {error}: apt-get install python3-onnx")
                return SKIPPED
        folders = sorted(path for path in folder.iterdir() if (path / "model.onnx").exists())
        rows = run(program, folders)
        with tempfile.TemporaryDirectory() as damaged:
            said_of(program, damage(folders, pathlib.Path(damaged)))  # whatever it says: it ends as it should
    by_kind = collections.Counter(row[2].split(":")[0] for row in rows)
    refused = collections.Counter()
    for name, op, outcome in rows:
        if outcome.startswith("refused"):
            refused[operator_in(name) if op == "?" else op] += 1
        if "--report" in sys.argv and outcome != "passed":
            print(name, op, outcome)
    print(f"ONNX {version}: {len(rows)} cases, " + ", ".join(f"{by_kind[k]} {k}" for k in ("passed", "refused", "wrong")))
    wrong = [row for row in rows if row[2].startswith("wrong")]
    for name, op, outcome in wrong:
        print(f"{name} ({op}): {outcome}")
    if "--report" in sys.argv:
        print(json.dumps({"passed": by_kind["passed"], "refused": dict(sorted(refused.items()))}, indent=1))
    if wrong:
        return 1
    if version not in counts:
        print(f"skipped: {arguments[1]} says nothing of ONNX {version}")
        return SKIPPED
    known = counts[version]
    more = {op: count for op, count in refused.items() if count > known["refused"].get(op, 0)}
    if more or by_kind["passed"] < known["passed"]:
        print(f"refused more than known: {more}; {known['passed']} must pass")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
