"""Small networks that between them use every operator the ONNX importer knows: name -> (module, example inputs, options)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Function(nn.Module):
    """A function, and one parameter, because a model must have one: what the function gives is multiplied with it."""

    def __init__(self, function, *x):
        super().__init__()
        self.function = function
        self.gain = nn.Parameter(0.5 + torch.rand(function(*x).shape[-1]))

    def forward(self, *x):
        return self.function(*x) * self.gain


def function(body, *x, **options):
    return Function(body, *x), list(x), options


def randn(*shape):
    return torch.randn(*shape)


def images(channels=3, size=8, batch=2):
    return randn(batch, channels, size, size)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 5)
        for bn in (self.bn1, self.bn2):
            nn.init.uniform_(bn.running_mean, -0.5, 0.5)
            nn.init.uniform_(bn.running_var, 0.5, 1.5)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(x + self.bn2(self.conv2(x)))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(4, 2, 1), nn.Conv2d(2, 4, 1)
        self.scale = nn.Parameter(torch.rand(4, 1, 1))

    def forward(self, x):
        s = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.expand(F.silu(self.reduce(s)))) + self.scale


class Attention(nn.Module):
    """Self-attention written out, with a class token and positions, as in BERT and ViT."""

    def __init__(self, width=8, heads=2, length=5):
        super().__init__()
        self.heads = heads
        self.token = nn.Parameter(randn(1, 1, width))
        self.position = nn.Parameter(randn(1, length + 1, width))
        self.norm = nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, 3)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        h = self.norm(x)
        q, k, v = self.split(self.query(h)), self.split(self.key(h)), self.split(self.value(h))
        a = torch.softmax(q @ k.transpose(-1, -2) / (q.shape[-1] ** 0.5), -1) @ v
        x = x + a.permute(0, 2, 1, 3).reshape(x.shape)
        return self.out(x[:, 0])


class Tied(nn.Module):
    """Output weights that are the embedding table, and a mask of causality."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.register_buffer("mask", torch.full((4, 4), float("-inf")).triu(1))

    def forward(self, tokens):
        x = self.embedding(tokens)
        x = torch.softmax(x @ x.transpose(1, 2) + self.mask, -1) @ x
        return F.linear(x, self.embedding.weight)


class Shuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.depthwise, self.point = nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Conv2d(4, 8, 1, groups=2)

    def forward(self, x):
        a, b = self.point(self.depthwise(x)).chunk(2, 1)
        x = torch.cat([a, F.relu(b)], 1)
        n, c, h, w = x.shape
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = kind(3, 4, batch_first=True, **options)
        self.fc = nn.Linear(4 * (2 if options.get("bidirectional") else 1), 2)

    def forward(self, x):
        y, _ = self.rnn(x)
        return self.fc(y)


class LastState(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, num_layers=2, batch_first=True)

    def forward(self, x):
        _, (h, _) = self.rnn(x)
        return h[-1]


class InitialState(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4, batch_first=True)

    def forward(self, x, h):
        return self.rnn(x, h.unsqueeze(0))[0]


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(6))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class ChannelsLastNorm(nn.Module):
    """ConvNeXt's block."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.LayerNorm(4)
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        y = self.norm(self.conv(x).permute(0, 2, 3, 1))
        return x + self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)


class Recommender(nn.Module):
    """DLRM in small: dense and sparse features, pairwise products."""

    def __init__(self):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(5, 4), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(7, 4) for _ in range(3))
        self.top = nn.Linear(4 + 6, 1)
        rows, columns = torch.tril_indices(4, 4, -1)
        self.register_buffer("pairs", rows * 4 + columns)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        features = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.flatten(features @ features.transpose(1, 2), 1)
        return torch.sigmoid(self.top(torch.cat([x, products[:, self.pairs]], 1)))


def tokens(batch, length, limit):
    return torch.randint(0, limit, (batch, length))


def activations(x):
    parts = [F.relu(x), F.relu6(3 * x), F.leaky_relu(x, 0.2), F.elu(x), F.selu(x), F.gelu(x), torch.sigmoid(x), F.hardsigmoid(x),
             F.hardswish(x), F.silu(x), torch.tanh(x), F.softplus(x), torch.clamp(x, -0.5, 0.75)]
    return torch.cat(parts, 1)


def arithmetic(a, b):
    p = a.abs() + 0.5
    parts = [a + b, a - b, a * b, a / (b.abs() + 1), p ** 1.5, torch.sqrt(p), torch.exp(a), torch.log(p), -a, 1 / p, torch.erf(a),
             torch.minimum(a, b), torch.maximum(a, b), torch.where(a > b, a, b * 2), torch.where(a <= b, a, -b), (a < b).float() + a]
    return torch.stack(parts, 1)


def reductions(x):
    parts = [x.sum(2), x.mean(2), x.amax(2), x.amin(2), x.norm(2, dim=2), x.mean((1, 2), keepdim=True).expand(-1, 3, 1).squeeze(2)]
    return torch.cat(parts, 1)


def shapes(x):
    n = x.shape[0]
    y = x.view(n, -1, 4).transpose(1, 2)[:, :, ::2].reshape(n, 2, -1)
    y = F.pad(y, (1, 2), value=0.5).unsqueeze(1).expand(-1, 3, -1, -1)
    a, b = torch.split(y, [1, 2], 1)
    y = torch.cat([b, a.repeat(1, 2, 1, 1)], 1).unsqueeze(1).squeeze(1)
    return y.flatten(1)[:, 1:-1]


def gathers(x):
    return torch.cat([x[:, 1], x[:, -1], x[:, [0, 2]].flatten(1), x[:, [2, 0, 1]].flatten(1), x[:, :, 1:3].flatten(1)], 1)


def resizes(x):
    return torch.cat([F.interpolate(x, scale_factor=2, mode="nearest"), F.interpolate(x, size=(8, 8), mode="bilinear", align_corners=False),
                      F.interpolate(x, size=(8, 8), mode="bilinear", align_corners=True)], 1)


def pools(x):
    return torch.cat([F.max_pool2d(x, 3, 2, 1).flatten(1), F.max_pool2d(x, 2, 2, ceil_mode=True).flatten(1), F.avg_pool2d(x, 3, 2, 1).flatten(1),
                      F.avg_pool2d(x, 3, 2, 1, count_include_pad=False).flatten(1), F.adaptive_avg_pool2d(x, 1).flatten(1),
                      F.adaptive_max_pool2d(x, 1).flatten(1)], 1)


def cases():
    bidirectional = {"bidirectional": True}
    return {
        "mlp": (nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 3), nn.LogSoftmax(1)), [randn(2, 3, 4)], {"gradient": True}),
        "lenet": (nn.Sequential(nn.Conv2d(1, 3, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(),
                                nn.Linear(64, 10)), [images(1, 12)], {"gradient": True}),
        "lenet_static": (nn.Sequential(nn.Conv2d(1, 3, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 10)),
                         [images(1, 6, 1)], {"static": True}),
        "residual": (Residual(), [images()], {"preserve": True, "gradient": True}),
        "convolutions": (nn.Sequential(nn.Conv2d(4, 6, 3, stride=2, padding=(1, 2), dilation=2, groups=2), nn.PReLU(6), nn.Conv2d(6, 6, (1, 3)),
                                       nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1, groups=2)), [images(4, 9)], {}),
        "conv1d": (nn.Sequential(nn.Conv1d(3, 4, 3, padding=1), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 4, 3, dilation=2),
                                 nn.MaxPool1d(2), nn.Flatten(), nn.Linear(16, 2)), [randn(2, 3, 12)], {}),
        "squeeze_excite": (SqueezeExcite(), [images(4)], {}),
        "shuffle": (Shuffle(), [images(4, 4)], {}),
        "attention": (Attention(), [randn(2, 5, 8)], {"opset": 14, "gradient": True}),
        "attention_opset17": (Attention(), [randn(2, 5, 8)], {"opset": 17}),
        "attention_static": (Attention(), [randn(1, 5, 8)], {"static": True}),
        "tied": (Tied(), [tokens(2, 4, 11)], {"fold": False}),
        "lstm": (Recurrent(nn.LSTM), [randn(2, 5, 3)], {}),
        "lstm_static": (Recurrent(nn.LSTM), [randn(1, 5, 3)], {"static": True}),
        "lstm_bidirectional": (Recurrent(nn.LSTM, **bidirectional), [randn(2, 5, 3)], {}),
        "lstm_last_state": (LastState(), [randn(2, 5, 3)], {}),
        "gru": (Recurrent(nn.GRU, **bidirectional), [randn(2, 5, 3)], {}),
        "gru_initial_state": (InitialState(), [randn(2, 5, 3), randn(2, 4)], {}),
        "rnn": (Recurrent(nn.RNN, nonlinearity="relu"), [randn(2, 5, 3)], {}),
        "norms": (nn.Sequential(nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.Conv2d(4, 3, 1)), [images(4, 5)], {}),
        "rms_norm": (RmsNorm(), [randn(2, 3, 6)], {}),
        "convnext": (ChannelsLastNorm(), [images(4, 5)], {}),
        "gelu_tanh": (nn.Sequential(nn.Linear(4, 4), nn.GELU(approximate="tanh")), [randn(2, 3, 4)], {}),
        "recommender": (Recommender(), [randn(2, 5), tokens(2, 3, 7)], {}),
        "activations": function(activations, randn(2, 3)),
        "activations_opset11": function(lambda x: torch.cat([F.hardswish(x), F.hardsigmoid(x), F.gelu(x), F.relu6(x)], 1), randn(2, 3),
                                        opset=11),
        "arithmetic": function(arithmetic, randn(2, 3), randn(2, 3)),
        "reductions": function(reductions, randn(2, 3, 4)),
        "shapes": function(shapes, randn(2, 3, 8)),
        "gathers": function(gathers, randn(2, 3, 4)),
        "resizes": function(resizes, images(2, 4)),
        "pools": function(pools, images(2, 7)),
        "dropout": (nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.3), nn.Linear(4, 2)), [randn(2, 4)], {"training": True, "no_forward": True}),
    }
