#!/usr/bin/env python3
"""Writes the golden files of weights: one table of tensors in each format, and what was saved by other ways.

Run it with a Python that has NumPy. PyTorch and MindSpore are not needed: their files are written here as they write them,
the pickle by Python's own pickler with stand-ins that go by PyTorch's names, the zip archive with the zip64 directory and
the padding to 64 bytes that PyTorch has. The elements of tensor t (counted from 0) are ((7 i + 3 t) % 23 - 11) / 8, which
every float holds exactly; weights_test.cc has the same formula.
"""
import collections
import io
import json
import pathlib
import pickle
import struct
import sys
import types
import zipfile
import zlib

import numpy

HERE = pathlib.Path(__file__).resolve().parent
FIXED_TIME = (1980, 1, 1, 0, 0, 0)

# name, type, shape; the integer is what PyTorch counts batches by.
TABLE = [("conv.weight", "float32", (3, 2, 2, 2)), ("conv.bias", "float32", (3,)), ("norm.weight", "float16", (3,)),
         ("norm.bias", "bfloat16", (3,)), ("norm.running_mean", "float64", (3,)),
         ("norm.num_batches_tracked", "int64", ()), ("fc.weight", "float32", (2, 3)), ("fc.bias", "float32", (2,))]


def values(tensor, count):
    return [((7 * i + 3 * tensor) % 23 - 11) / 8 for i in range(count)]


def packed(numbers, kind):
    if kind == "bfloat16":
        return b"".join(struct.pack("<f", number)[2:] for number in numbers)
    letter = {"float32": "f", "float64": "d", "float16": "e", "int64": "q"}[kind]
    return b"".join(struct.pack("<" + letter, int(number) if letter == "q" else number) for number in numbers)


def count_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def tensors():
    for index, (name, kind, shape) in enumerate(TABLE):
        yield name, kind, shape, packed(values(index, count_of(shape)), kind)


def safetensors():
    names = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int64": "I64"}
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, kind, shape, content in tensors():
        header[name] = {"dtype": names[kind], "shape": list(shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def npz(compressed):
    arrays = {}
    for name, kind, shape, content in tensors():
        if kind == "bfloat16":  # NumPy has none
            arrays[name] = numpy.frombuffer(content, "<u2").astype("<u4").__lshift__(16).view("<f4").reshape(shape)
        else:
            arrays[name] = numpy.frombuffer(content, {"float32": "<f4", "float64": "<f8", "float16": "<f2",
                                                      "int64": "<i8"}[kind]).reshape(shape)
    arrays["fc.weight"] = numpy.asfortranarray(arrays["fc.weight"])
    target = io.BytesIO()
    (numpy.savez_compressed if compressed else numpy.savez)(target, **arrays)
    return target.getvalue()


def varint(value):
    result = b""
    while value > 127:
        result, value = result + bytes([value & 127 | 128]), value >> 7
    return result + bytes([value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def mindspore(with_crc):
    names = {"float32": "Float32", "float64": "Float64", "float16": "Float16", "bfloat16": "BFloat16", "int64": "Int64"}
    result = b""
    for name, kind, shape, content in tensors():
        # The first tensor comes in two parts, as large ones do.
        half = len(content) // 2
        for part in [content[:half], content[half:]] if name == "conv.weight" else [content]:
            dims = b"".join(b"\x08" + varint(size) for size in (shape or (0,)))
            tensor = dims + field(2, names[kind].encode()) + field(3, part)
            result += field(1, field(1, name.encode()) + field(2, tensor))
    if with_crc:
        result += b"crc_num" + zlib.crc32(result).to_bytes(10, "big")
    return result


# ---------------------------------------------------------------- PyTorch, by stand-ins

torch, torch_utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules.update({"torch": torch, "torch._utils": torch_utils})
STORAGES = {"float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
            "int64": "LongStorage"}
for storage_name in STORAGES.values():
    storage_type = type(storage_name, (), {})
    storage_type.__module__ = "torch"
    setattr(torch, storage_name, storage_type)


def _rebuild_tensor_v2(*arguments):
    raise NotImplementedError


def _rebuild_parameter(*arguments):
    raise NotImplementedError


for function in (_rebuild_tensor_v2, _rebuild_parameter):
    function.__module__ = "torch._utils"
    setattr(torch_utils, function.__name__, function)


class Storage:
    def __init__(self, kind, content):
        self.kind, self.content = kind, content


class Tensor:
    def __init__(self, storage, first, shape, strides, is_parameter=False):
        self.arguments = (storage, first, shape, strides, False, collections.OrderedDict())
        self.is_parameter = is_parameter

    def __reduce__(self):
        if self.is_parameter:
            return _rebuild_parameter, (Tensor(*self.arguments[:4]), True, collections.OrderedDict())
        return _rebuild_tensor_v2, self.arguments


class Pickler(pickle.Pickler):
    def __init__(self, target):
        super().__init__(target, protocol=2)
        self.storages = []

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        if value not in self.storages:
            self.storages.append(value)
        count = len(value.content) // {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8}[value.kind]
        return "storage", getattr(torch, STORAGES[value.kind]), str(self.storages.index(value)), "cpu", count


class StateDict(collections.OrderedDict):
    """Goes by OrderedDict's name and has _metadata, as PyTorch's has."""

    def __reduce__(self):
        return collections.OrderedDict, (), {"_metadata": collections.OrderedDict([("", {"version": 1})])}, None, iter(
            self.items())


def contiguous(shape):
    strides, stride = [], 1
    for size in reversed(shape):
        strides.insert(0, stride)
        stride *= size
    return tuple(strides)


def state_dict(as_parameters=False):
    result = StateDict()
    for name, kind, shape, content in tensors():
        if name == "fc.weight":  # a view: the transpose of what lies in the storage, behind two other elements
            rows = numpy.frombuffer(content, "<f4").reshape(shape)
            result[name] = Tensor(Storage(kind, b"\0" * 8 + numpy.ascontiguousarray(rows.T).tobytes()), 2, shape, (1, 2))
        else:
            result[name] = Tensor(Storage(kind, content), 0, shape, contiguous(shape), as_parameters)
    return result


def with_zip64_directory(archive):
    """The end of the archive as PyTorch writes it: a zip64 record, its locator, and 32-bit fields that say 'see there'."""
    at = archive.rindex(b"PK\5\6")
    members, size, offset = struct.unpack("<HII", archive[at + 10:at + 20])
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, members, members, size, offset)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return archive[:at] + record + locator + end


def torch_archive(value, program=None, zip64=True):
    target = io.BytesIO()
    pickler = Pickler(target)
    if program is None:
        pickler.dump(value)
        program = target.getvalue()
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_STORED) as archive:
        members = [("data.pkl", program), ("byteorder", b"little")]
        members += [(f"data/{i}", storage.content) for i, storage in enumerate(pickler.storages)] + [("version", b"3\n")]
        for name, content in members:
            info = zipfile.ZipInfo("archive/" + name, FIXED_TIME)
            begin = result.tell() + 30 + len(info.filename) + 4
            padding = -begin % 64
            info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
            archive.writestr(info, content)
    return with_zip64_directory(result.getvalue()) if zip64 else result.getvalue()


def pytorch_checkpoint():
    optimizer = {"state": {0: {"step": 5, "exp_avg": Tensor(Storage("float32", b"\0" * 8), 0, (2,), (1,))}},
                 "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "params": [0, 1], "nesterov": False, "foreach": None}]}
    return torch_archive({"epoch": 70_000, "model_state_dict": state_dict(True), "optimizer_state_dict": optimizer,
                          "loss": -0.5, "big": -(1 << 40)})


def main():
    files = {"table.safetensors": safetensors(), "table.npz": npz(False), "table_compressed.npz": npz(True),
             "table.ckpt": mindspore(False), "table_crc.ckpt": mindspore(True), "table.pt": torch_archive(state_dict()),
             "table_zip32.pt": torch_archive(state_dict(), zip64=False), "checkpoint.pt": pytorch_checkpoint()}
    for name, content in files.items():
        (HERE / name).write_bytes(content)
        print(f"{len(content):7} {name}")


if __name__ == "__main__":
    main()
