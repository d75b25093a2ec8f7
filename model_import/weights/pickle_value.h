// What a pickle's program makes, in one list: a value names others by their place in it, so that none owns another, and
// what holds itself is no trouble.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model_import/weights/pickle.h"

namespace coterie::model_import {

using PickleIndex = uint32_t;

// The names that a program may say.
enum class PickleCallable : uint8_t { ordered_dict, rebuild_tensor, rebuild_parameter, storage, size };

struct PickleGlobal {
  PickleCallable callable = PickleCallable::ordered_dict;
  WeightType type = WeightType::float32;  // of a storage
};
struct PickleStorage {
  WeightType type = WeightType::float32;
  std::string name;
  uint64_t elements = 0;
};
struct PickleTuple {
  std::vector<PickleIndex> items;
};
struct PickleList {
  std::vector<PickleIndex> items;
};
struct PickleDict {
  std::vector<std::pair<PickleIndex, PickleIndex>> items;
};
struct PickleOther {};  // None, a float: nothing of ours

using PickleValue = std::variant<PickleOther, int64_t, std::string, PickleGlobal, PickleStorage, PickleTuple,
                                 PickleList, PickleDict, PickledTensor>;

// The row of "module name"; invalid_argument names what it is and what to do.
Result<PickleGlobal> pickle_global(const std::string& module, const std::string& name);

}  // namespace coterie::model_import
