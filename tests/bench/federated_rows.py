"""./bench federated: strategies beside a reference on its own partitions. The setting is federated_setting.py's."""
import pathlib
import statistics
import tempfile

from federated_setting import PARTITIONS, Case, absent, inputs, is_there, job_of, last_ten, simulate
from rows import verdict

SEEDS = (1, 2)
WITHIN, OVER_FEDAVG = .012, .02
OF_100 = {"population_size": 100}


def rate(of_devices):
    return {"optimizer": {"kind": "sgd", "learning_rate": of_devices}}


# With the stored references; where there is none, federated_reference.py has the algorithm.
STRATEGIES = [
    Case("FedAvg", .883),
    Case("FedAvg, uniform weights", .897, weight_max=1),
    Case("FedProx, mu 1", .869, training={"proximal_mu": 1.0}),
    Case("FedAvgM, momentum 0.9, rate 0.3", .905, {"kind": "fedavgm", "server_learning_rate": .3}),
    Case("FedAdagrad, rate 0.03", .902, {"kind": "fedadagrad", "server_learning_rate": .03}),
    Case("FedAdam, rate 0.01", .915, {"kind": "fedadam", "server_learning_rate": .01}),
    Case("FedYogi, rate 0.01", .913, {"kind": "fedyogi", "server_learning_rate": .01}),
    Case("FedLion, rate 0.001", .871, {"kind": "fedlion", "server_learning_rate": .001}),
    Case("FedNova", .896, training={"normalised_steps": 40.0}),
    Case("q-FFL, q 0.1", .887, {"kind": "qffl", "q": .1}, weight_max=1),
    Case("SCAFFOLD", .916, {"kind": "scaffold", **OF_100}, weight_max=1, is_over=True),
    Case("SCAFFOLD, option I, rate 0.01", None, {"kind": "scaffold", "option": 1, **OF_100}, weight_max=1, training=rate(.01)),
    Case("FedDyn, alpha 0.1", .916, {"kind": "feddyn", "alpha": .1, **OF_100}, weight_max=1, is_over=True),
    Case("Mime Lite, rate 0.001", None, {"kind": "mime_lite", "momentum": .9}, training=rate(.001)),
    Case("FedExP, the last model", None, {"kind": "fedexp"}),
    Case("FedExP, the mean of the last two", None, {"kind": "fedexp"}, arguments=("--mean-of-last", 2)),
]


def measured(folder, case):
    """The accuracy of each run, and a device's bytes."""
    runs, size = [], 0
    for partition in PARTITIONS:
        for seed in SEEDS:
            row, accuracies = simulate(folder, job_of(case), *inputs(folder, partition), *case.arguments, "--seed", seed)
            runs.append(last_ten(accuracies))
            size = row["update_bytes"]
    return runs, size


def strategies(folder):
    fedavg = None
    for case in STRATEGIES:
        runs, size = measured(folder, case)
        mean = statistics.mean(runs)
        fedavg = mean if fedavg is None else fedavg
        over = mean - fedavg
        reached = (case.reference is None or abs(mean - case.reference) <= WITHIN) and (not case.is_over or over >= OVER_FEDAVG)
        row = {"bench": "federated", "job": case.name, "accuracy": mean, "runs": runs, "reference": case.reference, "update_bytes": size,
               "over_fedavg": over}
        note = [f"{100 * over:+.1f} points to FedAvg"]
        if case.reference is not None:
            note.append(f"goal within {WITHIN}")
        if case.is_over:
            note.append(f"{100 * OVER_FEDAVG:.0f} over")
        yield row, (case.name, f"{mean:.3f} ({', '.join(f'{run:.3f}' for run in runs)})",
                    f"reference {case.reference:.3f}" if case.reference is not None else "no stored reference", "; ".join(note),
                    verdict(reached) if case.reference is not None or case.is_over else "")


def federated():
    if not is_there():
        yield absent("strategies beside a reference")
        return
    with tempfile.TemporaryDirectory() as name:
        yield from strategies(pathlib.Path(name))
