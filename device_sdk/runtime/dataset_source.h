// DatasetSource: the examples of a data set file (a frame of kind `dataset`) held in memory.
#pragma once

#include "base/bytes.h"
#include "device_sdk/runtime/example_source.h"
#include "proto/messages/dataset.h"

namespace coterie {

class DatasetSource final : public ExampleSource {
 public:
  // Takes a whole data set file; malformed or too_large as decode_dataset says.
  static Result<DatasetSource> load(Bytes file);

  const DatasetHeader& header() const { return header_; }
  uint64_t size() const override { return header_.examples; }
  // invalid_argument if the model wants features of another size.
  Status read(uint64_t index, const Example& to) override;
  // The same for a caller that has no Example.
  Status read(uint64_t index, std::span<float> features, int32_t& label);

 private:
  DatasetSource(Bytes file, DatasetHeader header, size_t payload_offset);
  Bytes file_;
  DatasetHeader header_;
  size_t features_offset_;
  size_t labels_offset_;
  size_t feature_bytes_;
};

// A data set file of these examples. `features` has labels.size() times the product of header.feature_shape values.
Bytes encode_dataset(const DatasetHeader& header, std::span<const float> features, std::span<const int32_t> labels);

}  // namespace coterie
