"""./bench compression: bytes of an update and accuracy on digits, in few bits and as they are."""
import pathlib
import statistics
import tempfile

from rows import BIN, rows_of, verdict

SEEDS = (1, 2, 3)
LEVELS = ("none", "masked", "active")
BITS = (8, 6, 4)


def demo(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        return rows_of([BIN / "coterie", "demo", "--json", "--quiet", "--out", pathlib.Path(folder) / "run", *arguments])[-1]


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
            row = {"bench": "compression", "level": level, "bits": bits, "update_bytes": size, "plain_bytes": plain[level],
                   "accuracy": small, "plain_accuracy": accuracy, "seeds": len(SEEDS)}
            reached = size * 5 <= plain[level] and small >= accuracy - .01
            yield row, (f"update of the demo's cnn, {level}, {bits} bits", f"{size} bytes, accuracy {small:.3f}",
                        f"as it is {plain[level]} bytes, {accuracy:.3f}",
                        f"{plain[level] / size:.1f} times smaller; goal 5 within .01", verdict(reached))
