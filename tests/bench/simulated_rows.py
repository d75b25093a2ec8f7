"""./bench simulated_clients: how fast a simulation is beside its training steps, and what a virtual device takes."""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

from federated_setting import MNIST, Case, job_of, simulate
from rows import BIN, Failed, rows_of, verdict


def cpu_seconds(folder, model, rounds, clients):
    """Processor time of a simulation of one thread, what it takes to begin included."""
    settings = job_of(Case("", None, weight_max=1), rounds=rounds, goal_count=clients, local_epochs=1)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    simulate(folder, settings, "--model", model, "--split", "iid", "--devices", clients, "--shards", 100, "--threads", 1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate(folder, model, examples=80, batch=10, rounds=(1, 4), clients=1000, turns=3):
    """Clients a second of processor time beside what the training steps alone would let through: both in turns, as other work
    on the machine slows either. Two runs of unlike length, so that reading and sharing out the data is in neither."""
    ours, limits = [], []
    for _ in range(turns):
        step = rows_of([BIN / "coterie-bench-train", "--model", model, "--batch", batch, "--seconds", 1])[-1]["cpu_ms"] / 1000
        short, long = (cpu_seconds(folder, model, count, clients) for count in rounds)
        ours.append(clients * (rounds[1] - rounds[0]) / (long - short))
        limits.append(1 / (step * examples / batch))
    shares = [one / limit for one, limit in zip(ours, limits)]
    share = statistics.median(shares)
    yield ({"bench": "simulated_clients", "model": model, "clients_per_cpu_second": ours, "limits": limits, "shares": shares},
           (f"simulated clients a CPU second, {model}, {examples} examples", f"{statistics.median(ours):.0f}",
            f"training steps alone {statistics.median(limits):.0f}",
            f"{share:.2f} of it ({min(shares):.2f} to {max(shares):.2f}); goal 0.85", verdict(share >= .85)))


def cohorts():
    """The trainer of a round's devices alone: what ends a round is not in it, nor what it takes to begin."""
    for row in rows_of([BIN / "coterie-bench-cohort"]):
        share = row["share"]
        yield row, (f"a client's training and sum, {row['model']}", f"{row['client_us']:.0f} us",
                    f"training steps alone {row['steps_us']:.0f} us",
                    f"{share:.2f} of it ({row['share_low']:.2f} to {row['share_high']:.2f}); goal 0.85", verdict(share >= .85))


def peak_bytes(folder, devices, goal_count):
    """The most memory that a simulation had, and how long its rounds took."""
    settings = job_of(Case("", None, weight_max=1), rounds=2, goal_count=goal_count, local_epochs=1)
    settings["rounds"]["over_selection"] = 1.3
    (folder / "job.json").write_text(json.dumps(settings), encoding="utf-8")
    out = folder / f"run{len(list(folder.glob('run*')))}"
    command = [BIN / "coterie", "simulate", folder / "job.json", "--data", "digits", "--model", "logistic", "--devices", devices,
               "--shards", 100, "--speed-spread", 1, "--dropout", .08, "--quiet", "--out", out]
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise Failed(f"coterie simulate ended with {os.waitstatus_to_exitcode(status)}")
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return usage.ru_maxrss * 1024, summary["seconds"] / summary["rounds"]


def million(folder, few=20_000, more=1_000_000, goal_count=10_000):
    """What a virtual device takes: the same rounds with a million devices more."""
    small, _ = peak_bytes(folder, few, goal_count)
    large, seconds = peak_bytes(folder, few + more, goal_count)
    each = (large - small) / more
    row = {"bench": "simulated_clients", "devices": few + more, "bytes_a_device": each, "peak_bytes": large, "round_seconds": seconds}
    yield row, (f"{few + more} virtual devices, {goal_count} a round", f"{each:.0f} bytes a device", f"{few} devices: {small / 1e6:.0f} MB",
                f"{large / 1e6:.0f} MB, {seconds:.1f} s a round; goal 64 bytes, 1 GB", verdict(each <= 64 and large <= 1e9))


def simulated_clients():
    yield from cohorts()
    if not MNIST.is_dir():
        yield None, ("simulated clients a second", "", f"{MNIST} is absent", "", "not compared")
        return
    with tempfile.TemporaryDirectory() as name:
        for model in ("lenet5", "mlp"):
            yield from rate(pathlib.Path(name), model)
        yield from million(pathlib.Path(name))
