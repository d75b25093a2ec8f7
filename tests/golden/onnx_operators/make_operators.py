#!/usr/bin/env python3
"""Writes operators.golden: ONNX's own tests of each operator that the importer accepts, in each of its editions.

Usage: make_operators.py CHECKOUT [FILE]. CHECKOUT is a git repository of ONNX (Apache-2.0) with its tags. The expected
values are those that it publishes in onnx/backend/test/data/node, as NumPy computed them. Each release writes its tests
in its own opset: RELEASES are those of opset 11 to 22. A case that two of them have in the same opset is taken from the
later one.

Left out are cases that train (Dropout, BatchNormalization), forms that neither importer nor interpreter know, types
that are not read, and what is larger than BYTES_MAX, or than LONE_BYTES_MAX where the operator has no smaller case.

A file is records, each of fields: 4 bytes of length (little-endian) and the bytes. The fields of a record: its name,
the model, the number of inputs and of outputs as decimal text, then each of these as a TensorProto.
"""
import collections
import io
import re
import struct
import subprocess
import sys
import tarfile

RELEASES = ["v1.6.0", "v1.7.0", "v1.8.1", "v1.9.0", "v1.10.0", "v1.11.0", "v1.12.0", "v1.13.0", "v1.14.0", "v1.15.0",
            "v1.16.0", "v1.17.0"]
FOLDER = "onnx/backend/test/data/node"
OPERATORS = "model_import/convert/operators.cc"  # of this tree, where the script is run
TYPES = {1, 11, 7, 6, 5, 3, 2, 4, 12, 9}  # of TensorProto.DataType: floats, integers of up to 64 bits, booleans
OPSET_MIN, OPSET_MAX = 11, 22
BYTES_MAX, LONE_BYTES_MAX = 4_000, 30_000
# Training; forms that are refused; narrow integers that wrap around; casts through types that are not read.
LEFT_OUT = ("train", "_3d", "cubic", "crop_and_resize", "wrap", "peepholes", "batchwise", "seq_length", "STRING",
            "FLOAT16", "optional", "sequence", "with_argmax", "_1d_", "dilations_3d", "3d_dilations", "uint64",
            "BFLOAT16", "FLOAT8", "INT4", "with_roi", "tf_half_pixel", "half_pixel_symmetric", "expanded", "antialias",
            "not_larger", "not_smaller", "_axes_2_3", "_axes_3_2", "with_axes", "float16", "bfloat16", "identity_opt",
            # Tensors without elements, which models do not have.
            "empty_set", "zero_size",
            # It takes the length of the output as a fraction, which the specification rounds down.
            "resize_downsample_scales_linear_align_corners")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def wire(data):
    """The fields of a protobuf message: number, value, and where the value's bytes are."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            begin = at
            value, at = varint(data, at)
            yield key >> 3, value, begin, at
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            yield key >> 3, data[at:at + size], at, at + size
            at += size


def values(message, number):
    return [value for found, value, _, _ in wire(message) if found == number]


def operators_of(model):
    nodes = values(values(model, 7)[0], 1)
    return {".".join(part.decode() for part in values(node, 7) + values(node, 4) if part) for node in nodes}


def opset_of(model):
    for entry in values(model, 8):
        if not any(values(entry, 1)):
            return (values(entry, 2) + [1])[0]
    return 0


def with_opset(model, opset):
    """A case is of the opset that last changed its operator: where that is before 11, that of 11 is the same."""
    for number, entry, begin, end in wire(model):
        if number == 8 and not any(values(entry, 1)):
            made = b"\x10" + bytes([opset])
            return model[:begin - 1] + bytes([len(made)]) + made + model[end:]
    return model


def type_of(tensor):
    return (values(tensor, 2) + [0])[0]


def field(data):
    return struct.pack("<I", len(data)) + data


def record(name, files):
    inputs, outputs = ([files[f"test_data_set_0/{kind}_{i}.pb"] for i in range(len(files))
                        if f"test_data_set_0/{kind}_{i}.pb" in files] for kind in ("input", "output"))
    if any(type_of(tensor) not in TYPES for tensor in inputs + outputs):
        return None
    counts = [str(len(tensors)).encode() for tensors in (inputs, outputs)]
    return b"".join(map(field, [name.encode(), files["model.onnx"]] + counts + inputs + outputs))


def cases(checkout, release):
    command = ["git", "-C", checkout, "archive", release, FOLDER]
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    found = collections.defaultdict(dict)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile():
                case, _, path = member.name[len(FOLDER) + 1:].partition("/")
                found[case][path] = tar.extractfile(member).read()
    return found


def main():
    imported = set(re.findall('"([A-Za-z0-9]+)"', open(OPERATORS).read()))
    found = {}
    for release in RELEASES:
        for case, files in cases(sys.argv[1], release).items():
            operators = operators_of(files["model.onnx"])
            opset = max(opset_of(files["model.onnx"]), OPSET_MIN)
            if len(operators) != 1 or not operators <= imported or any(word in case for word in LEFT_OUT):
                continue
            if opset > OPSET_MAX or opset_of(files["model.onnx"]) == 0:
                continue
            files["model.onnx"] = with_opset(files["model.onnx"], opset)
            data = record(f"{case} of opset {opset}", files)
            if data is not None:
                found[case, opset] = (data, operators.pop())
    small = {key: case for key, case in found.items() if len(case[0]) <= BYTES_MAX}
    lone = {key: case for key, case in found.items()
            if len(case[0]) <= LONE_BYTES_MAX and case[1] not in {operator for _, operator in small.values()}}
    kept = small | lone
    with open(sys.argv[2] if len(sys.argv) > 2 else "operators.golden", "wb") as file:
        for key in sorted(kept):
            file.write(kept[key][0])
    print(f"{len(kept)} records; too large:", sorted({case for case, _ in set(found) - set(kept)}))
    print("no case:", sorted(imported - {operator for _, operator in kept.values()}))


main()
