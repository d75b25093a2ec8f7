#include "device_sdk/runtime/dataset_source.h"

#include <cstring>

#include "base/assert.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/byte_numbers.h"
#include "device_sdk/runtime/seal.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

// The largest frame there is, its header included.
constexpr uint64_t kFileBytesMax = limits::kPayloadBytesMax + limits::kFileHeaderBytesMax + 1024;

ByteView bytes_of(const auto& numbers) {
  return {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes()};
}

}  // namespace

Result<DatasetSource> DatasetSource::open(const std::string& path) {
  COT_ASSIGN(os::MappedFile file, os::MappedFile::open(path, kFileBytesMax));
  if (const Result<Seal> seal = check_seal(file.bytes()); !seal) return seal.error().with_context(path);
  Result<Decoded<DatasetHeader>> dataset = decode_dataset(file.bytes());
  if (!dataset) return dataset.error().with_context(path);
  const ByteView bytes = file.bytes();
  return DatasetSource({.mapped = std::move(file)}, bytes, std::move(dataset->header), dataset->payload);
}

Result<DatasetSource> DatasetSource::load(Bytes file) {
  COT_TRY(check_seal(file));
  COT_ASSIGN(Decoded<DatasetHeader> dataset, decode_dataset(file));
  const ByteView bytes = file;
  return DatasetSource({.loaded = std::move(file)}, bytes, std::move(dataset.header), dataset.payload);
}

Result<DatasetSource> DatasetSource::over(ByteView file, std::shared_ptr<const void> keeper) {
  COT_ASSIGN(Decoded<DatasetHeader> dataset, decode_dataset(file));
  return DatasetSource({.keeper = std::move(keeper)}, file, std::move(dataset.header), dataset.payload);
}

DatasetSource::DatasetSource(Storage storage, ByteView file, DatasetHeader header, ByteView payload)
    : storage_(std::move(storage)), file_(file), header_(std::move(header)) {
  const auto take = [&](const DatasetColumn& info) {
    const auto row_bytes = static_cast<size_t>(example_bytes(info).value());
    const ByteView bytes = payload.first(row_bytes * header_.examples);
    payload = payload.subspan(bytes.size());
    return Column{bytes, row_bytes, row_bytes / element_bytes(info.type)};
  };
  for (const DatasetColumn& input : header_.inputs) inputs_.push_back(take(input));
  target_ = take(header_.target);
}

std::optional<Digest> DatasetSource::digest() const {
  if (!digest_) digest_ = content_digest(file_);
  return digest_;
}

Status DatasetSource::read(uint64_t index, const Example& to) {
  if (to.input_count() != inputs_.size()) {
    return Error(ErrorCode::invalid_argument, concat({"data set ", header_.name, " has ", inputs_.size(),
                                                      " inputs, the model takes ", to.input_count()}));
  }
  if (index >= header_.examples) return Error(ErrorCode::invalid_argument, "no such example");
  for (size_t i = 0; i < inputs_.size(); ++i) {
    COT_TRY(read_column(inputs_[i], header_.inputs[i], index, to.features(i)));
  }
  return read_column(target_, header_.target, index, to.targets());
}

Status DatasetSource::read(uint64_t index, std::span<float> features, int32_t& label) {
  if (header_.target.type != ColumnType::int32) {
    return Error(ErrorCode::invalid_argument, concat({"data set ", header_.name, " has no labels"}));
  }
  const Example::Place input = features;
  return read(index, Example({&input, 1}, {reinterpret_cast<float*>(&label), 1}));
}

// A span of float stands for any four-byte element (example_source.h).
Status DatasetSource::read_column(const Column& column, const DatasetColumn& info, uint64_t index,
                                  std::span<float> to) const {
  if (to.size() != column.elements) {
    return Error(ErrorCode::invalid_argument,
                 concat({"data set ", header_.name, " has ", column.elements, " values an example in ", info.name,
                         ", the model takes ", to.size()}));
  }
  const ByteView row = column.bytes.subspan(index * column.row_bytes, column.row_bytes);
  if (info.type == ColumnType::uint8) {
    numbers_of_bytes(row, info.scale, info.offset, to);
  } else {
    std::memcpy(to.data(), row.data(), row.size());
  }
  return {};
}

Bytes encode_dataset(const DatasetHeader& header, std::span<const ByteView> columns) {
  COT_ASSERT(columns.size() == header.inputs.size() + 1);
  Bytes file = encode_head(header);
  for (size_t i = 0; i < columns.size(); ++i) {
    const DatasetColumn& info = i < header.inputs.size() ? header.inputs[i] : header.target;
    COT_ASSERT(columns[i].size() == header.examples * example_bytes(info).value());
    file.insert(file.end(), columns[i].begin(), columns[i].end());
  }
  seal(file);
  return file;
}

Bytes encode_dataset(const DatasetHeader& header, std::span<const float> features, std::span<const int32_t> labels) {
  const ByteView columns[] = {bytes_of(features), bytes_of(labels)};
  return encode_dataset(header, columns);
}

}  // namespace coterie
