// Examples in one file: the evaluation set of a job, a device's own data in the demo.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

// How a column's elements lie in the file. float32 and int32 are read as they are; a uint8 is read as the float32
// byte * scale + offset, computed in float32: images take a quarter of the room.
enum class ColumnType : uint8_t { float32 = 1, int32 = 2, uint8 = 3 };
std::string_view to_string(ColumnType type);
inline constexpr size_t element_bytes(ColumnType type) { return type == ColumnType::uint8 ? 1 : 4; }

struct DatasetColumn {
  std::string name;
  ColumnType type = ColumnType::float32;
  Shape shape;       // of one example: images height, width, channels; empty: one number
  float scale = 1;   // of uint8, and of a float32 target: value * scale + offset is the number in its own unit, which
  float offset = 0;  // nobody computes but who reports it. Elsewhere 1 and 0
  friend bool operator==(const DatasetColumn&, const DatasetColumn&) = default;
};

// Bytes that one example has in this column; malformed as element_count says, or if they overflow.
Result<uint64_t> example_bytes(const DatasetColumn& column);

// Payload: one column after the other, the inputs' and then the target's, each [examples, shape...] without gaps.
struct DatasetHeader {
  std::string name;
  uint64_t examples = 0;
  std::vector<DatasetColumn> inputs;  // in the order of the model's
  DatasetColumn target;               // int32: labels in [0, classes); float32: what a regression is to give
  uint32_t classes = 0;               // 0 with a float32 target
  friend bool operator==(const DatasetHeader&, const DatasetHeader&) = default;
};

// The usual one: an input of float32 features, and one label an example.
DatasetHeader labelled_dataset(std::string name, uint64_t examples, Shape feature_shape, uint32_t classes);

}  // namespace coterie
