"""The rows of the operator matrix as PyTorch writes them: a module, the input that it is given, and from which opset on
PyTorch exports it.

Each module is one operator behind a trained shift of its input, so that the gradient goes through it. Dimensions differ from
each other: a layout can be told from a shape.
"""
from dataclasses import dataclass
from typing import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F

VECTOR, SEQUENCE, IMAGE = (6,), (5, 3), (4, 5, 6)  # without the batch; an image is channels, height, width


@dataclass(frozen=True)
class Row:
    name: str
    make: Callable[[], nn.Module]  # called once: its weights are drawn
    shape: tuple
    first_opset: int = 7
    low: float = -1.0  # of the input
    high: float = 1.0
    tokens: int = 0  # the input is whole numbers below it, without a shift
    refused: str = ""  # what the import says of it
    trains: bool = True  # False: it draws while it trains, or has no gradient


class Shifted(nn.Module):
    def __init__(self, row):
        super().__init__()
        self.inner = row.make()
        for parameter in self.inner.parameters():  # biases that begin as zeros, slopes that are equal: an element is known by its value
            parameter.data += 0.05 * (2 * torch.rand(parameter.shape) - 1)
        self.shift = None if row.tokens else nn.Parameter(0.05 * (2 * torch.rand(row.shape) - 1))

    def forward(self, x):
        return self.inner(x if self.shift is None else x + self.shift)


class Function(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x)


class First(nn.Module):
    """The first of what a recurrent layer answers, or the state behind the last step."""

    def __init__(self, layer, state=False):
        super().__init__()
        self.layer, self.state = layer, state

    def forward(self, x):
        y, state = self.layer(x)
        if not self.state:
            return y
        return (state[0] if isinstance(state, tuple) else state)[-1]


class Times(nn.Module):
    """The input and a trained table into a function of two."""

    def __init__(self, shape, body, positive=False):
        super().__init__()
        self.table, self.body = nn.Parameter(torch.rand(shape) + 0.5 if positive else torch.rand(shape) - 0.5), body

    def forward(self, x):
        return self.body(x, self.table)


def norm(layer):
    """Running statistics and weights that are not those of a start."""
    for name in ("running_mean", "bias"):
        if getattr(layer, name, None) is not None:
            nn.init.uniform_(getattr(layer, name), -0.5, 0.5)
    for name in ("running_var", "weight"):
        if getattr(layer, name, None) is not None:
            nn.init.uniform_(getattr(layer, name), 0.5, 1.5)
    return layer


def of(body):
    return lambda: Function(body)


def batch_row(x):
    return x.reshape(x.shape[0], -1)


def layers():
    return [
        Row("Linear", lambda: nn.Linear(6, 4), VECTOR),
        Row("Linear, no bias", lambda: nn.Linear(6, 4, bias=False), VECTOR),
        Row("Linear of a sequence", lambda: nn.Linear(3, 4), SEQUENCE),
        Row("Conv1d", lambda: nn.Conv1d(5, 4, 2, padding=1), SEQUENCE),
        Row("Conv2d", lambda: nn.Conv2d(4, 7, 3, padding=1), IMAGE),
        Row("Conv2d, stride and dilation", lambda: nn.Conv2d(4, 7, 2, stride=2, dilation=2, padding=(1, 2)), IMAGE),
        Row("Conv2d, groups", lambda: nn.Conv2d(4, 8, 3, groups=2, bias=False), IMAGE),
        Row("Conv2d, depthwise", lambda: nn.Conv2d(4, 4, 3, groups=4, padding=1), IMAGE),
        Row("ConvTranspose2d", lambda: nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1), IMAGE),
        Row("Conv2d and BatchNorm2d", lambda: nn.Sequential(nn.Conv2d(4, 7, 3), norm(nn.BatchNorm2d(7))), IMAGE),
        Row("BatchNorm1d", lambda: norm(nn.BatchNorm1d(6)), VECTOR),
        Row("BatchNorm2d", lambda: norm(nn.BatchNorm2d(4)), IMAGE),
        Row("InstanceNorm2d", lambda: norm(nn.InstanceNorm2d(4, affine=True)), IMAGE),
        Row("GroupNorm", lambda: norm(nn.GroupNorm(2, 4)), IMAGE),
        Row("LayerNorm", lambda: norm(nn.LayerNorm(3)), SEQUENCE),
        Row("LocalResponseNorm", lambda: nn.LocalResponseNorm(3), IMAGE, refused="that are not supported: If"),
        Row("Embedding", lambda: nn.Embedding(11, 4), (5,), tokens=11),
        Row("LSTM", lambda: First(nn.LSTM(3, 4, batch_first=True)), SEQUENCE),
        Row("LSTM, both directions", lambda: First(nn.LSTM(3, 4, batch_first=True, bidirectional=True)), SEQUENCE),
        Row("LSTM, two layers, last state", lambda: First(nn.LSTM(3, 4, num_layers=2, batch_first=True), True), SEQUENCE),
        Row("GRU", lambda: First(nn.GRU(3, 4, batch_first=True)), SEQUENCE),
        Row("GRU, both directions", lambda: First(nn.GRU(3, 4, batch_first=True, bidirectional=True)), SEQUENCE),
        Row("RNN, tanh", lambda: First(nn.RNN(3, 4, batch_first=True)), SEQUENCE),
        Row("RNN, relu", lambda: First(nn.RNN(3, 4, batch_first=True, nonlinearity="relu")), SEQUENCE),
        Row("MaxPool1d", lambda: nn.MaxPool1d(2), SEQUENCE),
        Row("MaxPool2d", lambda: nn.MaxPool2d(3, 2, 1), IMAGE),
        Row("MaxPool2d, ceil_mode", lambda: nn.MaxPool2d(2, 2, ceil_mode=True), IMAGE, 10),
        Row("AvgPool2d", lambda: nn.AvgPool2d(3, 2, 1), IMAGE),
        Row("AvgPool2d, padding not counted", lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
        Row("AdaptiveAvgPool2d", lambda: nn.AdaptiveAvgPool2d(1), IMAGE),
        Row("AdaptiveMaxPool2d", lambda: nn.AdaptiveMaxPool2d(1), IMAGE),
        Row("Upsample, nearest", lambda: nn.Upsample(scale_factor=2), IMAGE, 9),
        Row("Upsample, bilinear", of(lambda x: F.interpolate(x, size=(10, 12), mode="bilinear", align_corners=False)), IMAGE, 11),
        Row("Upsample, bilinear, corners", of(lambda x: F.interpolate(x, size=(10, 12), mode="bilinear", align_corners=True)), IMAGE, 11),
        Row("Dropout", lambda: nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.3), nn.Linear(4, 5)), VECTOR, trains=False),
        Row("PixelShuffle", lambda: nn.PixelShuffle(2), IMAGE),
        Row("PixelUnshuffle", lambda: nn.PixelUnshuffle(2), (4, 6, 8), 13),
        Row("MultiheadAttention", lambda: Attention(), (5, 8)),
        Row("TransformerEncoderLayer", lambda: nn.TransformerEncoderLayer(8, 2, 12, dropout=0, batch_first=True), (5, 8), trains=False),
    ]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


def activations():
    of_modules = [nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.2), nn.PReLU(6), nn.ELU(0.7), nn.SELU(), nn.CELU(0.8), nn.Sigmoid(), nn.Hardsigmoid(),
                  nn.Hardswish(), nn.SiLU(), nn.Tanh(), nn.Softplus(), nn.Softsign(), nn.GELU(), nn.GELU(approximate="tanh"), nn.Mish(),
                  nn.Threshold(0, 0), nn.Hardtanh(-0.5, 0.5), nn.Softmax(-1), nn.LogSoftmax(-1), nn.LogSigmoid(), nn.Softmin(-1), nn.Tanhshrink()]
    first = {"ELU": 7, "CELU": 12, "Threshold": 10}
    return [Row(str(module), lambda module=module: module, VECTOR, first.get(type(module).__name__, 7), -2, 2) for module in of_modules] + [
        Row("softmax over channels", of(lambda x: torch.softmax(x, 1)), IMAGE), Row("GLU", lambda: nn.GLU(-1), VECTOR)]


def arithmetic():
    positive = {"low": 0.5, "high": 2.0}
    unary = {"abs": torch.abs, "neg": torch.neg, "exp": torch.exp, "erf": torch.erf, "square": torch.square}
    unary_positive = {"sqrt": torch.sqrt, "log": torch.log, "reciprocal": torch.reciprocal, "rsqrt": torch.rsqrt, "log2": torch.log2,
                      "log1p": torch.log1p}
    binary = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "minimum": torch.minimum, "maximum": torch.maximum,
              "where": lambda a, b: torch.where(a > b, a, b), "greater": lambda a, b: (a > b).float() * a + b,
              "less or equal": lambda a, b: (a <= b).float() * a + b, "equal": lambda a, b: (a == b).float() + a * b,
              "lerp": lambda a, b: torch.lerp(a, b, 0.3)}
    rows = [Row(name, of(body), VECTOR, 9 if name == "erf" else 7) for name, body in unary.items()]
    rows += [Row(name, of(body), VECTOR, 7, **positive) for name, body in unary_positive.items()]
    rows += [Row(name, lambda body=body: Times((6,), body), VECTOR, 12 if "imum" in name else 9) for name, body in binary.items()]
    rows += [Row("div", lambda: Times((6,), torch.div, True), VECTOR), Row("pow of a table", lambda: Times((6,), torch.pow, True), VECTOR, **positive),
             Row("pow", of(lambda x: x ** 3), VECTOR), Row("pow, a half", of(lambda x: x ** 1.5), VECTOR, **positive),
             Row("add, broadcast", lambda: Times((3,), torch.add), SEQUENCE), Row("mul by channels", lambda: Times((4, 1, 1), torch.mul), IMAGE),
             Row("clamp", of(lambda x: torch.clamp(x, -0.5, 0.75)), VECTOR), Row("matmul", lambda: Times((3, 4), torch.matmul), SEQUENCE),
             Row("matmul of two", of(lambda x: x @ x.transpose(1, 2)), SEQUENCE), Row("cumsum", of(lambda x: torch.cumsum(x, 1)), SEQUENCE, 11),
             Row("addmm", lambda: Times((6, 6), lambda x, w: torch.addmm(x, x, w)), VECTOR)]
    reductions = {"sum": lambda x: x.sum(2), "mean": lambda x: x.mean(2), "mean of two": lambda x: x.mean((1, 2)).unsqueeze(1), "amax": lambda x: x.amax(2),
                  "amin": lambda x: x.amin(1), "norm 2": lambda x: x.norm(2, dim=2), "norm 1": lambda x: x.norm(1, dim=2),
                  "mean, kept": lambda x: x - x.mean(2, keepdim=True), "logsumexp": lambda x: torch.logsumexp(x, 2),
                  "var": lambda x: x.var(2, unbiased=False), "std": lambda x: x.std(2)}
    refused = {"logsumexp": "that are not supported: ReduceLogSumExp"}
    return rows + [Row(name, of(body), SEQUENCE, refused=refused.get(name, "")) for name, body in reductions.items()]


def movement():
    rows = {
        "reshape": (lambda x: x.reshape(-1, 15), SEQUENCE), "view": (lambda x: x.view(x.shape[0], 3, 5), SEQUENCE),
        "flatten": (lambda x: torch.flatten(x, 1), IMAGE), "transpose": (lambda x: x.transpose(1, 2), SEQUENCE),
        "permute": (lambda x: x.permute(0, 2, 3, 1), IMAGE), "unsqueeze": (lambda x: x.unsqueeze(1) * 2, SEQUENCE),
        "squeeze": (lambda x: x[:, :1].squeeze(1), SEQUENCE), "expand": (lambda x: x.unsqueeze(1).expand(-1, 2, -1, -1) * 1, SEQUENCE),
        "repeat": (lambda x: x.repeat(1, 2, 1), SEQUENCE), "cat": (lambda x: torch.cat([x, 2 * x], 1), SEQUENCE),
        "stack": (lambda x: torch.stack([x, -x], 1), SEQUENCE), "chunk": (lambda x: torch.mul(*x.chunk(2, 1)), VECTOR),
        "split": (lambda x: torch.split(x, [1, 2], 2)[1], SEQUENCE), "slice": (lambda x: x[:, 1:4], SEQUENCE),
        "slice, step": (lambda x: x[:, ::2], SEQUENCE), "slice, from the end": (lambda x: x[:, -2:], SEQUENCE),
        "index": (lambda x: x[:, 1], SEQUENCE), "index, list": (lambda x: x[:, [2, 0]], SEQUENCE),
        "select": (lambda x: x.select(2, -1), SEQUENCE), "pad": (lambda x: F.pad(x, (1, 2), value=0.5), SEQUENCE),
        "pad, image": (lambda x: F.pad(x, (1, 2, 2, 1)), IMAGE), "pad, reflect": (lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"), IMAGE),
        "pad, replicate": (lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate"), IMAGE),
        "roll": (lambda x: torch.roll(x, 1, 2), SEQUENCE), "narrow": (lambda x: x.narrow(1, 1, 3), SEQUENCE),
        "tril": (lambda x: (x @ x.transpose(1, 2)) * torch.ones(5, 5).tril(), SEQUENCE),
    }
    late = {"tril": 9, "pad, replicate": 11, "pad, reflect": 11, "slice, step": 10, "squeeze": 11}
    return [Row(name, of(body), shape, late.get(name, 9)) for name, (body, shape) in rows.items()]


def all_rows():
    return layers() + activations() + arithmetic() + movement()
