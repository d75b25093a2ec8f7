// Data set frames.
#include <cmath>

#include "base/checked.h"
#include "base/text/concat.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/state_generated.h"

namespace coterie {
namespace {

Result<uint64_t> column_bytes(const DatasetColumn& column, uint64_t examples) {
  const Result<uint64_t> row = example_bytes(column);
  if (!row) return row.error().with_context(concat({"column ", column.name}));
  const auto bytes = checked_multiply(*row, examples);
  if (!bytes || *bytes > limits::kPayloadBytesMax) return flat::out_of_range("data set", "is too large");
  return *bytes;
}

// At most 65 columns of at most 2^36 bytes: the sum cannot overflow.
Result<uint64_t> payload_bytes_of(const DatasetHeader& header) {
  COT_ASSIGN(uint64_t total, column_bytes(header.target, header.examples));
  for (const DatasetColumn& input : header.inputs) {
    COT_ASSIGN(const uint64_t bytes, column_bytes(input, header.examples));
    total += bytes;
  }
  if (total > limits::kPayloadBytesMax) return flat::out_of_range("data set", "is too large");
  return total;
}

flatbuffers::Offset<state::DatasetColumn> build(flatbuffers::FlatBufferBuilder& builder, const DatasetColumn& column) {
  const auto name = builder.CreateString(column.name);
  const auto shape = builder.CreateVector(column.shape);
  return state::CreateDatasetColumn(builder, name, static_cast<uint8_t>(column.type), shape, column.scale,
                                    column.offset);
}

Result<DatasetColumn> parse(const state::DatasetColumn& table) {
  DatasetColumn column;
  COT_ASSIGN(column.name, flat::text(table.name(), "column name", limits::kTextBytesMax));
  column.type = static_cast<ColumnType>(table.type());
  if (to_string(column.type) == "unknown") return flat::out_of_range("column type", "must be 1, 2 or 3");
  if (table.shape() != nullptr && table.shape()->size() > limits::kModelRankMax) {
    return flat::out_of_range("column shape", "must have 0 to 8 dimensions");
  }
  for (uint32_t i = 0; table.shape() != nullptr && i < table.shape()->size(); ++i) {
    column.shape.push_back(flat::element(*table.shape(), i));
  }
  column.scale = table.scale();
  column.offset = table.offset();
  if (!std::isfinite(column.scale) || !std::isfinite(column.offset)) {
    return flat::out_of_range("column scale and offset", "must be finite");
  }
  return column;
}

// A float32 target may be standardised: what it is in its own unit stands beside it.
Status check_scale(const DatasetColumn& column, bool is_target) {
  const bool is_plain = column.scale == 1 && column.offset == 0;
  if (is_target && column.type == ColumnType::float32) {
    if (column.scale > 0) return {};
    return flat::out_of_range("target scale", "must be above 0");
  }
  if (column.type == ColumnType::uint8 || is_plain) return {};
  return flat::out_of_range("column scale and offset", "must be 1 and 0 unless the type is uint8");
}

Status check_labels(ByteView labels, uint32_t classes) {
  for (size_t i = 0; i < labels.size() / sizeof(int32_t); ++i) {
    int32_t label;
    std::memcpy(&label, labels.data() + i * sizeof label, sizeof label);
    if (label < 0 || static_cast<uint32_t>(label) >= classes) {
      return flat::out_of_range(concat({"label ", i}), "is outside [0, classes)");
    }
  }
  return {};
}

}  // namespace

Bytes encode_head(const DatasetHeader& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(message.name);
  std::vector<flatbuffers::Offset<state::DatasetColumn>> columns;
  for (const DatasetColumn& input : message.inputs) columns.push_back(build(builder, input));
  const auto inputs = builder.CreateVector(columns);
  const auto target = build(builder, message.target);
  const wire::Digest32 no_seal = flat::digest(Digest());
  builder.Finish(state::CreateDataset(builder, name, message.examples, inputs, target, message.classes, &no_seal),
                 flat::kSealed);
  const Result<uint64_t> payload = payload_bytes_of(message);
  return flat::finish_head(builder, FrameKind::dataset, payload.value());
}

Result<Decoded<DatasetHeader>> decode_dataset(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::dataset));
  COT_ASSIGN(const auto root, flat::Root<state::Dataset>::verify(frame.header));
  DatasetHeader header;
  COT_ASSIGN(header.name, flat::text(root->name(), "name", limits::kTextBytesMax));
  header.examples = root->examples();
  if (header.examples < 1 || header.examples > limits::kDatasetExamplesMax) {
    return flat::out_of_range("examples", "must be in [1, 2^32]");
  }
  if (root->inputs()->size() < 1 || root->inputs()->size() > limits::kModelInputsMax) {
    return flat::out_of_range("inputs", "must be 1 to 64");
  }
  for (const state::DatasetColumn* input : *root->inputs()) {
    COT_ASSIGN(DatasetColumn column, parse(*input));
    COT_TRY(check_scale(column, false));
    header.inputs.push_back(std::move(column));
  }
  COT_ASSIGN(header.target, parse(*root->target()));
  COT_TRY(check_scale(header.target, true));
  if (header.target.type == ColumnType::uint8) return flat::out_of_range("target", "must be int32 or float32");
  const bool has_labels = header.target.type == ColumnType::int32;
  header.classes = root->classes();
  if (has_labels && header.classes < 1) return flat::out_of_range("classes", "must be at least 1");
  if (!has_labels && header.classes != 0) return flat::out_of_range("classes", "must be 0 with a float32 target");
  COT_ASSIGN(const uint64_t expected, payload_bytes_of(header));
  if (frame.payload.size() != expected) {
    return flat::out_of_range("payload", concat({"has ", frame.payload.size(), " bytes, expected ", expected}));
  }
  if (has_labels) {
    COT_ASSIGN(const uint64_t label_bytes, column_bytes(header.target, header.examples));
    COT_TRY(check_labels(frame.payload.last(label_bytes), header.classes));
  }
  return Decoded<DatasetHeader>{std::move(header), frame.payload};
}

}  // namespace coterie
