"""./bench fairness: how evenly a model serves 100 devices, beside a reference: its accuracy on what each device trains on.

The setting is federated_setting.py's. Of each job's last model: the mean accuracy of the tenth of the devices that have it worst,
and the variance over devices in squares of a percent.
"""
import pathlib
import statistics
import tempfile

from federated_rows import OF_100, WITHIN
from federated_setting import PARTITIONS, Case, absent, accuracy_of, inputs, is_there, job_of, last_ten, shards_of, simulate, worst_tenth
from rows import verdict

SEED = 1
WORST_WITHIN = .04  # of one model, where the accuracy is of ten


def qffl(q):
    return {"kind": "qffl", "q": q}


# Each with the reference's accuracy on held-out data, worst tenth and variance.
CASES = [
    (Case("FedAvg", .883), .616, 142),
    (Case("FedAvg, uniform weights", .897, weight_max=1), .730, 65),
    (Case("q-FFL, q 0.01", .897, qffl(.01), weight_max=1), .736, 61),
    (Case("q-FFL, q 0.1", .887, qffl(.1), weight_max=1), .735, 63),
    (Case("q-FFL, q 1", .827, qffl(1.0), weight_max=1), .624, 105),
    (Case("q-FFL, q 5", .592, qffl(5.0), weight_max=1), .359, 235),
    (Case("SCAFFOLD", .916, {"kind": "scaffold", **OF_100}, weight_max=1), .789, 48),
]


def measured(folder, case, partition):
    """The accuracy on held-out data, the worst tenth and the variance."""
    row, accuracies = simulate(folder, job_of(case), *inputs(folder, partition), "--keep", "--seed", SEED)
    run = pathlib.Path(row["run_dir"])
    own = [accuracy_of(run / "model.cotf", shard) for shard in shards_of(run)]
    return last_ten(accuracies), worst_tenth(own), statistics.pvariance([100 * each for each in own])


def fairness():
    if not is_there():
        yield absent("how evenly a model serves devices")
        return
    with tempfile.TemporaryDirectory() as name:
        for case, reference_worst, reference_variance in CASES:
            runs = [measured(pathlib.Path(name), case, partition) for partition in PARTITIONS]
            mean, worst, variance = (statistics.mean(column) for column in zip(*runs))
            row = {"bench": "fairness", "job": case.name, "accuracy": mean, "worst_tenth": worst, "variance": variance, "runs": runs,
                   "reference": [case.reference, reference_worst, reference_variance]}
            reached = abs(mean - case.reference) <= WITHIN and abs(worst - reference_worst) <= WORST_WITHIN
            yield row, (f"{case.name}: accuracy; worst tenth of the devices; variance", f"{mean:.3f}; {worst:.3f}; {variance:.0f}",
                        f"reference {case.reference:.3f}; {reference_worst:.3f}; {reference_variance}",
                        f"goal within {WITHIN} and {WORST_WITHIN}", verdict(reached))
