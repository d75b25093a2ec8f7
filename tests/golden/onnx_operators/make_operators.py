#!/usr/bin/env python3
"""Writes operators.golden: ONNX's own tests of each operator that the importer accepts (onnx.backend.test.case.node).

Usage: make_operators.py [FILE]. Needs onnx 1.12 (Debian's python3-onnx), which computes the expected values in NumPy.
Left out are cases that train (Dropout, BatchNormalization), forms that neither importer nor interpreter know, types
that are not read, and what is larger than BYTES_MAX.

A file is records, each of fields: 4 bytes of length (little-endian) and the bytes. The fields of a record: its name,
the model, the number of inputs and of outputs as decimal text, then each of these as a TensorProto.
"""
import struct
import sys

import numpy

for alias, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
    setattr(numpy, alias, kind)  # NumPy has dropped these names, and onnx 1.12 uses them
numpy.random.seed(0)

import onnx.backend.test.case.node as node  # noqa: E402
from onnx import numpy_helper  # noqa: E402

OPERATORS = """Abs Add And AveragePool BatchNormalization Cast Ceil Clip Concat ConstantOfShape Conv ConvTranspose Cos
Div Dropout Elu Equal Erf Exp Expand Flatten Floor GRU Gather Gemm GlobalAveragePool GlobalMaxPool Greater
GreaterOrEqual HardSigmoid HardSwish Identity InstanceNormalization LSTM LayerNormalization LeakyRelu Less LessOrEqual
Log LogSoftmax MatMul Max MaxPool Mean Min Mod Mul Neg Not Or PRelu Pad Pow RNN Range Reciprocal ReduceL1 ReduceL2
ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize Round Selu Shape Sigmoid Sin
Size Slice Softmax Softplus Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Trilu Unsqueeze Where""".split()
TYPES = {"float32", "float64", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "bool"}
# Training; forms that are refused; narrow integers that wrap around; casts through types that are not read.
LEFT_OUT = ("train", "_3d", "cubic", "crop_and_resize", "reflect", "edge", "peepholes", "batchwise", "seq_length",
            "STRING", "FLOAT16", "optional", "sequence", "with_argmax", "_1d_", "dilations_3d", "uint64", "BFLOAT16",
            "with_roi", "tf_half_pixel", "expanded",
            # It takes the length of the output as a fraction, which the specification rounds down.
            "resize_downsample_scales_linear_align_corners")
BYTES_MAX = 20_000


def field(data):
    return struct.pack("<I", len(data)) + data


def cases():
    node.collect_testcases("")  # runs the functions that make them
    for case in node._NodeTestCases:
        operators = {n.op_type for n in case.model.graph.node}
        if len(operators) == 1 and operators <= set(OPERATORS) and not any(word in case.name for word in LEFT_OUT):
            yield case


def record(case):
    inputs, outputs = case.data_sets[0]
    arrays = [a for a in list(inputs) + list(outputs)]
    if not all(isinstance(a, (numpy.ndarray, numpy.generic)) and str(a.dtype) in TYPES for a in arrays):
        return None
    for opset in case.model.opset_import:
        # A case is of the opset that last changed its operator: where that is before 11, the operator of 11 is the same.
        opset.version = max(opset.version, 11)
    tensors = [numpy_helper.from_array(numpy.asarray(a)).SerializeToString() for a in arrays]
    data = field(case.name.encode()) + field(case.model.SerializeToString())
    data += field(str(len(inputs)).encode()) + field(str(len(outputs)).encode()) + b"".join(map(field, tensors))
    return data if len(data) <= BYTES_MAX else None


def main():
    records = {case.name: record(case) for case in cases()}
    kept = {name: data for name, data in records.items() if data is not None}
    with open(sys.argv[1] if len(sys.argv) > 1 else "operators.golden", "wb") as file:
        for name in sorted(kept):
            file.write(kept[name])
    operators = {op for op in OPERATORS if any(op in data.decode("latin-1") for data in kept.values())}
    print(f"{len(kept)} cases, left out for type or size:", sorted(set(records) - set(kept)))
    print("no case:", sorted(set(OPERATORS) - operators))


main()
