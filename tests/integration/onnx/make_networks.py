#!/usr/bin/env python3
"""Writes well-known networks with random weights as ONNX, and what PyTorch computes with them, into a folder.

Usage: make_networks.py FOLDER. Exits with 77 where PyTorch or torchvision is missing. Files and layouts are those of
tests/golden/onnx/make_models.py. Images are small, which changes no layer.

The gradients are computed in float64, so that only our rounding counts. Where a ReLU's input is 0 to within rounding, a
gradient in float32 is not defined: of MobileNetV2 PyTorch's own differs from the exact one by 7 % in some tensors (and
ours, with other sums, by 2 %). So the biases in front of the ReLUs are moved, by about 1e-4, until no input is that near.
"""
import copy
import pathlib
import sys
import warnings

try:
    import torch
    import torch.nn as nn
    import torchvision.models as models
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "golden" / "onnx"))
from make_models import batch_of, export, golden  # noqa: E402

CLASSES = 10


class MobileNetV1(nn.Sequential):
    """Howard et al. 2017, a quarter as wide."""

    def __init__(self, width=0.25):
        plan = [(32, 1)] + [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
        channels = int(plan[0][0] * width)
        layers = [nn.Conv2d(3, channels, 3, 2, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
        for filters, stride in plan[1:]:
            filters = int(filters * width)
            layers += [nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
                       nn.Conv2d(channels, filters, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU()]
            channels = filters
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))


class Bert(nn.Module):
    """BERT-tiny in form: learned positions, layer norm, two encoder layers with GELU."""

    def __init__(self, words=50, width=32, heads=2, length=16):
        super().__init__()
        self.words, self.positions, self.norm = nn.Embedding(words, width), nn.Embedding(length, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 64, dropout=0, activation="gelu", batch_first=True)
                                    for _ in range(2))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, tokens):
        x = self.norm(self.words(tokens) + self.positions(torch.arange(tokens.shape[1])))
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


class Dlrm(nn.Module):
    """Naumov et al. 2019: dense features, embedding tables, products of all pairs."""

    def __init__(self, tables=4, rows=20, width=8):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.top = nn.Sequential(nn.Linear(width + tables * (tables + 1) // 2, 16), nn.ReLU(), nn.Linear(16, 2))
        a, b = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("pairs", a * (tables + 1) + b)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        features = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.flatten(features @ features.transpose(1, 2), 1)
        return self.top(torch.cat([x, products[:, self.pairs]], 1))


def keep_off_kinks(module, inputs, margin=5e-5):
    """Moves the biases of batch norm so that in a training step none of its outputs is near 0 or 6."""
    exact = copy.deepcopy(module).double().train()

    def smallest_shift(values):
        for step in range(200):
            shift = margin * ((step + 1) // 2) * (-1) ** step
            if min((values + shift).abs().min(), (values + shift - 6).abs().min()) > margin:
                return shift
        return 0.0

    def move(norm, _, output):
        shifts = torch.tensor([smallest_shift(values) for values in output.transpose(0, 1).flatten(1)]).double()
        norm.bias += shifts
        return output + shifts.view(1, -1, 1, 1)

    norms = [layer for layer in exact.modules() if isinstance(layer, nn.BatchNorm2d)]
    for norm in norms:
        norm.register_forward_hook(move)
    with torch.no_grad():
        exact(*(batch_of(x).double() if x.is_floating_point() else batch_of(x) for x in inputs))
    mine = [layer for layer in module.modules() if isinstance(layer, nn.BatchNorm2d)]
    for norm, moved in zip(mine, norms):
        norm.bias.data.copy_(moved.bias)


def networks():
    images = [torch.randn(3, 3, 64, 64)]
    vision = {name: (getattr(models, function)(num_classes=CLASSES), images) for name, function in {
        "resnet18": "resnet18", "mobilenet_v2": "mobilenet_v2", "mobilenet_v3": "mobilenet_v3_small", "efficientnet_b0": "efficientnet_b0",
        "squeezenet": "squeezenet1_1", "densenet121": "densenet121", "shufflenet": "shufflenet_v2_x0_5"}.items()}
    tokens = torch.randint(0, 50, (3, 12))
    return vision | {
        "alexnet": (models.alexnet(num_classes=CLASSES), [torch.randn(3, 3, 224, 224)]),
        "mobilenet_v1": (MobileNetV1(), images),
        "bert": (Bert(), [tokens]),
        "dlrm": (Dlrm(), [torch.randn(3, 13), torch.randint(0, 20, (3, 4))]),
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.manual_seed(1)
    for name, (module, inputs) in networks().items():
        for layer in module.modules():
            if isinstance(layer, nn.Dropout):  # PyTorch's random numbers are its own
                layer.p = 0.0
            if hasattr(layer, "p") and type(layer).__name__ == "StochasticDepth":
                layer.p = 0.0
        keep_off_kinks(module, inputs)
        options = {"preserve": True, "gradient": True}
        export(module, inputs, options, folder / f"{name}.onnx")  # before training moves the running statistics
        exact = [x.double() if x.is_floating_point() else x for x in inputs]
        (folder / f"{name}.golden").write_bytes(golden(module.double(), exact, options))


if __name__ == "__main__":
    main()
