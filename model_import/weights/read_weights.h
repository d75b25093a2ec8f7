// Files of weights as tables: safetensors, NumPy's .npz, PyTorch's state dicts and MindSpore's .ckpt. Pure: bytes in,
// table out, which views them. Nothing of a file is executed.
#pragma once

#include <string>

#include "model_import/weights/weight_table.h"

namespace coterie::model_import {

struct ReadOptions {
  // PyTorch: which dictionary of a checkpoint that holds several, "model_state_dict"; empty: the only one with tensors.
  std::string part;
};

// By what the file holds, whatever its name. Errors: malformed (names the tensor and what is wrong with it), too_large,
// unsupported_version, invalid_argument (a form that is not read: says how to save it again).
Result<WeightTable> read_weights(ByteView file, const ReadOptions& options = {});

// https://huggingface.co/docs/safetensors: u64 length, JSON {name: {dtype, shape, data_offsets}}, then the elements.
// Offsets are contiguous: no holes, no overlaps.
Result<WeightTable> read_safetensors(ByteView file);
// numpy.savez and savez_compressed: a zip archive of .npy files (versions 1 to 3, both orders), little-endian.
Result<WeightTable> read_npz(ByteView file);
// numpy.save: one such array, which is called "array".
Result<WeightTable> read_npy(ByteView file);
// torch.save(model.state_dict()) since PyTorch 1.6: a zip archive with a pickle (pickle.h) and a file a storage.
Result<WeightTable> read_pytorch(ByteView file, const ReadOptions& options = {});
// mindspore.save_checkpoint: protobuf, Checkpoint{value=1: {tag=1, tensor=2: {dims=1, tensor_type=2,
// tensor_content=3}}}.
Result<WeightTable> read_mindspore(ByteView file);

}  // namespace coterie::model_import
