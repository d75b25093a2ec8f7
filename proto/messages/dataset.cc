#include "proto/messages/dataset.h"

#include "base/checked.h"

namespace coterie {

std::string_view to_string(ColumnType type) {
  switch (type) {
    case ColumnType::float32: return "float32";
    case ColumnType::int32: return "int32";
    case ColumnType::uint8: return "uint8";
  }
  return "unknown";
}

Result<uint64_t> example_bytes(const DatasetColumn& column) {
  COT_ASSIGN(const uint64_t elements, element_count(column.shape));
  const auto bytes = checked_multiply<uint64_t>(elements, element_bytes(column.type));
  if (!bytes) return Error(ErrorCode::malformed, "the bytes of a shape overflow");
  return *bytes;
}

DatasetHeader labelled_dataset(std::string name, uint64_t examples, Shape feature_shape, uint32_t classes) {
  return {.name = std::move(name),
          .examples = examples,
          .inputs = {{.name = "features", .shape = std::move(feature_shape)}},
          .target = {.name = "label", .type = ColumnType::int32, .shape = {}},
          .classes = classes};
}

}  // namespace coterie
