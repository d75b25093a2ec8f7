#!/usr/bin/env python3
"""Writes the ONNX models of cases.py and, beside each, what PyTorch computes with it for a batch of three.

<case>.onnx    as torch.onnx.export writes it, for a symbolic batch unless the case says otherwise
<case>.golden  records: name, type (0 float32, 1 int32), rank, dimensions, elements; little-endian. input:0, ... and output in
               ONNX's layout; for some cases labels and gradient:<parameter>, of the mean cross-entropy, in the layout of a
               model file: [in, out] for Linear, [h, w, in, out] for Conv

Needs PyTorch 1.13 (Debian's python3-torch). Run it when cases.py has changed.
"""
import pathlib
import struct
import sys
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

from cases import cases

BATCH = 3


def export(module, inputs, options, path):
    """The model at `path`, as a user of PyTorch exports it."""
    names = [f"x{i}" for i in range(len(inputs))]
    mode = torch.onnx.TrainingMode
    training = mode.TRAINING if options.get("training") else mode.PRESERVE if options.get("preserve") else mode.EVAL
    torch.onnx.export(module.eval(), tuple(inputs), str(path), opset_version=options.get("opset", 14), input_names=names,
                      output_names=["y"], training=training,
                      dynamic_axes=None if options.get("static") else {name: {0: "batch"} for name in names + ["y"]},
                      do_constant_folding=options.get("fold", training == mode.EVAL))


def batch_of(example):
    """Three examples that differ."""
    repeated = torch.cat([example] * BATCH)[:BATCH]
    if example.dtype == torch.int64:
        return repeated
    return repeated * torch.linspace(0.5, 1, BATCH).reshape([-1] + [1] * (example.dim() - 1))


def record(name, tensor):
    is_integer = tensor.dtype == torch.int64
    tensor = tensor.detach().contiguous()
    data = (tensor.to(torch.int32) if is_integer else tensor.float()).numpy().tobytes()
    head = struct.pack("<B", len(name)) + name.encode() + struct.pack("<BB", is_integer, tensor.dim())
    return head + struct.pack(f"<{tensor.dim()}i", *tensor.shape) + data


def in_model_layout(name, module, gradient):
    owner = module.get_submodule(name.rpartition(".")[0])
    if name.endswith("weight") and isinstance(owner, nn.Linear):
        return gradient.t()
    if name.endswith("weight") and isinstance(owner, nn.Conv2d):
        return gradient.permute(2, 3, 1, 0)
    if isinstance(owner, nn.MultiheadAttention) and name.endswith("in_proj_weight"):
        return gradient.t()
    return gradient


def golden(module, inputs, options):
    inputs = [batch_of(example) for example in inputs]
    result = b"".join(record(f"input:{i}", tensor) for i, tensor in enumerate(inputs))
    output = module.eval()(*inputs)
    result += record("output", output)
    if options.get("gradient"):
        labels = torch.arange(BATCH) % output.shape[-1]
        F.cross_entropy(module.train()(*inputs), labels).backward()
        result += record("labels", labels)
        for name, parameter in module.named_parameters():
            result += record("gradient:" + name, in_model_layout(name, module, parameter.grad))
    return result


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    warnings.filterwarnings("ignore")
    torch.manual_seed(1)
    for name, (module, inputs, options) in cases().items():
        export(module, inputs, options, folder / f"{name}.onnx")
        (folder / f"{name}.golden").write_bytes(golden(module, inputs, options))


if __name__ == "__main__":
    main()
