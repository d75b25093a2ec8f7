#include "fl_server/records/head_record.h"

#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "proto/messages/training_head.h"
#include "proto/messages/training_rules.h"

namespace coterie {
namespace {

constexpr std::array<std::optional<double> EvaluatedHead::*, 3> kFigures = {
    &EvaluatedHead::loss, &EvaluatedHead::accuracy, &EvaluatedHead::mae};
static_assert(kPatternBytesMax == UINT8_MAX + 1);

bool is_figure(std::optional<double> EvaluatedHead::*figure, double value) {
  if (figure == &EvaluatedHead::accuracy) return value >= 0 && value <= 1;
  return std::isfinite(value) && (figure == &EvaluatedHead::loss || value >= 0);
}

// False where the bytes are no head.
bool take_head(ByteView& bytes, EvaluatedHead& head) {
  if (bytes.size() < 2) return false;
  const size_t length = size_t{bytes[0]} + 1;
  const uint32_t figures = bytes[1];
  bytes = bytes.subspan(2);
  if (bytes.size() < length || figures >> kFigures.size() != 0) return false;
  head.output.assign(as_text(bytes.first(length)));
  bytes = bytes.subspan(length);
  for (size_t i = 0; i < kFigures.size(); ++i) {
    if ((figures >> i & 1) == 0) continue;
    double value = 0;
    if (bytes.size() < sizeof value) return false;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    if (!is_figure(kFigures[i], value)) return false;
    head.*kFigures[i] = value;
  }
  return true;
}

}  // namespace

Bytes encode_heads(const std::vector<EvaluatedHead>& heads) {
  Bytes bytes;
  for (const EvaluatedHead& head : heads) {
    COT_ASSERT(!head.output.empty() && head.output.size() <= kPatternBytesMax);
    Bytes values;
    uint32_t figures = 0;
    for (size_t i = 0; i < kFigures.size(); ++i) {
      const std::optional<double>& value = head.*kFigures[i];
      if (!value || !std::isfinite(*value)) continue;
      figures |= 1u << i;
      const auto* const first = reinterpret_cast<const uint8_t*>(&*value);
      values.insert(values.end(), first, first + sizeof *value);
    }
    bytes.push_back(static_cast<uint8_t>(head.output.size() - 1));
    bytes.push_back(static_cast<uint8_t>(figures));
    bytes.insert(bytes.end(), head.output.begin(), head.output.end());
    bytes.insert(bytes.end(), values.begin(), values.end());
  }
  return bytes;
}

Result<std::vector<EvaluatedHead>> decode_heads(ByteView bytes) {
  std::vector<EvaluatedHead> heads;
  bool is_good = !bytes.empty();
  while (is_good && !bytes.empty()) is_good = heads.size() < kHeadsMax && take_head(bytes, heads.emplace_back());
  if (!is_good) return Error(ErrorCode::data_loss, "database: a model's row has heads of no known form");
  return heads;
}

}  // namespace coterie
