#!/usr/bin/env python3
"""Writes the seed corpora of the message targets from the golden frames (each as it is, cut short, and damaged) and of
the importers from golden models and weights.

Run it when tests/golden/wire, onnx or weights has changed; `--check` says which seeds are not what it would write. Only files whose names begin with seed- are written or removed; what a fuzzer
found (crash-..., found-...) or somebody wrote (hand-...) stays.
"""
import pathlib
import random
import struct
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
CORPUS = TESTS / "fuzz" / "corpus"
PRELUDE_BYTES = 24
ONNX_SEEDS = ["attention", "gru_initial_state", "lenet_static", "resizes", "shapes", "shuffle"]  # every family of nodes, in little


# Their inputs are rows of choices (event_bytes.h): any bytes do.
EVENT_TARGETS = ["ingest_events", "intake_events", "round_events", "fleet_events", "matching", "regression", "exact", "trees",
                 "coordinator_events", "attempt_events", "batcher_events", "canary_events", "desk_events", "keeper_events", "lease_events",
                 "participant_events", "served_events", "table_events", "tally_events"]

WEIGHTS = {"safetensors": "safetensors", "npz": "npz", "pt": "pytorch", "ckpt": "mindspore"}


def damaged(frame, seed):
    """A few bytes of the header changed; sizes and magic kept."""
    chance = random.Random(seed)
    header_bytes = int.from_bytes(frame[8:12], "little")
    result = bytearray(frame)
    for _ in range(4):
        result[PRELUDE_BYTES + chance.randrange(header_bytes)] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
    return bytes(result)


def field(number, content):
    """Of protobuf: a varint for a number, else bytes behind their length."""
    if isinstance(content, int):
        return bytes([number << 3]) + varint(content)
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(value):
    low, rest = value & 0x7F, value >> 7
    return bytes([low]) if rest == 0 else bytes([low | 0x80]) + varint(rest)


def onnx_values():
    """A TensorProto of floats, one of integers and one of texts; a SequenceProto and an OptionalProto of the first."""
    floats = field(1, 2) + field(1, 3) + field(2, 1) + field(9, struct.pack("<6f", *range(6)))
    integers = field(1, 3) + field(2, 7) + field(7, varint(1) + varint(2) + varint(300))
    texts = field(1, 2) + field(2, 8) + field(6, b"one") + field(6, b"two")
    return {"floats": floats, "integers": integers, "texts": texts, "sequence": field(2, 1) + field(3, floats) + field(3, floats),
            "optional": field(2, 1) + field(3, floats)}


def flipped(content, seed):
    """One byte changed, anywhere."""
    chance = random.Random(seed)
    result = bytearray(content)
    result[chance.randrange(len(result))] ^= 1 << chance.randrange(8)
    return bytes(result)


seeds = {}  # by path: what is in it


def write(target, name, content):
    seeds[CORPUS / target / f"seed-{name}"] = content


def vertical_wire():
    """What each first byte of vertical_wire_target.cc chooses, made by hand."""
    request = b"CTR\x02" + bytes([3, 0, 0, 0]) + struct.pack("<I", 16) + bytes(16)
    yield "request", b"\x00" + request
    yield "submit", b"\x00" + b"CTR\x02" + bytes([1, 0, 0, 0]) + struct.pack("<I", 2) + b"{}"
    yield "progress", b"\x00" + b"CTR\x02" + bytes([10, 0, 0, 0]) + struct.pack("<I", 34) + bytes(16) + struct.pack("<BBIIQ", 2, 0, 3, 4, 99)
    yield "survey", b"\x00" + b"CTR\x02" + bytes([11, 0, 0, 0]) + struct.pack("<I", 17) + bytes(16) + b"\x02"
    parties = b"".join(bytes([len(name)]) + name + bytes(3) + struct.pack("<Q", 7) for name in (b"a", b"b"))
    stage = b"\x01" + struct.pack("<QQQIBBIIQ", 5, 6, 9, 1, 2, 0, 3, 4, 99)
    job = bytes(16) + bytes(32) + b"\x01\x00" + parties + b"\x04tree" + b"\x02\x02L1\x03L10" + b"\x01" + struct.pack("<Q", 9) + b"\x01" + b"\x00" + stage + bytes(4)
    yield "surveyed", b"\x08" + b"CTR\x02" + bytes([66, 0, 0, 0]) + struct.pack("<I", 2 + len(job)) + b"\x01\x00" + job
    yield "frame", b"\x02\x02" + struct.pack("<HHIQ", 3, 1, 5, 0)
    yield "position", b"\x03" + bytes(64) + bytes([1, 1, 0, 1]) + struct.pack("<I", 16) + bytes(32) + b"\x01" + struct.pack("<I", 3) + bytes(32)
    settings = struct.pack("<BIIIfddB", 0, 1, 1, 1, 0.25, 1, 1, 0)
    for number, magic in enumerate([b"CTL1", b"CTF1"]):
        leaf = struct.pack("<BIIfBf", 0, 0, 0, 0, 0, 0.5 - number / 2)
        yield f"trees-{number}", bytes([4 + number]) + magic + struct.pack("<I", 1) + settings + struct.pack(
            "<I", 1) + bytes(32) + struct.pack("<II", 1, 1) + leaf
    yield "checkpoint", b"\x06" + struct.pack("<I", 16) + bytes(32) + struct.pack("<II", 1, 1) + bytes(16)
    yield "regression", b"\x07CVR1" + struct.pack("<Idddd", 1, 0, 0, 1, 0.5)


def split_network():
    """What each first byte of split_target.cc chooses: tensors of 3 numbers a row, a checkpoint, a part, two parties."""
    ranges = struct.pack("<6f", -1, 1, 0, 0, 0.25, 4)
    yield "float32", b"\x00" + struct.pack("<12f", *range(12))
    yield "not-finite", b"\x00" + struct.pack("<3f", 1, float("nan"), 2)
    yield "int8", b"\x01" + ranges + bytes(range(12))
    yield "bit1", b"\x02" + ranges + b"\x01\x07\x00\x05"
    yield "bit1-behind", b"\x02" + ranges + b"\x09"
    yield "checkpoint", b"\x03" + struct.pack("<I", 4) + bytes(32) + struct.pack("<QQ", 2, 1) + struct.pack("<ffd", 1, 2, 3)
    settings = bytes([0, 1, 1, 0, 0, 0, 0, 0]) + struct.pack("<9I", 0, 3, 0, 4, 16, 2, 4, 1, 64) + struct.pack(
        "<4d", 0.01, 0, 0, 0)
    columns = struct.pack("<II", 0, 1) + struct.pack("<ddI", 0.5, 2, 0)
    yield "part", b"\x04CVS1" + settings + columns + struct.pack("<I", 4) + b"COTF"
    for network in range(4):
        for flights in range(2):
            yield f"pair-{network}-{flights}", b"\x05" + bytes([network, network % 3, flights, 3 * flights]) + bytes([11] * 40)
    yield "pair-changed", b"\x05" + bytes([0, 0, 0, 0, 11, 11, 11, 3, 9, 77, 11])


def delta_frame(bits, payload):
    """A frame of the kind model_delta, of a base that nobody has."""
    vtable = struct.pack("<HHHHH", 10, 72, 4, 36, 68)
    table = struct.pack("<i", 12) + bytes(range(32)) + bytes(range(32, 64)) + bytes([bits, 0, 0, 0])
    header = struct.pack("<II", 20, 0) + vtable + bytes(2) + table
    head = b"COTF" + struct.pack("<HHIIQ", 1, 106, len(header), 0, len(payload)) + header
    return head + bytes(-len(head) % 64) + payload


def model_deltas():
    """For the models of model_delta_target.cc: one parameter of 300 values, and a norm of 10 channels."""
    scale, still = struct.pack("<f", 0.01), bytes(4)
    yield "still", b"\x00" + delta_frame(8, still + still)
    yield "levels-8", b"\x00" + delta_frame(8, scale + bytes(range(255)) + b"\x7f" + scale + bytes(44))
    yield "levels-4", b"\x00" + delta_frame(4, scale + bytes([0x3e] * 128) + scale + bytes([0x70] * 22))
    yield "levels-2", b"\x00" + delta_frame(2, still + scale + bytes([0x24] * 11))
    yield "beyond-float", b"\x00" + delta_frame(8, struct.pack("<f", 3e38) + bytes([254] * 256) + still)
    yield "norm", b"\x01" + delta_frame(8, scale + bytes([130] * 10) + still + struct.pack("<20f", *[1.5] * 20))


def sparse_updates():
    """Indices 1, 7 and 19 of 20, as sparse_values_target.cc reads them: the shape, the values, low and high parts."""
    shape, indices = struct.pack("<HH", 19, 2), b"\x3d\x45"
    yield "floats", shape + b"\x04" + struct.pack("<3f", 1.5, -2, 1e-30) + indices
    yield "levels-3", shape + b"\x01" + b"\x98\x01" + indices
    yield "twice", shape + b"\x01" + b"\x98\x01" + b"\x35\x46"
    yield "falling", shape + b"\x01" + b"\x98\x01" + b"\x37\x46"
    yield "beyond", struct.pack("<HH", 18, 2) + b"\x01" + b"\x98\x01" + indices
    yield "no-level", shape + b"\x01" + b"\x9f\x01" + indices
    yield "all", struct.pack("<HH", 7, 7) + b"\x02" + bytes(range(1, 9)) + b"\x55\x55"


def infer_messages():
    """For the model of infer_message_target.cc: x is FP32 [2,2], ids is INT32 [1]; two rows of both."""
    x, ids = struct.pack("<8f", *range(8)), struct.pack("<2i", 7, -1)
    head_x = field(1, b"x") + field(2, b"FP32") + field(3, b"\x02\x02\x02")
    head_ids = field(1, b"ids") + field(2, b"INT32") + field(3, b"\x02\x01")
    timeout = field(4, field(1, b"timeout") + field(2, field(2, 1500)))
    packed = field(5, head_x + field(5, field(6, x))) + field(5, head_ids + field(5, field(2, b"\x07" + b"\xff" * 9 + b"\x01")))
    single = field(5, head_x + field(5, b"".join(b"\x35" + x[at:at + 4] for at in range(0, 32, 4)))) + field(
        5, head_ids + field(5, field(2, 7) + field(2, 8)))
    yield "packed", field(1, b"m") + field(3, b"id") + timeout + packed
    yield "single", field(1, b"m") + single
    yield "raw", field(1, b"m") + field(5, head_x) + field(5, head_ids) + field(7, x) + field(7, ids)
    yield "raw-nan", field(5, head_x) + field(5, head_ids) + field(7, struct.pack("<8f", *[float("nan")] * 8)) + field(7, ids)
    yield "outputs", packed + field(6, field(1, b"y") + field(2, field(1, b"classification") + field(2, field(2, 1))))
    yield "twice", packed + packed
    yield "long-shape", field(5, field(1, b"x") + field(2, b"FP32") + field(3, b"\x01" * 200))
    yield "wrong-contents", field(5, head_x + field(5, field(3, b"\x01" * 99)))
    yield "many-fields", field(7, b"") * 5000


def make():
    for golden in sorted((TESTS / "golden" / "wire").glob("*.hex")):
        kind, sample, _ = golden.name.split(".")
        frame = bytes.fromhex(golden.read_text())
        write(f"decode_{kind}", sample, frame)
        if sample == "typical":
            write(f"decode_{kind}", "cut", frame[: len(frame) * 2 // 3])
            write(f"decode_{kind}", "damaged", damaged(frame, kind))
            write("frame", kind, frame)
    for target in EVENT_TARGETS:
        for number in range(1, 9):
            write(target, f"events-{number}", random.Random(f"{target} {number}").randbytes(40 * number))
    for name, content in vertical_wire():
        write("vertical_wire", name, content)
    for name, content in split_network():
        write("split", name, content)
    for name, content in model_deltas():
        write("model_delta", name, content)
        write("model_delta", f"{name}-cut", content[: len(content) * 2 // 3])
        for seed in range(2):
            write("model_delta", f"{name}-flipped-{seed}", flipped(content, f"{name} {seed}"))
    for name, content in sparse_updates():
        write("sparse_values", name, content)
        write("sparse_values", f"{name}-cut", content[: len(content) * 2 // 3])
        write("sparse_values", f"{name}-flipped", flipped(content, name))
    for name, content in infer_messages():
        write("infer_message", name, content)
        write("infer_message", f"{name}-cut", content[: len(content) * 2 // 3])
        write("infer_message", f"{name}-flipped", flipped(content, name))
    for name in ONNX_SEEDS:
        model = (TESTS / "golden" / "onnx" / f"{name}.onnx").read_bytes()
        write("onnx", name, model)
        write("onnx", f"{name}-cut", model[: len(model) * 2 // 3])
        write("onnx_run", name, model)
        write("onnx_run", f"{name}-flipped", flipped(model, name))
    for name, value in onnx_values().items():
        write("onnx_value", name, value)
        write("onnx_value", f"{name}-cut", value[: len(value) * 2 // 3])
        write("onnx_value", f"{name}-flipped", flipped(value, name))
    for suffix, target in WEIGHTS.items():
        for golden in sorted((TESTS / "golden" / "weights").glob(f"*.{suffix}")):
            weights = golden.read_bytes()
            write(f"weights_{target}", golden.stem, weights)
            write(f"weights_{target}", f"{golden.stem}-cut", weights[: len(weights) * 2 // 3])
            for seed in range(4):
                write(f"weights_{target}", f"{golden.stem}-flipped-{seed}", flipped(weights, f"{golden.name} {seed}"))


def main(checks):
    make()
    there = set(CORPUS.glob("*/seed-*"))
    stale = sorted(path for path in there | set(seeds) if path not in there or path.read_bytes() != seeds.get(path))
    for path in stale:
        if checks:
            print(f"{path.relative_to(TESTS.parent)}: is not what tests/fuzz/make_seeds.py writes; run it")
        elif path in seeds:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(seeds[path])
        else:
            path.unlink()
    print(f"{len(seeds)} seeds, {len(stale)} {'stale' if checks else 'written or removed'}")
    return 1 if checks and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
