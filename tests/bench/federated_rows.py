"""./bench federated: strategies beside a reference on its own partitions. ./bench simulated_clients: how fast a simulation is.

The reference (../shared/vectors/aggregation, design/anchors/aggregation.md) is a simulator in C++ that shares no code with
Coterie: 100 devices, MNIST's test images with label-wise Dirichlet(0.1), 10 a round, 5 epochs of batches of 10, SGD at
0.1, an MLP of 32 hidden units, 100 rounds. It evaluates every second round, and tells the mean of its last ten evaluations. Two of
its partitions are stored.
"""
import csv
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from mlp_onnx import mlp
from rows import BIN, ROOT, rows_of, verdict

SHARED = ROOT.parent / "shared"
VECTORS = SHARED / "vectors/aggregation"
MNIST = SHARED / "data/mnist-t10k"
PARTITIONS, SEEDS = (0, 1), (1, 2)
WITHIN, OVER_FEDAVG = .012, .02
POPULATION = {"population_size": 100}
# name, strategy, an update's largest weight, training, the reference's accuracy, whether it is to be over FedAvg
JOBS = [("FedAvg", {"kind": "fedavg"}, 16384, {}, .883, False),
        ("FedAvg, uniform weights", {"kind": "fedavg"}, 1, {}, .897, False),
        ("FedProx, mu 1", {"kind": "fedavg"}, 16384, {"proximal_mu": 1.0}, .869, False),
        ("FedAvgM, momentum 0.9, rate 0.3", {"kind": "fedavgm", "server_learning_rate": .3}, 16384, {}, .905, False),
        ("FedAdam, rate 0.01", {"kind": "fedadam", "server_learning_rate": .01}, 16384, {}, .915, False),
        ("FedYogi, rate 0.01", {"kind": "fedyogi", "server_learning_rate": .01}, 16384, {}, .913, False),
        ("SCAFFOLD", {"kind": "scaffold", **POPULATION}, 1, {}, .916, True),
        ("FedDyn, alpha 0.1", {"kind": "feddyn", "alpha": .1, **POPULATION}, 1, {}, .916, True)]


def job(strategy, weight_max, training, rounds=100):
    return {"name": "bench", "population": "default", "privacy": {"level": "none"},
            "rounds": {"count": rounds, "goal_count": 10, "goal_count_min": 2, "over_selection": 1.0}, "strategy": strategy,
            "training": {"batch_size": 10, "local_epochs": 5, "loss": "softmax_cross_entropy",
                         "optimizer": {"kind": "sgd", "learning_rate": .1}, **training},
            "update": {"value_abs_max": 64.0, "weight_max": weight_max}}


def simulate(folder, settings, *arguments):
    (folder / "job.json").write_text(json.dumps(settings), encoding="utf-8")
    out = folder / f"run{len(list(folder.glob('run*')))}"
    row = rows_of([BIN / "coterie", "simulate", folder / "job.json", "--data", f"mnist:{MNIST}", "--json", "--quiet", "--out", out,
                   *arguments])[-1]
    with open(out / "metrics.csv", encoding="utf-8") as file:
        accuracies = [float(line["evaluation_accuracy"]) for line in csv.DictReader(file)]
    return row, accuracies


def write_inputs(folder, partition):
    """The reference's split as `--split file:` reads it, and a model of its kind."""
    owners = iter((VECTORS / f"part_0.1_{partition}.bin").read_bytes())
    lines = ["held-out" if i % 5 == 4 else str(next(owners) + 1) for i in range(10_000)]
    (folder / f"split{partition}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "model.onnx").write_bytes(mlp((28, 28, 1), 32, 10, partition))
    subprocess.run([BIN / "coterie", "model", "convert", folder / "model.onnx", "-o", folder / f"model{partition}.cotf"], check=True,
                   stdout=subprocess.DEVNULL)


def strategies(folder):
    for partition in PARTITIONS:
        write_inputs(folder, partition)
    fedavg = None
    for name, strategy, weight_max, training, reference, is_over in JOBS:
        runs = []
        for partition in PARTITIONS:
            for seed in SEEDS:
                _, accuracies = simulate(folder, job(strategy, weight_max, training), "--model", folder / f"model{partition}.cotf",
                                         "--split", f"file:{folder / f'split{partition}'}", "--devices", 100, "--shards", 100,
                                         "--seed", seed)
                runs.append(statistics.mean(accuracies[81::2]))
        mean = statistics.mean(runs)
        fedavg = mean if fedavg is None else fedavg
        reached = abs(mean - reference) <= WITHIN and (not is_over or mean >= fedavg + OVER_FEDAVG)
        row = {"bench": "federated", "job": name, "accuracy": mean, "runs": runs, "reference": reference, "over_fedavg": mean - fedavg}
        note = f"{100 * (mean - fedavg):+.1f} points to FedAvg; goal within {WITHIN}" + (f", {100 * OVER_FEDAVG:.0f} over" if is_over else "")
        yield row, (f"{name}, 100 devices, alpha 0.1", f"{mean:.3f} ({min(runs):.3f} to {max(runs):.3f})", f"reference {reference:.3f}",
                    note, verdict(reached))


def rate(folder, rounds=5, clients=1000):
    """Clients a second beside what the training steps alone would let through, on all cores that this process may use."""
    examples, batch = 80, 10
    step = rows_of([BIN / "coterie-bench-train", "--model", "lenet5", "--batch", batch])[-1]["ms"] / 1000
    settings = job({"kind": "fedavg"}, 1, {"local_epochs": 1}, rounds=rounds)
    settings["rounds"]["goal_count"] = clients
    row, _ = simulate(folder, settings, "--model", "lenet5", "--split", "iid", "--devices", clients, "--shards", 100)
    limit = len(os.sched_getaffinity(0)) / (step * examples / batch)
    share = row["clients_per_second"] / limit
    yield ({"bench": "federated", "clients_per_second": row["clients_per_second"], "limit": limit, "share": share},
           ("simulated clients a second, LeNet-5, 80 examples", f"{row['clients_per_second']:.0f}", f"training steps alone {limit:.0f}",
            f"{share:.2f} of it; goal 0.85", verdict(share >= .85)))


def federated():
    if not MNIST.is_dir() or not VECTORS.is_dir():
        yield None, ("strategies beside a reference", "", f"{SHARED} is absent", "", "not compared")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        yield from strategies(folder)


def simulated_clients():
    if not MNIST.is_dir():
        yield None, ("simulated clients a second", "", f"{MNIST} is absent", "", "not compared")
        return
    with tempfile.TemporaryDirectory() as name:
        yield from rate(pathlib.Path(name))
