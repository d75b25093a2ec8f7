#include "vertical/regression/regression_checkpoint.h"

#include <algorithm>
#include <string>

namespace coterie::vertical {
namespace {

constexpr size_t kDigestBytes = 32;
constexpr size_t kHeaderBytes = 4 + kDigestBytes + 4 + 4;

template <typename T>
void append_number(Bytes& to, T value) {
  for (size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

template <typename T>
T number_at(ByteView bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= T{bytes[at + i]} << (8 * i);
  return value;
}

}  // namespace

Status check_regression_checkpoint(const RegressionCheckpoint& checkpoint, const RegressionShape& shape,
                                   PartyIndex party) {
  if (checkpoint.steps == 0) return {};
  const uint32_t own = party == 0 ? shape.label_columns : shape.feature_columns;
  const bool fits = checkpoint.steps < RingPlan(shape).steps() && checkpoint.own_weights.size() == own &&
                    checkpoint.peer_weights.size() == shape.columns() - own;
  if (fits) return {};
  return Error(ErrorCode::invalid_argument, "regression: the checkpoint of step " + std::to_string(checkpoint.steps) +
                                                " is none of a training of " + std::to_string(RingPlan(shape).steps()) +
                                                " steps with so many columns");
}

Bytes write_regression_checkpoint(const RegressionCheckpoint& checkpoint) {
  Bytes bytes;
  bytes.reserve(kHeaderBytes + (checkpoint.own_weights.size() + checkpoint.peer_weights.size()) * sizeof(Word));
  append_number(bytes, checkpoint.steps);
  bytes.insert(bytes.end(), checkpoint.opened.bytes.begin(), checkpoint.opened.bytes.end());
  for (const auto* words : {&checkpoint.own_weights, &checkpoint.peer_weights}) {
    append_number(bytes, static_cast<uint32_t>(words->size()));
  }
  for (const auto* words : {&checkpoint.own_weights, &checkpoint.peer_weights}) {
    for (const Word word : *words) append_number(bytes, word);
  }
  return bytes;
}

Result<RegressionCheckpoint> read_regression_checkpoint(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "regression: these bytes are no checkpoint");
  if (bytes.size() < kHeaderBytes) return wrong;
  RegressionCheckpoint checkpoint{.steps = number_at<uint32_t>(bytes, 0)};
  std::ranges::copy(bytes.subspan(4, kDigestBytes), checkpoint.opened.bytes.begin());
  const uint64_t own = number_at<uint32_t>(bytes, kHeaderBytes - 8),
                 peer = number_at<uint32_t>(bytes, kHeaderBytes - 4);
  if (own > kRegressionColumnsMax || peer > kRegressionColumnsMax ||
      bytes.size() != kHeaderBytes + (own + peer) * sizeof(Word)) {
    return wrong;
  }
  for (size_t i = 0; i < own + peer; ++i) {
    (i < own ? checkpoint.own_weights : checkpoint.peer_weights)
        .push_back(number_at<Word>(bytes, kHeaderBytes + i * sizeof(Word)));
  }
  return checkpoint;
}

}  // namespace coterie::vertical
