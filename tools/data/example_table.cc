#include "tools/data/example_table.h"

#include "base/assert.h"
#include "device_sdk/runtime/dataset_source.h"

namespace coterie {

std::span<const int32_t> ExampleTable::labels() const {
  if (header.target.type != ColumnType::int32 || !header.target.shape.empty()) return {};
  return {reinterpret_cast<const int32_t*>(columns.back().data()), static_cast<size_t>(header.examples)};
}

ExampleTable examples_of(const ExampleTable& table, std::span<const uint32_t> chosen) {
  ExampleTable part{table.header, {}};
  part.header.examples = chosen.size();
  for (const ColumnBytes& column : table.columns) {
    const size_t row_bytes = column.size() / table.size();
    Bytes rows;
    rows.reserve(chosen.size() * row_bytes);
    for (const uint32_t index : chosen) {
      COT_ASSERT(index < table.size());
      const ByteView row = column.view().subspan(index * row_bytes, row_bytes);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    part.columns.push_back(std::move(rows));
  }
  return part;
}

Bytes dataset_file(const ExampleTable& table, std::span<const uint32_t> chosen) {
  return dataset_file(examples_of(table, chosen));
}

Bytes dataset_file(const ExampleTable& table) {
  return encode_dataset(table.header, std::vector<ByteView>(table.columns.begin(), table.columns.end()));
}

std::vector<uint32_t> count_labels(const ExampleTable& table, std::span<const uint32_t> chosen) {
  std::vector<uint32_t> counts(table.header.classes);
  const std::span<const int32_t> labels = table.labels();
  if (labels.empty()) return {};
  for (const uint32_t index : chosen) ++counts[static_cast<size_t>(labels[index])];
  return counts;
}

}  // namespace coterie
