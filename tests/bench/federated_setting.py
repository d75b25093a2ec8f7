"""What federated_rows.py and simulated_rows.py share, and federated_reference.py: the reference's jobs, data and models.

The reference (../shared/vectors/aggregation, design/anchors/aggregation.md) is a simulator in C++ that shares no code with
Coterie: 100 devices, MNIST's test images with label-wise Dirichlet(0.1), 10 a round, 5 epochs of batches of 10, SGD at
0.1, an MLP of 32 hidden units, 100 rounds. It evaluates every second round, and tells the mean of its last ten evaluations. Two of
its partitions are stored.
"""
import csv
import dataclasses
import json
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


def simulate(folder, settings, *arguments):
    """The summary, and the accuracy behind each round."""
    (folder / "job.json").write_text(json.dumps(settings), encoding="utf-8")
    out = folder / f"run{len(list(folder.glob('run*')))}"
    row = rows_of([BIN / "coterie", "simulate", folder / "job.json", "--data", f"mnist:{MNIST}", "--json", "--quiet", "--out", out,
                   *arguments])[-1]
    with open(out / "metrics.csv", encoding="utf-8") as file:
        accuracies = [float(line["evaluation_accuracy"]) for line in csv.DictReader(file)]
    return row, accuracies


def coterie(*words):
    done = subprocess.run([str(word) for word in (BIN / "coterie", *words)], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed(f"coterie {words[0]} ended with {done.returncode}")
    return done.stdout


def write_split(folder, partition):
    """The reference's split as `--split file:` reads it."""
    path = folder / f"split{partition}"
    if not path.exists():
        owners = iter((VECTORS / f"part_0.1_{partition}.bin").read_bytes())
        lines = ["held-out" if i % 5 == 4 else str(next(owners) + 1) for i in range(10_000)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_model(folder, partition):
    """A model of the reference's kind."""
    path = folder / f"model{partition}.cotf"
    if not path.exists():
        onnx = folder / f"model{partition}.onnx"
        onnx.write_bytes(mlp((28, 28, 1), 32, 10, partition))
        coterie("model", "convert", onnx, "-o", path)
    return path


def inputs(folder, partition):
    """The arguments that name data and model."""
    return ("--model", write_model(folder, partition), "--split", f"file:{write_split(folder, partition)}", "--devices", 100,
            "--shards", 100)


def last_ten(accuracies):
    """As the reference: of every second round."""
    return statistics.mean(accuracies[len(accuracies) - 19::2])
