"""What federated_rows.py and simulated_rows.py share, and federated_reference.py: the reference's jobs, data and models.

The reference (../shared/vectors/aggregation, design/anchors/aggregation.md) is a simulator in C++ that shares no code with
Coterie: 100 devices, MNIST's test images with label-wise Dirichlet(0.1), 10 a round, 5 epochs of batches of 10, SGD at
0.1, an MLP of 32 hidden units, 100 rounds. It tells the mean of its last ten evaluations, which are of the last ten rounds: runs.txt
has runs of 40 rounds that reached a goal in rounds 31, 33 and 39, and none in an odd round before. Two of its partitions are stored.
"""
import csv
import dataclasses
import json
import math
import pathlib
import statistics
import subprocess

from mlp_onnx import mlp
from rows import BIN, ROOT, Failed, rows_of

SHARED = ROOT.parent / "shared"
VECTORS = SHARED / "vectors/aggregation"
MNIST = SHARED / "data/mnist-t10k"
PARTITIONS = (0, 1)


@dataclasses.dataclass
class Case:
    """A row: what differs from plain FedAvg. `reference`: the accuracy to come near to, None where there is none."""
    name: str
    reference: float | None
    strategy: dict = dataclasses.field(default_factory=lambda: {"kind": "fedavg"})
    weight_max: int = 16384
    training: dict = dataclasses.field(default_factory=dict)
    arguments: tuple = ()  # of `coterie simulate`
    is_over: bool = False  # is to be over FedAvg


def is_there():
    return MNIST.is_dir() and VECTORS.is_dir()


def absent(what):
    return None, (what, "", f"{SHARED} is absent", "", "not compared")


def job_of(case, rounds=100, goal_count=10, local_epochs=5):
    return {"name": "bench", "population": "default", "privacy": {"level": "none"},
           "rounds": {"count": rounds, "goal_count": goal_count, "goal_count_min": 2, "over_selection": 1.0}, "strategy": case.strategy,
           "training": {"batch_size": 10, "local_epochs": local_epochs, "loss": "softmax_cross_entropy",
                        "optimizer": {"kind": "sgd", "learning_rate": .1}, **case.training},
           "update": {"value_abs_max": 64.0, "weight_max": case.weight_max}}


def simulate(folder, settings, *arguments, source=None):
    """The summary, and the accuracy behind each round."""
    (folder / "job.json").write_text(json.dumps(settings), encoding="utf-8")
    out = folder / f"run{len(list(folder.glob('run*')))}"
    row = rows_of([BIN / "coterie", "simulate", folder / "job.json", "--data", source or f"mnist:{MNIST}", "--json", "--quiet", "--out", out,
                   *arguments])[-1]
    with open(out / "metrics.csv", encoding="utf-8") as file:
        accuracies = [float(line["evaluation_accuracy"]) for line in csv.DictReader(file)]
    return row, accuracies


def coterie(*words, codes=(0,)):
    """Its standard output; `codes` are the exit codes that are no failure."""
    done = subprocess.run([str(word) for word in (BIN / "coterie", *words)], stdout=subprocess.PIPE, text=True)
    if done.returncode not in codes:
        raise Failed(f"coterie {' '.join(str(word) for word in words[:2])} ended with {done.returncode}")
    return done.stdout


def shards_of(run):
    """What each device has, of a simulation with --keep."""
    return sorted((pathlib.Path(run) / "devices").glob("*/data.cotf"))


def accuracy_of(model, data):
    return json.loads(coterie("model", "evaluate", model, "--data", data, "-o", "json"))["accuracy"]


def worst_tenth(accuracies):
    return statistics.mean(sorted(accuracies)[:math.ceil(len(accuracies) / 10)])


def write_split(folder, partition, alpha):
    """The reference's split as `--split file:` reads it."""
    path = folder / f"split{alpha}-{partition}"
    if not path.exists():
        owners = iter((VECTORS / f"part_{alpha}_{partition}.bin").read_bytes())
        lines = ["held-out" if i % 5 == 4 else str(next(owners) + 1) for i in range(10_000)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_model(folder, partition, has_norm=False):
    """A model of the reference's kind; with a batch norm if `has_norm`."""
    path = folder / f"{'norm' if has_norm else 'model'}{partition}.cotf"
    if not path.exists():
        onnx = path.with_suffix(".onnx")
        onnx.write_bytes(mlp((28, 28, 1), 32, 10, partition, has_norm))
        coterie("model", "convert", onnx, "-o", path)
    return path


def inputs(folder, partition, alpha="0.1", has_norm=False):
    """The arguments that name data and model."""
    return ("--model", write_model(folder, partition, has_norm), "--split", f"file:{write_split(folder, partition, alpha)}", "--devices", 100,
            "--shards", 100)


def last_ten(accuracies):
    """As the reference, which evaluates every second round, and each of the last ten."""
    return statistics.mean(accuracies[-10:])
