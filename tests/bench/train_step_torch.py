#!/usr/bin/python3
"""The other side of coterie-bench-train-step: the same nets and batches in PyTorch, the same rows of JSON.

    tests/bench/train_step_torch.py [--seconds 2] [--compare build/release/bin/coterie-bench-train-step]

One thread, SGD with momentum, median over steps, 16 different batches in turn. Each row is measured in its own process,
once with glibc's defaults and once with an allocator that never gives memory back (which PyTorch profits from); the
better one is printed. With --compare our program runs before and after, and each row ends with ours / PyTorch. Needs
Debian's python3-torch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
BATCHES = 16


def build(model):
    from torch import nn

    if model == "lenet5":
        net = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        return net, (1, 28, 28)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))
    return net, (1, 8, 8)


def measure(model, batch, seconds):
    """One row, in this process."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    net, shape = build(model)
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    data = [(torch.rand(batch, *shape), torch.randint(0, 10, (batch,))) for _ in range(BATCHES)]

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss_of(net(x), y).backward()
        optimizer.step()

    for i in range(10):
        step(*data[i % BATCHES])
    wall, cpu = [], []
    start = time.perf_counter()
    while len(wall) < 50 or time.perf_counter() - start < seconds:
        x, y = data[len(wall) % BATCHES]
        wall_before, cpu_before = time.perf_counter(), time.thread_time()
        step(x, y)
        cpu.append(time.thread_time() - cpu_before)
        wall.append(time.perf_counter() - wall_before)
    ms = statistics.median(wall) * 1e3
    return {"bench": "train_step_torch", "model": model, "batch": batch, "threads": 1, "ms": round(ms, 4),
            "cpu_ms": round(statistics.median(cpu) * 1e3, 4), "samples_per_s": round(batch / ms * 1e3),
            "torch": torch.__version__}


def measure_apart(model, batch, seconds, keep_memory):
    environment = {**os.environ, **ONE_THREAD, **(KEEP_MEMORY if keep_memory else {})}
    command = [sys.executable, os.path.abspath(__file__), "--row", model, str(batch), "--seconds", str(seconds)]
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return {**json.loads(out), "malloc": "keeps memory" if keep_memory else "default"}


def our_times(program, seconds):
    out = subprocess.run([program, str(seconds)], check=True, capture_output=True, text=True).stdout
    return {(row["model"], row["batch"]): least(row) for row in map(json.loads, out.splitlines())}


def least(row):
    """Of wall time and processor time: a busy machine adds to either."""
    return min(row["ms"], row["cpu_ms"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--compare")
    parser.add_argument("--row", nargs=2, metavar=("MODEL", "BATCH"))
    options = parser.parse_args()
    if options.row:
        print(json.dumps(measure(options.row[0], int(options.row[1]), options.seconds)))
        return
    ours = our_times(options.compare, options.seconds) if options.compare else {}
    rows = []
    for batch in (1, 8, 32):
        for model in ("cnn", "lenet5"):
            rows.append(min((measure_apart(model, batch, options.seconds, keep) for keep in (False, True)),
                            key=least))
    after = our_times(options.compare, options.seconds) if options.compare else {}
    for row in rows:
        key = (row["model"], row["batch"])
        if key in ours:
            row["ours_ms"] = min(ours[key], after[key])
            row["ours_over_torch"] = round(row["ours_ms"] / least(row), 3)
        print(json.dumps(row))


if __name__ == "__main__":
    main()
