#!/usr/bin/python3
"""Writes vectors.txt: what PyTorch computes for our ops, losses, optimizers and whole nets.

    apt-get install --no-install-recommends python3-torch      # Debian 12: 1.13.1
    tests/golden/torch/make_vectors.py > tests/golden/torch/vectors.txt

Inputs are not stored: both sides draw them from the same generator (class Draw here and in tests/unit/device_sdk/
runtime/torch_vectors.h), whose numbers are exact in float32. Stored are PyTorch's answers, computed in float64 where a
single op is asked (so that only our rounding counts) and in float32 for training runs. Layouts are ours: NHWC, dense
weights [in, out], convolution weights [kh, kw, in / groups, out].

Format, line by line: `case <kind> <key>=<value>...`, a list having commas between its values; then for each answer
`<name> <count> <values...>`.
"""
import sys

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
MASK = (1 << 64) - 1


class Draw:
    """SplitMix64; a number is its top 24 bits as a multiple of 2^-23 in [-1, 1)."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def tensor(self, *shape, dtype=torch.float64):
        count = 1
        for dimension in shape:
            count *= dimension
        values = [(self.next() >> 40) * 2.0**-23 - 1.0 for _ in range(count)]
        return torch.tensor(values, dtype=dtype).reshape(shape)

    def labels(self, count, classes):
        return torch.tensor([self.next() % classes for _ in range(count)])


def case(kind, **attributes):
    words = [f"{k}={','.join(map(str, v)) if isinstance(v, (list, tuple)) else v}" for k, v in attributes.items()]
    print("case", kind, *words)


def answer(name, tensor):
    values = tensor.detach().reshape(-1).tolist()
    print(name, len(values), *[f"{v:.9g}" for v in values])


def quantised(x):
    """Few distinct values, so that windows hold ties."""
    return torch.floor(x * 4) / 4


def leaf(t):
    return t.clone().requires_grad_(True)


# --- layouts
def to_nchw(x):
    return x.permute(0, 3, 1, 2)


def to_nhwc(x):
    return x.permute(0, 2, 3, 1)


def conv_weight(w):
    return w.permute(3, 2, 0, 1)


def pad(x, p, value=0.0):  # p = top, left, bottom, right
    return F.pad(x, (p[1], p[3], p[0], p[2]), value=value)


# --- single ops
def dense(seed, batch, inputs, outputs, relu):
    case("dense", seed=seed, shape=[batch, inputs, outputs], relu=relu)
    d = Draw(seed)
    x, w, b, dy = (leaf(d.tensor(batch, inputs)), leaf(d.tensor(inputs, outputs)), leaf(d.tensor(outputs)),
                   d.tensor(batch, outputs))
    y = F.linear(x, w.t(), b)
    y = F.relu(y) if relu else y
    y.backward(dy)
    for name, t in (("y", y), ("dx", x.grad), ("dw", w.grad), ("db", b.grad)):
        answer(name, t)


def conv2d(seed, batch, h, w_, c, kh, kw, o, stride, padding, groups):
    case("conv2d", seed=seed, shape=[batch, h, w_, c, kh, kw, o], stride=stride, pad=padding, groups=groups)
    d = Draw(seed)
    x, w, b = leaf(d.tensor(batch, h, w_, c)), leaf(d.tensor(kh, kw, c // groups, o)), leaf(d.tensor(o))
    y = to_nhwc(F.conv2d(pad(to_nchw(x), padding), conv_weight(w), b, stride=stride, groups=groups))
    y.backward(d.tensor(*y.shape))
    for name, t in (("y", y), ("dx", x.grad), ("dw", w.grad), ("db", b.grad)):
        answer(name, t)


def max_pool(seed, batch, h, w_, c, kernel, stride, padding, ties):
    case("max_pool2d", seed=seed, shape=[batch, h, w_, c], kernel=kernel, stride=stride, pad=padding, ties=ties)
    d = Draw(seed)
    x = d.tensor(batch, h, w_, c)
    x = leaf(quantised(x) if ties else x)
    y = to_nhwc(F.max_pool2d(pad(to_nchw(x), padding, -float("inf")), kernel, stride))
    y.backward(d.tensor(*y.shape))
    answer("y", y)
    answer("dx", x.grad)


def average_pool(seed, batch, h, w_, c, kernel, stride, padding):
    case("average_pool2d", seed=seed, shape=[batch, h, w_, c], kernel=kernel, stride=stride,
         pad=[padding[0], padding[1], padding[0], padding[1]])
    d = Draw(seed)
    x = leaf(d.tensor(batch, h, w_, c))
    y = to_nhwc(F.avg_pool2d(to_nchw(x), kernel, stride, padding, count_include_pad=False))
    y.backward(d.tensor(*y.shape))
    answer("y", y)
    answer("dx", x.grad)


def global_average(seed, batch, h, w_, c):
    case("global_average_pool2d", seed=seed, shape=[batch, h, w_, c])
    d = Draw(seed)
    x = leaf(d.tensor(batch, h, w_, c))
    y = F.adaptive_avg_pool2d(to_nchw(x), 1).flatten(1)
    y.backward(d.tensor(*y.shape))
    answer("y", y)
    answer("dx", x.grad)


def relu(seed, count):
    case("relu", seed=seed, shape=[count])
    d = Draw(seed)
    x = leaf(d.tensor(count))
    y = F.relu(x)
    y.backward(d.tensor(count))
    answer("y", y)
    answer("dx", x.grad)


def cross_entropy(seed, batch, classes, scale):
    case("softmax_cross_entropy", seed=seed, shape=[batch, classes], scale=scale)
    d = Draw(seed)
    z = leaf(d.tensor(batch, classes) * scale)
    labels = d.labels(batch, classes)
    F.cross_entropy(z, labels).backward()
    answer("loss", F.cross_entropy(z, labels, reduction="sum"))
    answer("dz", z.grad)


def squared_error(seed, batch, outputs):
    case("mean_squared_error", seed=seed, shape=[batch, outputs])
    d = Draw(seed)
    y = leaf(d.tensor(batch, outputs))
    labels = d.labels(batch, outputs if outputs > 1 else 5)
    target = labels.double().reshape(batch, 1) if outputs == 1 else F.one_hot(labels, outputs).double()
    loss = F.mse_loss(y, target)
    loss.backward()
    answer("loss", loss * batch)
    answer("dy", y.grad)


# --- optimizers: a trajectory under given gradients
def optimizer(kind, seed, count, steps, **settings):
    case(kind, seed=seed, shape=[count, steps], **settings)
    d = Draw(seed)
    w = leaf(d.tensor(count))
    made = torch.optim.Adam([w], **adam(settings)) if kind == "adam" else torch.optim.SGD([w], **settings)
    for step in range(steps):
        w.grad = d.tensor(count)
        made.step()
        if step in (0, 1, steps - 1):
            answer(f"w{step}", w)


def adam(settings):
    kept = {k: v for k, v in settings.items() if k not in ("beta1", "beta2")}
    return {**kept, "betas": (settings["beta1"], settings["beta2"])}


# --- whole nets, float32, trained on batches of drawn examples
def scaled(t, fan_in):
    return t * (2.0 / fan_in)**0.5


class Net:
    """Draws each layer's weight, then its bias (small), in the order of the calls below."""

    def __init__(self, draw):
        self.draw, self.parameters = draw, []

    def keep(self, t):
        t = t.float().requires_grad_(True)
        self.parameters.append(t)
        return t

    def conv(self, kernel, c, o, groups=1):
        w = self.keep(scaled(self.draw.tensor(kernel, kernel, c // groups, o), kernel * kernel * c // groups))
        return w, self.keep(self.draw.tensor(o) * 0.125)

    def dense(self, i, o):
        return self.keep(scaled(self.draw.tensor(i, o), i)), self.keep(self.draw.tensor(o) * 0.125)


def flat(x):  # NHWC order, as ours flattens
    return to_nhwc(x).flatten(1)


def lenet5(net):
    c1, c2 = net.conv(5, 1, 6), net.conv(5, 6, 16)
    d1, d2, d3 = net.dense(400, 120), net.dense(120, 84), net.dense(84, 10)

    def forward(x):
        x = F.max_pool2d(F.relu(F.conv2d(x, conv_weight(c1[0]), c1[1], padding=2)), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, conv_weight(c2[0]), c2[1])), 2)
        x = flat(x)
        for w, b in (d1, d2):
            x = F.relu(F.linear(x, w.t(), b))
        return F.linear(x, d3[0].t(), d3[1])

    return forward, (28, 28, 1), 10


def residual(net):  # groups, stride, a residual add, average and global pools
    c1, c2, c3 = net.conv(3, 2, 8), net.conv(3, 8, 8, groups=4), net.conv(3, 8, 12)
    d1 = net.dense(12, 5)

    def forward(x):
        x = F.relu(F.conv2d(x, conv_weight(c1[0]), c1[1], padding=1))
        x = F.relu(F.conv2d(x, conv_weight(c2[0]), c2[1], padding=1, groups=4) + x)
        x = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
        x = F.relu(F.conv2d(x, conv_weight(c3[0]), c3[1], stride=2, padding=1))
        return F.linear(F.adaptive_avg_pool2d(x, 1).flatten(1), d1[0].t(), d1[1])

    return forward, (10, 9, 2), 5


def training_run(name, build, seed, batch, steps, loss, optimizer_kind, **settings):
    case("train", net=name, seed=seed, batch=batch, steps=steps, loss=loss, optimizer=optimizer_kind, **settings)
    draw = Draw(seed)
    net = Net(draw)
    forward, (h, w, c), classes = build(net)
    if optimizer_kind == "adam":
        made = torch.optim.Adam(net.parameters, **adam(settings))
    else:
        made = torch.optim.SGD(net.parameters, **settings)
    losses = []
    for _ in range(steps):
        x = draw.tensor(batch, h, w, c, dtype=torch.float32)
        labels = draw.labels(batch, classes)
        # Something to learn: the label says which two rows of the image are bright, and how bright the last channel is.
        for i in range(batch):
            x[i, labels[i] * 2 : labels[i] * 2 + 2, :, 0] += 1.5
            x[i, :, :, c - 1] += 0.25 * labels[i]
        made.zero_grad()
        y = forward(to_nchw(x))
        if loss == "softmax_cross_entropy":
            value = F.cross_entropy(y, labels)
        else:
            value = F.mse_loss(y, F.one_hot(labels, classes).float())
        value.backward()
        made.step()
        losses.append(value.detach())
    answer("losses", torch.stack(losses))
    for i, p in enumerate(net.parameters):
        answer(f"end{i}", p.reshape(-1)[:12])


def main():
    print("# PyTorch", torch.__version__, "- written by make_vectors.py")
    dense(1, 3, 5, 4, 0)
    dense(2, 9, 17, 21, 1)
    conv2d(3, 2, 6, 5, 3, 3, 3, 4, [1, 1], [1, 1, 1, 1], 1)
    conv2d(4, 1, 7, 8, 4, 3, 2, 6, [2, 1], [1, 0, 2, 1], 2)
    conv2d(5, 2, 9, 9, 1, 5, 5, 6, [1, 1], [2, 2, 2, 2], 1)
    conv2d(6, 1, 5, 5, 6, 3, 3, 6, [1, 1], [1, 1, 1, 1], 6)
    conv2d(7, 2, 4, 5, 8, 1, 1, 5, [1, 1], [0, 0, 0, 0], 1)
    conv2d(8, 1, 9, 9, 2, 3, 3, 18, [3, 2], [0, 0, 0, 0], 1)
    max_pool(9, 2, 6, 6, 3, [2, 2], [2, 2], [0, 0, 0, 0], 0)
    max_pool(10, 1, 7, 6, 5, [3, 3], [2, 2], [1, 1, 1, 1], 1)
    max_pool(11, 2, 5, 5, 2, [3, 2], [1, 1], [1, 0, 0, 1], 1)
    average_pool(12, 2, 6, 6, 3, [2, 2], [2, 2], [0, 0])
    average_pool(13, 1, 7, 5, 4, [3, 3], [2, 1], [1, 1])
    global_average(14, 3, 4, 5, 6)
    relu(15, 37)
    cross_entropy(16, 7, 10, 1)
    cross_entropy(17, 3, 19, 16)
    squared_error(18, 6, 4)
    squared_error(19, 5, 1)
    optimizer("sgd", 20, 33, 12, lr=0.1, momentum=0, weight_decay=0)
    optimizer("sgd", 21, 33, 12, lr=0.05, momentum=0.9, weight_decay=0.01)
    optimizer("adam", 22, 33, 12, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0)
    optimizer("adam", 23, 33, 12, lr=0.02, beta1=0.8, beta2=0.99, eps=1e-6, weight_decay=0.05)
    training_run("lenet5", lenet5, 24, 16, 24, "softmax_cross_entropy", "sgd", lr=0.02, momentum=0.9,
                 weight_decay=0.001)
    training_run("residual", residual, 25, 12, 24, "softmax_cross_entropy", "adam", lr=0.01, beta1=0.9, beta2=0.999,
                 eps=1e-8, weight_decay=0)
    training_run("residual", residual, 26, 12, 24, "mean_squared_error", "sgd", lr=0.05, momentum=0.5, weight_decay=0)
    training_run("lenet5", lenet5, 27, 16, 100, "softmax_cross_entropy", "sgd", lr=0.02, momentum=0, weight_decay=0)
    training_run("lenet5", lenet5, 28, 16, 100, "softmax_cross_entropy", "adam", lr=0.001, beta1=0.9, beta2=0.999,
                 eps=1e-8, weight_decay=0)


if __name__ == "__main__":
    sys.exit(main())
