"""Runs the benchmark programs of a release build and prints their rows as one table, or as JSON objects.

    ./bench [--json] [GROUP]

A row that cannot be measured here (a peer is not installed, say) is printed with the reason. Goals are shown, never
asserted: a busy machine is not a failed test. The exit status is 1 when a program failed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from rows import BIN, ROOT, Failed, rows_of, verdict
from compression_rows import compression
from console_rows import console
from data_cache_rows import data_cache
from conv2d_rows import conv2d
from fairness_rows import fairness
from federated_rows import federated
from int8_rows import int8
from micro_rows import micro
from personal_rows import personal
from private_demo_rows import private_demo
from robust_rows import robust
from secure_rows import secure
from server_rows import UPLOAD_GOAL, server
from serving_rows import serving
from simulated_rows import simulated_clients
from vertical_memory_rows import vertical_memory
from vertical_rows import vertical

PYTHON_WITH_TORCH = "/usr/bin/python3"  # the one Debian's python3-torch belongs to

# Flower 1.6 on such a machine, without TLS: seconds a round (and GB of server memory where it was noted). Cited, not
# measured in this run.
FLOWER = {(10, 1): "0.07 s", (50, 1): "0.30 s", (10, 25): "1.33 s, 2.8 GB", (50, 25): "out of memory, 8.8 GB"}
ROUND_GOALS_S = {(10, 1): 0.05, (50, 1): 0.2, (10, 25): 0.7, (50, 25): 4.0}
# Ours / PyTorch, by model and batch.
TRAIN_GOALS = {("mlp", 1): 0.12, ("mlp", 32): 0.4, ("lenet5", 1): 0.12, ("lenet5", 8): 0.3, ("lenet5", 32): 0.4,
               ("fedavg_cnn", 8): 0.65, ("fedavg_cnn", 32): 0.75, ("resnet20", 1): 0.4, ("resnet20", 8): 0.65,
               ("resnet20", 32): 0.7, ("mbv2@96", 1): 0.5, ("mbv2@96", 8): 0.55, ("mbv2@224", 8): 0.6,
               ("resnet18@224", 1): 0.85, ("resnet18@224", 8): 0.9, ("lstm", 1): 0.2, ("lstm", 8): 0.35,
               ("tf", 1): 0.45, ("tf", 8): 0.7}


def ingest():
    for row in rows_of([BIN / "coterie-bench-ingest"]):
        yield row, (f"ingest of {row['update_mb']} MB updates, one core", f"{row['add_gb_per_s']:.1f} GB/s",
                    f"memcpy {row['memcpy_gb_per_s']:.1f} GB/s", f"{row['ratio']:.2f} of it; goal 0.35",
                    verdict(row["ratio"] >= 0.35))


def uploads():
    for megabytes, count in ((1, 1600), (25, 96)):
        for row in rows_of([BIN / "coterie-bench-uploads", "--megabytes", megabytes, "--uploads", count]):
            what = f"HTTPS uploads of {megabytes} MB a server CPU second"
            ours = f"{row['per_cpu_second']:.0f} ({row['per_second']:.0f} a second)"
            if "nginx" in row:
                yield row, (what, ours, row["nginx"], f"goal {UPLOAD_GOAL} of nginx", "not compared")
            else:
                peer = f"nginx {row['nginx_per_cpu_second']:.0f}, to a file {row['nginx_file_per_cpu_second']:.0f}"
                yield row, (what, ours, peer, f"{row['nginx_ratio']:.2f} and {row['nginx_file_ratio']:.2f} of it; goal {UPLOAD_GOAL}",
                            verdict(row["nginx_ratio"] >= UPLOAD_GOAL))


def has_torch():
    probe = [PYTHON_WITH_TORCH, "-c", "import torch"]
    return os.path.exists(probe[0]) and subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode == 0


def train():
    program = BIN / "coterie-bench-train"
    compare = has_torch()
    command = [PYTHON_WITH_TORCH, ROOT / "tests/bench/train_torch.py", "--compare", program] if compare else [program]
    for row in rows_of(command):
        what = f"training step, {row['model']}, batch {row['batch']}, one thread"
        if not compare:
            yield row, (what, f"{row['ms']:.3f} ms", "python3-torch is not installed", "", "not compared")
            continue
        goal = TRAIN_GOALS[(row["model"], row["batch"])]
        yield row, (what, f"{row['ours_ms']:.3f} ms", f"PyTorch {row['ms']:.3f} ms",
                    f"{row['ours_over_torch']:.2f} of it; goal {goal}", verdict(row["ours_over_torch"] <= goal))
        limit_goal = goal_over_limit(row)
        yield None, ("    beside what the machine could do", f"{row['ours_over_limit']:.2f} times",
                     f"{row['ours_limit_ms']:.3f} ms, multiply-adds alone {row['ours_flop_limit_ms']:.3f} ms",
                     f"goal {limit_goal}" if limit_goal else "",
                     verdict(row["ours_over_limit"] <= limit_goal) if limit_goal else "")


def goal_over_limit(row):
    """Times FLOP+traffic limit (step_limit.h)."""
    if row["model"].startswith("mbv2"):
        return 2.0
    if row["ours_ms"] < 0.1:
        return 3.0
    return 1.5 if row["model"] not in ("mlp", "lstm", "tf") and row["batch"] >= 8 else None


def train_threads():
    """Two threads beside one, steps in turn."""
    for row in rows_of([BIN / "coterie-bench-train", "--threads", "2", "--seconds", "1"]):
        one_ms = row["ms"] * row["speedup"]
        goal = 1.7 if one_ms >= 2 else 1.0
        yield row, (f"training step, {row['model']}, batch {row['batch']}, two threads", f"{row['ms']:.3f} ms",
                    f"one thread {one_ms:.3f} ms", f"{row['speedup']:.2f} times as fast; goal {goal}",
                    verdict(row["speedup"] >= goal))
    for row in rows_of([BIN / "coterie-bench-train", "--threads", "2", "--seconds", "2", "--branches"]):
        yield row, (f"training step, {row['model']}, batch {row['batch']}, two threads, branches at the same time", f"{row['ms']:.3f} ms",
                    f"in turn {row['in_turn_ms']:.3f} ms, one thread {row['one_ms']:.3f} ms",
                    f"{row['over_in_turn']:.2f} times as fast as in turn; goal 0.97", verdict(row["over_in_turn"] >= 0.97))


def train_bf16():
    """Storage bf16 beside float32, steps in turn."""
    for row in rows_of([BIN / "coterie-bench-train", "--bf16", "--seconds", "1"]):
        one_ms = row["bf16_ms"] / row["bf16_ratio"]
        computes = row["bf16_kernels"].endswith("bf16")
        goal = "goal 0.6" if computes else "this CPU computes in float32"
        yield row, (f"training step, {row['model']}, batch {row['batch']}, bf16", f"{row['bf16_ms']:.3f} ms",
                    f"float32 {one_ms:.3f} ms", f"{row['bf16_ratio']:.2f} of it; {goal}",
                    verdict(row["bf16_ratio"] <= 0.6) if computes else "not compared")


def bare_rounds():
    for (devices, megabytes), goal in ROUND_GOALS_S.items():
        rounds = 20 if megabytes == 1 else 6
        for row in rows_of([BIN / "coterie-bench-rounds", "--devices", devices, "--megabytes", megabytes, "--rounds", rounds]):
            memory_goal = 3 * row["model_mb"] + 64 * 1.048576
            yield row, (f"bare round, {devices} devices x {megabytes} MB", f"{row['round_s']:.3f} s",
                        f"Flower 1.6: {FLOWER[(devices, megabytes)]}", f"goal {goal} s", verdict(row["round_s"] <= goal))
            yield None, ("    peak memory of the server", f"{row['server_peak_rss_mb']:.0f} MB", "3 models + 64 MiB",
                         f"goal {memory_goal:.0f} MB", verdict(row["server_peak_rss_mb"] <= memory_goal))


def trace():
    for row in rows_of([BIN / "coterie-bench-trace"]):
        yield row, ("a round's trace, a device", f"{row['trace_us']:.2f} us", f"two signatures verified {row['signatures_us']:.0f} us",
                    f"{row['share'] * 100:.2f} % of it; goal 2 %", verdict(row["share"] <= 0.02))
        yield None, ("    its spans for a collector, a device", f"{row['otlp_us']:.2f} us", "", f"{row['otlp_share'] * 100:.2f} % of it; goal 2 %",
                     verdict(row["otlp_share"] <= 0.02))


def train_trace():
    """Steps traced and not traced, in pairs."""
    for row in rows_of([BIN / "coterie-bench-train-trace"]):
        yield row, (f"tracing a training step, {row['model']}", f"{row['share'] * 100:.2f} % of a step",
                    f"a step {row['step_ms']:.3f} ms, traced {row['traced_ms']:.3f} ms, {row['program_steps']} times kept", "goal 2 %",
                    verdict(row["share"] <= 0.02))


def watch():
    for row in rows_of([BIN / "coterie-bench-watch"]):
        yield row, (f"all recommended checks, {row['model']}", f"{row['share'] * 100:.2f} % of a step",
                    f"a step {row['step_ms']:.3f} ms, with a look {row['look_ms']:.3f} ms, one in {row['every']}", "goal 3 %",
                    verdict(row["share"] <= 0.03))


def simulation():
    for row in rows_of([BIN / "coterie-simulation", "--rounds", "5000", "--seed", "1", "--quiet", "--json"]):
        bad = row["lost"] + row["doubled"] + row["stuck"]
        yield dict(row, bench="simulation"), ("simulated rounds a second", f"{row['rounds_per_second']:.0f}", "", f"{row['rounds']} rounds, "
                                              f"{row['crashes']} crashes, {bad} faults", verdict(bad == 0))


def demo():
    with tempfile.TemporaryDirectory() as folder:
        # At none, as the server then knows how long devices train.
        row = rows_of([BIN / "coterie", "demo", "--json", "--security", "none", "--out", pathlib.Path(folder) / "run"])[-1]
    del row["run_dir"], row["model_path"]
    phases = row["phases"]
    yield dict(row, bench="demo"), (f"demo, {row['devices']} devices, {row['rounds']} rounds", f"{row['seconds']:.1f} s", "",
                                    f"accuracy {row['accuracy']:.3f}; goal 0.95", verdict(row["accuracy"] >= 0.95))
    for name, what in (("server_start", "starting the server"), ("devices_start", "starting the devices"),
                       ("rounds_training", "rounds: training"), ("rounds_server", "rounds: server"),
                       ("rounds_network", "rounds: network and waiting")):
        yield None, ("    " + what, f"{phases[name]:.2f} s", "", "", "")


GROUPS = {function.__name__: function for function in (ingest, uploads, server, console, train, train_threads, train_bf16, train_trace, watch, bare_rounds, trace, secure, private_demo,
                                                 vertical, serving, data_cache, compression, federated, robust, fairness, personal,
                                                 simulated_clients, simulation, conv2d, int8, micro, demo)}
LONG_GROUPS = {function.__name__: function for function in (vertical_memory,)}  # only by name


def print_table(lines):
    lines = [("", "here", "beside", "", ""), *lines]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(prog="./bench", description="The figures of this machine, each beside its peer and its goal.")
    parser.add_argument("--json", action="store_true", help="one JSON object a row instead of the table")
    parser.add_argument("group", nargs="?", choices=GROUPS | LONG_GROUPS, help="one group only")
    options = parser.parse_args()
    lines, failed = [], False
    groups = GROUPS if options.group is None else {options.group: (GROUPS | LONG_GROUPS)[options.group]}
    for name, group in groups.items():
        try:
            for row, line in group():
                lines.append(line)
                if options.json and row is not None:
                    print(json.dumps(row), flush=True)
        except Failed as failure:
            failed = True
            lines.append((name, "failed", str(failure), "", ""))
            print(f"bench: {failure}", file=sys.stderr)
    if not options.json:
        print_table(lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
