"""./bench personal: models of each device's own, beside a reference: accuracy on what each device holds out.

The setting is federated_setting.py's; a fifth of each device's examples is held out. The reference says neither which fifth it took
nor Ditto's lambda. Its figures are those by examples, as rows of fine-tuning are here. `coterie simulate` counts them alike: rows of
jobs are shown beside the reference and not compared. Clusters (IFCA) have another setting: Dirichlet(1), and the second half of the
devices calls each digit y by 9 - y.
"""
import gzip
import json
import pathlib
import statistics
import tempfile

from federated_setting import MNIST, PARTITIONS, VECTORS, Case, absent, coterie, inputs, is_there, job_of, shards_of, simulate, worst_tenth, write_model
from rows import verdict

SEED, SHARE, WITHIN = 1, .2, .02
LABELS, LABELS_HEADER = "t10k-labels-idx1-ubyte.gz", 8
STARTS = 4  # of clusters: where chance makes one model that suits everybody better, all choose it, and the paper begins anew


def personal_of(**settings):
    return {"training": {"personal": settings}}


def part(**more):
    return personal_of(kind="part", **more)


HEAD = ["w2", "b2"]
JOBS = [
    ("FedPer, the last layer", part(parameters=HEAD), .965),
    ("FedRep, five epochs of the last layer, one of the rest", part(parameters=HEAD, first_epochs=5), None),
    ("Ditto, lambda 0.1", personal_of(kind="model", **{"lambda": .1}), .967),
]
TUNED = [(1, .963), (5, .970)]


def settings_of(fields, local_epochs=5):
    settings = job_of(Case("", None), local_epochs=local_epochs)
    settings["training"] |= fields.get("training", {})
    return settings


def own(folder, settings, arguments):
    """How devices score on what they hold out, and where the run lies."""
    row, _ = simulate(folder, settings, *arguments, "--held-out-share", SHARE, "--keep", "--seed", SEED)
    return row["own"], pathlib.Path(row["run_dir"])


def fine_tuned(model, shards, epochs):
    """Before, behind the training, and behind the gate: the accuracy over the devices' examples, and the worst tenth of the devices."""
    scores, examples = [], []
    for shard in shards:
        printed = coterie("model", "fine-tune", model, "--data", shard, "--held-out-share", SHARE, "--batch", 10, "--lr", .1, "--epochs",
                          epochs, "--json", "-o", shard.with_name("tuned.cotf"), codes=(0, 1, 2))
        if printed:  # else it has too few examples to hold one out
            tuned = json.loads(printed)
            before, after = tuned["before"]["accuracy"], tuned["after"]["accuracy"]
            scores.append((before, after, after if tuned["is_better"] else before))
            examples.append(tuned["held_out"])
    return [(sum(n * one for n, one in zip(examples, column)) / sum(examples), worst_tenth(column)) for column in zip(*scores)]


def row_of(name, runs, reference, is_compared=True):
    """`runs`: accuracy and worst tenth, of each partition."""
    mean, worst = (statistics.mean(column) for column in zip(*runs))
    row = {"bench": "personal", "job": name, "accuracy": mean, "worst_tenth": worst, "runs": runs, "reference": reference}
    is_compared = is_compared and reference is not None
    return row, (name, f"{mean:.3f} ({', '.join(f'{run[0]:.3f}' for run in runs)}); worst tenth {worst:.3f}",
                 "no stored reference" if reference is None else f"reference {reference:.3f}", f"goal within {WITHIN}" if is_compared else "",
                 verdict(abs(mean - reference) <= WITHIN) if is_compared else "")


def score_of(own_scores):
    return own_scores["accuracy"], own_scores["worst_tenth"]


def tuning(folder):
    """FedAvg's model as it is published, and as each device tunes it for itself."""
    runs = [own(folder, settings_of({}), inputs(folder, partition))[1] for partition in PARTITIONS]
    for number, (epochs, reference) in enumerate(TUNED):
        published, trained, gated = zip(*(fine_tuned(run / "model.cotf", shards_of(run), epochs) for run in runs))
        if number == 0:
            yield row_of("FedAvg, as published", published, .872)
        yield row_of(f"fine-tuned, epochs {epochs}", trained, reference)
        yield row_of(f"fine-tuned, epochs {epochs}, kept if it is better", gated, None)
    alone = [fine_tuned(write_model(folder, partition), shards_of(run), 20)[1] for partition, run in zip(PARTITIONS, runs)]
    yield row_of("each device alone, epochs 20", alone, .945)


def write_mirrored(folder, partition):
    """MNIST's files, where devices from 51 on have labels 9 - y."""
    directory = folder / f"mirrored{partition}"
    directory.mkdir(exist_ok=True)
    for name in MNIST.iterdir():
        if name.name != LABELS:
            (directory / name.name).write_bytes(name.read_bytes())
    labels = bytearray(gzip.decompress((MNIST / LABELS).read_bytes()))
    owners = iter((VECTORS / f"part_1_{partition}.bin").read_bytes())
    for i in range(len(labels) - LABELS_HEADER):
        if i % 5 != 4 and next(owners) >= 50:
            labels[LABELS_HEADER + i] = 9 - labels[LABELS_HEADER + i]
    (directory / LABELS).write_bytes(gzip.compress(bytes(labels)))
    return directory


def norms(folder):
    """FedBN: the same network with a batch norm, whose values stay with each device, and averaged as all others."""
    for name, fields, kind in (("with a batch norm, FedAvg as published", {}, "published"),
                               ("with a batch norm, FedBN", part(norms=True), "personal")):
        runs = [score_of(own(folder, settings_of(fields), inputs(folder, partition, has_norm=True))[0][kind]) for partition in PARTITIONS]
        yield row_of(name, runs, None)


def clusters(folder):
    for name, fields, reference in (("one model for two groups", {}, .461), ("clusters, two", personal_of(kind="clusters", count=2), .918)):
        runs = []
        for partition in PARTITIONS:
            data = write_mirrored(folder, partition)
            for start in range(1, STARTS + 1):
                row, _ = simulate(folder, settings_of(fields), *inputs(folder, partition, "1"), "--held-out-share", SHARE, "--seed", start,
                                  source=f"mnist:{data}")
                score = row["own"]["personal"] or row["own"]["published"]
                if not fields or score["accuracy"] > .7:
                    break
            runs.append(score_of(score))
        yield row_of(name, runs, reference, is_compared=False)


def personal():
    if not is_there():
        yield absent("models of devices' own")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        yield from tuning(folder)
        for job, fields, reference in JOBS:
            local_epochs = 1 if "first_epochs" in fields["training"]["personal"] else 5
            runs = [score_of(own(folder, settings_of(fields, local_epochs), inputs(folder, partition))[0]["personal"])
                    for partition in PARTITIONS]
            yield row_of(job, runs, reference, is_compared=False)
        yield from norms(folder)
        yield from clusters(folder)
