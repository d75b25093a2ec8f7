// ExampleTable: a data set in memory, column by column as a data set file has it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "proto/messages/dataset.h"
#include "tools/data/column_bytes.h"

namespace coterie {

struct ExampleTable {
  DatasetHeader header;
  std::vector<ColumnBytes> columns;  // of each input in the header's order, then of the target

  uint64_t size() const { return header.examples; }
  // The class of each example; empty if the target is anything but one label an example.
  std::span<const int32_t> labels() const;
};

// The numbers as a column has them.
template <typename T>
Bytes column_of(const std::vector<T>& numbers) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(numbers.data());
  return Bytes(bytes, bytes + numbers.size() * sizeof(T));
}

// The examples `chosen`, in that order.
ExampleTable examples_of(const ExampleTable& table, std::span<const uint32_t> chosen);

// A data set file (proto/messages/dataset.h) of the examples `chosen`, in that order; there is at least one.
Bytes dataset_file(const ExampleTable& table, std::span<const uint32_t> chosen);

// As above, of all examples.
Bytes dataset_file(const ExampleTable& table);

// How many of `chosen` have each label; header.classes numbers. Empty if the table has no labels().
std::vector<uint32_t> count_labels(const ExampleTable& table, std::span<const uint32_t> chosen);

}  // namespace coterie
