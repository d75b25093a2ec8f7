"""./bench compression: bytes of an update and accuracy on digits, in few bits and as they are."""
import pathlib
import statistics
import tempfile

from rows import BIN, rows_of, verdict

SEEDS = (1, 2, 3)
LEVELS = ("none", "masked", "active")
BITS = (8, 6, 4)
OF_SINGLE_UPDATES = ("eden:bits=1", "eden:bits=2", "top_k:share=0.1", "top_k:share=0.1,bits=8")  # level none alone


def demo(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        return rows_of([BIN / "coterie", "demo", "--json", "--quiet", "--out", pathlib.Path(folder) / "run", *arguments])[-1]


def row_of(level, kind, size, accuracy, plain_size, plain_accuracy):
    row = {"bench": "compression", "level": level, "kind": kind, "update_bytes": size, "plain_bytes": plain_size,
           "accuracy": accuracy, "plain_accuracy": plain_accuracy, "seeds": len(SEEDS)}
    reached = size * 5 <= plain_size and accuracy >= plain_accuracy - .01
    return row, (f"update of the demo's cnn, {level}, {kind}", f"{size} bytes, accuracy {accuracy:.3f}",
                 f"as it is {plain_size} bytes, {plain_accuracy:.3f}",
                 f"{plain_size / size:.1f} times smaller; goal 5 within .01", verdict(reached))


def means(*arguments):
    """Mean accuracy over the seeds, at `none`; the model is the same at all levels."""
    return statistics.mean(demo("--security", "none", "--seed", seed, *arguments)["accuracy"] for seed in SEEDS)


def compression():
    rounds_for_bytes = ("--rounds", 1)
    plain = {level: demo("--security", level, *rounds_for_bytes)["update_bytes"] for level in LEVELS}
    accuracy = means()
    for bits in BITS:
        small = means("--update-bits", bits)
        for level in LEVELS:
            size = demo("--security", level, "--update-bits", bits, *rounds_for_bytes)["update_bytes"]
            yield row_of(level, f"{bits} bits", size, small, plain[level], accuracy)
    for kind in OF_SINGLE_UPDATES:
        size = demo("--security", "none", "--compression", kind, *rounds_for_bytes)["update_bytes"]
        yield row_of("none", kind, size, means("--compression", kind), plain["none"], accuracy)
