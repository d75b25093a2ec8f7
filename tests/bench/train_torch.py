#!/usr/bin/python3
"""The other side of coterie-bench-train: the same networks and batches in PyTorch, the same rows of JSON.

    tests/bench/train_torch.py [--seconds 2] [--compare build/release/bin/coterie-bench-train] [--model NAME]

One thread, SGD with momentum, median over steps, 16 different batches in turn. Each row is measured in its own process,
once with glibc's defaults and once with an allocator that never gives memory back (which PyTorch profits from); the
better one is printed. With --compare our program measures the same row before and after, and the row ends with ours /
PyTorch. Needs Debian's python3-torch, and python3-torchvision for ResNet-18 and MobileNetV2.
"""
import argparse
import json
import os
import resource
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
# model -> batches, tokens (0: pixels), classes: bench_models.cc
MODELS = {"mlp": ((1, 32), 0, 10), "lenet5": ((1, 8, 32), 0, 10), "fedavg_cnn": ((8, 32), 0, 10),
          "resnet20": ((1, 8, 32), 0, 10), "mbv2@96": ((1, 8), 0, 1000), "mbv2@224": ((8,), 0, 1000),
          "resnet18@224": ((1, 8), 0, 1000), "lstm": ((1, 8), 80, 80), "tf": ((1, 8), 1000, 10)}


def build(model):
    """The network, and the shape of one example."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self, inputs, filters, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, filters, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(filters)
            self.conv2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(filters)
            self.stride, self.added = stride, filters - inputs

        def forward(self, x):
            y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
            if self.stride != 1:
                x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.added // 2, self.added // 2))
            return functional.relu(y + x)

    class CharLstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(80, 8), nn.LSTM(8, 256, 2, batch_first=True)
            self.out = nn.Linear(256, 80)

        def forward(self, x):
            return self.out(self.lstm(self.embedding(x))[0][:, -1])

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.position = nn.Embedding(1000, 128), nn.Parameter(torch.zeros(1, 64, 128))
            layer = nn.TransformerEncoderLayer(128, 4, 512, 0.0, batch_first=True, norm_first=True)
            self.encoder, self.out = nn.TransformerEncoder(layer, 2), nn.Linear(128, 10)

        def forward(self, x):
            return self.out(self.encoder(self.embedding(x) + self.position).mean(1))

    if model == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), (1, 28, 28)
    if model == "lenet5":
        return nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)), (1, 28, 28)
    if model == "fedavg_cnn":
        return nn.Sequential(
            nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 10)), (1, 28, 28)
    if model == "resnet20":
        layers, inputs = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()], 16
        for filters in (16, 32, 64):
            for block in range(3):
                layers.append(Block(inputs, filters, 2 if block == 0 and filters > 16 else 1))
                inputs = filters
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), (3, 32, 32)
    if model == "lstm":
        return CharLstm(), (80,)
    if model == "tf":
        return Transformer(), (64,)
    from torchvision import models
    name, _, size = model.partition("@")
    return {"mbv2": models.mobilenet_v2, "resnet18": models.resnet18}[name](), (3, int(size), int(size))


def measure(model, batch, seconds):
    """One row, in this process."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    net, shape = build(model)
    net.train()
    _, tokens, classes = MODELS[model]
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)

    def inputs():
        return torch.randint(0, tokens, (batch, *shape)) if tokens else torch.rand(batch, *shape)

    data = [(inputs(), torch.randint(0, classes, (batch,))) for _ in range(BATCHES)]

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss_of(net(x), y).backward()
        optimizer.step()

    start = time.perf_counter()
    for i in range(5):
        step(*data[i % BATCHES])
        if time.perf_counter() - start > seconds / 2:
            break
    wall, cpu = [], []
    start = time.perf_counter()
    while len(wall) < 7 or time.perf_counter() - start < seconds:
        x, y = data[len(wall) % BATCHES]
        wall_before, cpu_before = time.perf_counter(), time.thread_time()
        step(x, y)
        cpu.append(time.thread_time() - cpu_before)
        wall.append(time.perf_counter() - wall_before)
    ms = statistics.median(wall) * 1e3
    return {"bench": "train_torch", "model": model, "batch": batch, "threads": 1, "ms": round(ms, 4),
            "cpu_ms": round(statistics.median(cpu) * 1e3, 4), "samples_per_s": round(batch / ms * 1e3),
            "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            "torch": torch.__version__}


def measure_apart(model, batch, seconds, keep_memory):
    environment = {**os.environ, **ONE_THREAD, **(KEEP_MEMORY if keep_memory else {})}
    command = [sys.executable, os.path.abspath(__file__), "--row", model, str(batch), "--seconds", str(seconds)]
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return {**json.loads(out), "malloc": "keeps memory" if keep_memory else "default"}


def ours(program, model, batch, seconds):
    out = subprocess.run([program, "--seconds", str(seconds), "--model", model, "--batch", str(batch)], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def least(row):
    """Of wall time and processor time: a busy machine adds to either."""
    return min(row["ms"], row["cpu_ms"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--compare")
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--row", nargs=2, metavar=("MODEL", "BATCH"))
    options = parser.parse_args()
    if options.row:
        print(json.dumps(measure(options.row[0], int(options.row[1]), options.seconds)))
        return
    for model in [options.model] if options.model else MODELS:
        for batch in MODELS[model][0]:
            times = [ours(options.compare, model, batch, options.seconds)] if options.compare else []
            row = min((measure_apart(model, batch, options.seconds, keep) for keep in (False, True)), key=least)
            if options.compare:
                times.append(ours(options.compare, model, batch, options.seconds))
                best = min(times, key=least)
                row.update(ours_ms=least(best), ours_over_torch=round(least(best) / least(row), 3),
                           ours_peak_rss_mb=best["peak_rss_mb"], ours_planned_bytes=best["planned_bytes"],
                           ours_planned_lower_bound=best["planned_lower_bound"], ours_load_ms=best["load_ms"],
                       ours_flop_limit_ms=best["flop_limit_ms"], ours_limit_ms=best["limit_ms"],
                       ours_over_limit=round(least(best) / best["limit_ms"], 2))
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
