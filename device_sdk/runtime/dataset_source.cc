#include "device_sdk/runtime/dataset_source.h"

#include <cstring>

#include "proto/codec/codec.h"

namespace coterie {

Result<DatasetSource> DatasetSource::load(Bytes file) {
  COT_ASSIGN(Decoded<DatasetHeader> dataset, decode_dataset(file));
  const auto payload_offset = static_cast<size_t>(dataset.payload.data() - file.data());
  return DatasetSource(std::move(file), std::move(dataset.header), payload_offset);
}

DatasetSource::DatasetSource(Bytes file, DatasetHeader header, size_t payload_offset)
    : file_(std::move(file)),
      header_(std::move(header)),
      features_offset_(payload_offset),
      labels_offset_(file_.size() - header_.examples * sizeof(int32_t)),
      feature_bytes_((labels_offset_ - payload_offset) / header_.examples) {}

Status DatasetSource::read(uint64_t index, const Example& to) {
  if (to.input_count() != 1 || to.labels().size() != 1) {
    return Error(ErrorCode::invalid_argument, "data set " + header_.name +
                                                  " has one input and one label an example, the model takes more");
  }
  return read(index, to.features(), to.labels()[0]);
}

Status DatasetSource::read(uint64_t index, std::span<float> features, int32_t& label) {
  if (features.size_bytes() != feature_bytes_) {
    return Error(ErrorCode::invalid_argument, "data set " + header_.name + " has " +
                                                  std::to_string(feature_bytes_ / sizeof(float)) +
                                                  " features an example, the model takes " +
                                                  std::to_string(features.size()));
  }
  if (index >= header_.examples) return Error(ErrorCode::invalid_argument, "no such example");
  std::memcpy(features.data(), file_.data() + features_offset_ + index * feature_bytes_, feature_bytes_);
  std::memcpy(&label, file_.data() + labels_offset_ + index * sizeof label, sizeof label);
  return {};
}

Bytes encode_dataset(const DatasetHeader& header, std::span<const float> features, std::span<const int32_t> labels) {
  Bytes file = encode_head(header);
  const auto append = [&file](const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    file.insert(file.end(), bytes, bytes + size);
  };
  append(features.data(), features.size_bytes());
  append(labels.data(), labels.size_bytes());
  return file;
}

}  // namespace coterie
