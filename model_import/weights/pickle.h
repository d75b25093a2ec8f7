// Python's pickle as far as torch.save writes it for a dictionary of tensors. It is a program for a stack machine that
// may name any function of Python and call it; here nothing is called. What may be named is one of the callables below,
// each a rule of this reader; any other name is refused, and said.
//
//   collections.OrderedDict                 -> a dictionary
//   torch._utils._rebuild_tensor_v2         -> a tensor: a storage, where it begins in it, sizes, strides
//   torch._utils._rebuild_parameter         -> the tensor that it is given
//   torch.<Type>Storage, torch.Size         -> a type of elements; a tuple
//
// Opcodes: those of protocol 2 that such a dictionary needs, and the numbers, texts, lists and tuples of protocols up
// to 5 that people put beside it (an epoch, a learning rate).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/weights/weight_table.h"

namespace coterie::model_import {

inline constexpr uint64_t kPickleBytesMax = 64ull << 20;  // of the program; the elements lie in files of their own
inline constexpr size_t kPickleValuesMax = 1u << 18;      // that it makes
inline constexpr size_t kPickleNestingMax = 16;           // of dictionaries in each other

struct PickledTensor {
  WeightType type = WeightType::float32;
  std::string storage;  // the name of its file
  uint64_t storage_elements = 0, first = 0;
  Shape shape = {};
  std::vector<int64_t> strides = {};
};

// A dictionary with texts as keys. What is neither a tensor nor a dictionary has no place in it.
struct PickledDict {
  std::string name;  // its key in the dictionary that holds it
  std::vector<std::pair<std::string, PickledTensor>> tensors;
  std::vector<PickledDict> dicts;
};

// Errors: malformed, too_large, invalid_argument: it names something else than the callables above (says what), or it
// is no dictionary.
Result<PickledDict> read_pickle(ByteView program);

}  // namespace coterie::model_import
