#!/usr/bin/env python3
"""Writes the seed corpora of the message targets from the golden frames (each as it is, cut short, and damaged) and of
the importers from golden models and weights.

Run it when tests/golden/wire, onnx or weights has changed. Only files whose names begin with seed- are written or removed; what a fuzzer
found (crash-..., found-...) or somebody wrote (hand-...) stays.
"""
import pathlib
import random

TESTS = pathlib.Path(__file__).resolve().parent.parent
CORPUS = TESTS / "fuzz" / "corpus"
PRELUDE_BYTES = 24
ONNX_SEEDS = ["attention", "gru_initial_state", "lenet_static", "resizes", "shapes", "shuffle"]  # every family of nodes, in little


# Their inputs are rows of choices (event_bytes.h): any bytes do.
EVENT_TARGETS = ["ingest_events", "intake_events", "round_events", "fleet_events", "matching"]

WEIGHTS = {"safetensors": "safetensors", "npz": "npz", "pt": "pytorch", "ckpt": "mindspore"}


def damaged(frame, seed):
    """A few bytes of the header changed; sizes and magic kept."""
    chance = random.Random(seed)
    header_bytes = int.from_bytes(frame[8:12], "little")
    result = bytearray(frame)
    for _ in range(4):
        result[PRELUDE_BYTES + chance.randrange(header_bytes)] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
    return bytes(result)


def flipped(content, seed):
    """One byte changed, anywhere."""
    chance = random.Random(seed)
    result = bytearray(content)
    result[chance.randrange(len(result))] ^= 1 << chance.randrange(8)
    return bytes(result)


def write(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{name}").write_bytes(content)


def main():
    for old in CORPUS.glob("*/seed-*"):
        old.unlink()
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
    for name in ONNX_SEEDS:
        model = (TESTS / "golden" / "onnx" / f"{name}.onnx").read_bytes()
        write("onnx", name, model)
        write("onnx", f"{name}-cut", model[: len(model) * 2 // 3])
    for suffix, target in WEIGHTS.items():
        for golden in sorted((TESTS / "golden" / "weights").glob(f"*.{suffix}")):
            weights = golden.read_bytes()
            write(f"weights_{target}", golden.stem, weights)
            write(f"weights_{target}", f"{golden.stem}-cut", weights[: len(weights) * 2 // 3])
            for seed in range(4):
                write(f"weights_{target}", f"{golden.stem}-flipped-{seed}", flipped(weights, f"{golden.name} {seed}"))


if __name__ == "__main__":
    main()
