// A reader of weights on any bytes: an error, or a table whose tensors have as many values as their shapes say.
#pragma once

#include "base/assert.h"
#include "model_import/weights/read_weights.h"

namespace coterie::test {

template <model_import::WeightFormat format>
int weights_target(const uint8_t* data, size_t size) {
  using namespace model_import;
  const ByteView file(data, size);
  const Result<WeightTable> table = format == WeightFormat::safetensors ? read_safetensors(file)
                                    : format == WeightFormat::npz       ? read_npz(file)
                                    : format == WeightFormat::pytorch   ? read_pytorch(file)
                                                                        : read_mindspore(file);
  if (!table) {
    COT_ASSERT(table.error().code() != ErrorCode::internal);
    return 0;
  }
  for (const WeightTensor& tensor : table->tensors) {
    uint64_t count = 1;
    for (const int64_t each : tensor.shape) count *= static_cast<uint64_t>(each);
    // Whoever loads weights reads what has the shape that a model needs.
    if (count > 1u << 16 || tensor.content.plain_bytes > 1u << 20) continue;
    if (const auto values = read_values(tensor)) COT_ASSERT(values->size() == count);
  }
  return 0;
}

}  // namespace coterie::test
