#!/usr/bin/python3
"""Writes kernel_vectors.txt: what PyTorch computes for single kernels - losses, optimizers, recurrent layers, attention.

    apt-get install --no-install-recommends python3-torch      # Debian 12: 1.13.1
    tests/golden/torch/make_kernel_vectors.py > tests/golden/torch/kernel_vectors.txt

Inputs are drawn as in make_vectors.py, whose format this is; all answers are float64.
"""
import sys

import torch
import torch.nn.functional as F

from make_vectors import Draw, answer, case, leaf


def loss(kind, seed, inputs, compute, **settings):
    """inputs: the drawn tensors that get a gradient."""
    case(kind, seed=seed, **settings)
    value = compute()
    value.backward()
    answer("loss", value)
    for i, tensor in enumerate(inputs):
        answer(f"d{i}", tensor.grad)


def class_losses(seed, rows, classes, smoothing, weighted):
    settings = dict(shape=[rows, classes], smoothing=smoothing, weighted=weighted)
    d = Draw(seed)
    z = d.tensor(rows, classes) * 4
    soft = torch.softmax(d.tensor(rows, classes), 1)
    weights = d.tensor(classes) + 1.5 if weighted else None
    labels = d.labels(rows, classes)
    labels[1] = -100
    x = leaf(z)
    loss("cross_entropy", seed, [x],
         lambda: F.cross_entropy(x, labels, weight=weights, label_smoothing=smoothing), **settings)
    y = leaf(z)
    case("cross_entropy_of_targets", seed=seed, **settings)
    answer("targets", soft)
    value = F.cross_entropy(y, soft, weight=weights, label_smoothing=smoothing)
    value.backward()
    answer("loss", value)
    answer("d0", y.grad)
    v = leaf(z)
    loss("negative_log_likelihood", seed, [v], lambda: F.nll_loss(v, labels, weight=weights), **settings)


def element_losses(seed, rows, width):
    kinds = [
        lambda y, t: F.mse_loss(y, t), lambda y, t: F.l1_loss(y, t), lambda y, t: F.huber_loss(y, t, delta=0.5),
        lambda y, t: F.smooth_l1_loss(y, t, beta=0.5), lambda y, t: F.binary_cross_entropy(y, t),
        lambda y, t: F.binary_cross_entropy_with_logits(y, t), lambda y, t: F.kl_div(y, t, reduction="batchmean")
    ]
    for index, compute in enumerate(kinds):
        d = Draw(seed + index)
        y = d.tensor(rows, width)
        y = leaf((y + 1) / 2 if index == 4 else 2 * y)
        t = (d.tensor(rows, width) + 1) / 2
        t[0, 0] = 0
        loss("element_loss", seed + index, [y], lambda: compute(y, t), shape=[rows, width], function=index)


def embedding_losses(seed, rows, width):
    d = Draw(seed)
    a, b, c = (leaf(d.tensor(rows, width)) for _ in range(3))
    signs = torch.tensor([1 - 2 * (i % 2) for i in range(rows)])
    loss("cosine_embedding", seed, [a, b], lambda: F.cosine_embedding_loss(a, b, signs, margin=-0.25),
         shape=[rows, width])
    a, b, c = leaf(a.detach()), leaf(b.detach()), leaf(c.detach())
    loss("triplet_margin", seed, [a, b, c], lambda: F.triplet_margin_loss(a, b, c, margin=0.5), shape=[rows, width])


def optimizer(kind, seed, make, **settings):
    """A trajectory of 6 steps under given gradients."""
    case("optimizer", rule=kind, seed=seed, shape=[19, 6], **settings)
    d = Draw(seed)
    w = leaf(d.tensor(19))
    made = make([w])
    for step in range(6):
        w.grad = d.tensor(19)
        made.step()
        if step in (0, 5):
            answer(f"w{step}", w)


def optimizers():
    optim = torch.optim
    optimizer("nesterov", 140, lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01, nesterov=True))
    optimizer("adamw", 141, lambda p: optim.AdamW(p, lr=0.02, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.5))
    optimizer("adagrad", 142, lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.25, weight_decay=0.01, eps=1e-6))
    optimizer("rmsprop", 143, lambda p: optim.RMSprop(p, lr=0.02, alpha=0.75, eps=1e-6, weight_decay=0.01))
    optimizer("rmsprop_momentum", 144, lambda p: optim.RMSprop(p, lr=0.02, alpha=0.75, eps=1e-2, momentum=0.5,
                                                              centered=True))
    optimizer("adadelta", 145, lambda p: optim.Adadelta(p, lr=0.5, rho=0.75, eps=1e-3, weight_decay=0.01))


def recurrent(kind, seed, steps, batch, inputs, hidden):
    case("rnn", cell=kind, seed=seed, shape=[steps, batch, inputs, hidden])
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    d = Draw(seed)
    x, w, r = d.tensor(steps, batch, inputs), d.tensor(inputs, gates * hidden), d.tensor(hidden, gates * hidden)
    bias_w, bias_r, h0, c0 = (d.tensor(gates * hidden), d.tensor(gates * hidden), d.tensor(1, batch, hidden),
                              d.tensor(1, batch, hidden))
    dy = d.tensor(steps, batch, hidden)
    x, h0, c0 = leaf(x), leaf(h0), leaf(c0)
    if kind == "lstm":
        net = torch.nn.LSTM(inputs, hidden).double()
    elif kind == "gru":
        net = torch.nn.GRU(inputs, hidden).double()
    else:
        net = torch.nn.RNN(inputs, hidden, nonlinearity=kind).double()
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), (w.t(), r.t(), bias_w, bias_r)):
            parameter.copy_(value)
    y, last = net(x, (h0, c0) if kind == "lstm" else h0)
    y.backward(dy)
    dw, dr, dbias_w, dbias_r = (p.grad.t() if p.grad.dim() == 2 else p.grad for p in net.parameters())
    h_n = last[0] if kind == "lstm" else last
    answers = [("y", y), ("h_n", h_n), ("dx", x.grad), ("dw", dw), ("dr", dr), ("dbias_w", dbias_w),
               ("dbias_r", dbias_r), ("dh0", h0.grad)]
    if kind == "lstm":
        answers += [("c_n", last[1]), ("dc0", c0.grad)]
    for name, tensor in answers:
        answer(name, tensor.contiguous())


def attention(seed, batch, heads, queries, keys, width, causal):
    """By its definition: PyTorch 1.13's own function is private, and nn.MultiheadAttention has projections around."""
    case("attention", seed=seed, shape=[batch, heads, queries, keys, width], causal=causal)
    d = Draw(seed)
    q, k, v = (leaf(d.tensor(batch, rows, heads * width) * 2) for rows in (queries, keys, keys))
    dy = d.tensor(batch, queries, heads * width)

    def split(t):
        return t.reshape(batch, -1, heads, width).transpose(1, 2)

    scores = split(q) @ split(k).transpose(2, 3) / width**0.5
    if causal:
        scores = scores.masked_fill(torch.ones(queries, keys).triu(1).bool(), -float("inf"))
    y = (torch.softmax(scores, 3) @ split(v)).transpose(1, 2).reshape(batch, queries, heads * width)
    y.backward(dy)
    for name, tensor in (("y", y), ("dq", q.grad), ("dk", k.grad), ("dv", v.grad)):
        answer(name, tensor)


def fake_quantize(seed, count, scale, zero):
    """Per tensor, over the whole range of int8; in float32, as PyTorch rounds nothing else."""
    case("fake_quantize", seed=seed, shape=[count], scale=scale, zero=zero)
    d = Draw(seed)
    x = d.tensor(count, dtype=torch.float32) * 4
    answer("y", torch.fake_quantize_per_tensor_affine(x, scale, zero, -128, 127))


def fake_quantize_channels(seed, rows, channels, bits):
    """Weights [rows, channels] by channel, symmetric: the largest of each becomes the last step."""
    case("fake_quantize_channels", seed=seed, shape=[rows, channels], bits=bits)
    d = Draw(seed)
    w, dy = leaf(d.tensor(rows, channels, dtype=torch.float32)), d.tensor(rows, channels, dtype=torch.float32)
    levels = 2**(bits - 1) - 1
    scales = w.detach().abs().amax(0) / levels
    y = torch.fake_quantize_per_channel_affine(w, scales, torch.zeros(channels, dtype=torch.int32), 1, -levels, levels)
    y.backward(dy)
    answer("y", y)
    answer("dw", w.grad)


def main():
    print("# PyTorch", torch.__version__, "- written by make_kernel_vectors.py")
    class_losses(100, 5, 6, 0, 0)
    class_losses(101, 4, 7, 0.125, 1)
    element_losses(110, 4, 5)
    embedding_losses(130, 4, 6)
    optimizers()
    for seed, kind in enumerate(("tanh", "relu", "lstm", "gru"), 150):
        recurrent(kind, seed, 4, 3, 2, 5)
    attention(160, 2, 2, 5, 5, 4, 1)
    attention(161, 1, 3, 3, 6, 2, 0)
    fake_quantize(170, 64, 0.03, -7)
    fake_quantize(171, 37, 0.01, 100)
    for bits in (8, 4):
        fake_quantize_channels(172 + bits, 9, 5, bits)


if __name__ == "__main__":
    sys.exit(main())
