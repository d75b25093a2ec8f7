"""./bench private_demo: what privacy costs a whole demo, in time and in accuracy, beside the same demo without."""
import pathlib
import statistics
import tempfile

from rows import BIN, rows_of, verdict

REPEATS = 5  # a demo takes seconds, and no two take the same
# Devices that are enough for noise of this epsilon to be learned through: with few, nothing is.
NOISY = ["--devices", 250, "--fraction", 1, "--rounds", 8, "--model", "mlp", "--lr", 0.5, "--local-epochs", 5]


def demo(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        return rows_of([BIN / "coterie", "demo", "--json", "--quiet", "--out", pathlib.Path(folder) / "run", *arguments])[-1]


def times():
    """Wall times of demos with and without, in turns."""
    kinds = {"none": ["--security", "none", "--dropout", 0.1], "none, nobody vanishes": ["--security", "none"], "active": ["--security", "active", "--dropout", 0.1]}
    seconds = {kind: [] for kind in kinds}
    for _ in range(REPEATS):
        for kind, arguments in kinds.items():
            seconds[kind].append(demo("--rounds", 20, *arguments)["seconds"])
    median = {kind: statistics.median(values) for kind, values in seconds.items()}
    for kind in ("none", "none, nobody vanishes"):
        over = median["active"] / median[kind]
        row = {"bench": "private_demo", "beside": kind, "seconds": median["active"], "beside_seconds": median[kind]}
        yield row, ("demo, 20 rounds, active, 10 % vanish", f"{median['active']:.1f} s", f"{kind} {median[kind]:.1f} s",
                    f"{over:.2f} times; goal 1.3", verdict(over <= 1.3))


def accuracies():
    """The same demo at epsilon 8 and without noise."""
    plain = demo(*NOISY, "--security", "none")
    noisy = demo(*NOISY, "--security", "active_dp", "--clip", 2, "--target-epsilon", 8)
    row = {"bench": "private_demo_accuracy", "accuracy": noisy["accuracy"], "epsilon": noisy["privacy"]["epsilon"],
           "accuracy_without": plain["accuracy"], "seconds": noisy["seconds"], "seconds_without": plain["seconds"]}
    yield row, ("demo, 250 devices, active_dp at epsilon 8", f"accuracy {noisy['accuracy']:.3f}, {noisy['seconds']:.0f} s",
                f"without {plain['accuracy']:.3f}, {plain['seconds']:.0f} s", "", "")


def private_demo():
    yield from times()
    yield from accuracies()
