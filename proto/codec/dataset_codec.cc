// Data set frames.
#include "base/checked.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/state_generated.h"

namespace coterie {
namespace {

// Bytes of the payload: examples * (feature elements * 4 + 4).
Result<uint64_t> payload_bytes_of(const DatasetHeader& header) {
  const Result<uint64_t> counted = element_count(header.feature_shape);
  if (!counted) return counted.error().with_context("feature_shape");
  const uint64_t elements = *counted;
  const auto floats = checked_add<uint64_t>(elements, 1);
  const auto row = floats ? checked_multiply<uint64_t>(*floats, 4) : std::nullopt;
  const auto total = row ? checked_multiply(*row, header.examples) : std::nullopt;
  if (!total || *total > limits::kPayloadBytesMax) return flat::out_of_range("data set", "is too large");
  return *total;
}

}  // namespace

Bytes encode_head(const DatasetHeader& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(message.name);
  const auto shape = builder.CreateVector(message.feature_shape);
  builder.Finish(state::CreateDataset(builder, name, message.examples, shape, message.classes));
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
  if (root->feature_shape()->size() < 1 || root->feature_shape()->size() > limits::kModelRankMax) {
    return flat::out_of_range("feature_shape", "must have 1 to 8 dimensions");
  }
  for (uint32_t i = 0; i < root->feature_shape()->size(); ++i) {
    header.feature_shape.push_back(flat::element(*root->feature_shape(), i));
  }
  header.classes = root->classes();
  if (header.classes < 1) return flat::out_of_range("classes", "must be at least 1");
  COT_ASSIGN(const uint64_t expected, payload_bytes_of(header));
  if (frame.payload.size() != expected) {
    return flat::out_of_range("payload", "has " + std::to_string(frame.payload.size()) + " bytes, expected " +
                                             std::to_string(expected));
  }
  const ByteView label_bytes = frame.payload.last(header.examples * 4);
  for (size_t i = 0; i < header.examples; ++i) {
    int32_t label;
    std::memcpy(&label, label_bytes.data() + 4 * i, sizeof label);
    if (label < 0 || static_cast<uint32_t>(label) >= header.classes) {
      return flat::out_of_range("label " + std::to_string(i), "is outside [0, classes)");
    }
  }
  return Decoded<DatasetHeader>{std::move(header), frame.payload};
}

}  // namespace coterie
