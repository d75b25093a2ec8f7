#include "device_sdk/client/opening_key.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coterie {
namespace {

constexpr std::string_view kMark = "analytics places";
constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kFields = 3;
static_assert(kMark.size() == 16);

// From `first` to before `end` of the input, or the target, whether it is read as a class or as a number. All of an
// example: from 0 to kNone.
struct LookedAt {
  uint32_t first = kNone, end = kNone;
  uint32_t missing = kNone;  // and this one
  bool is_all() const { return first == 0 && end == kNone; }
  bool has(uint32_t number) const { return number != kNone && number >= first && number < end; }
};

LookedAt looked_at(const AnalyticsRules& rules) {
  if (rules.runs_models()) return {.first = 0};
  if (rules.source != AnalyticsSource::feature) return {};
  return {.first = rules.feature,
          .end = rules.feature + rules.feature_width(),
          .missing = rules.missing_feature.value_or(kNone)};
}

Digest encoded(const LookedAt& at) {
  Digest key{};
  std::ranges::copy(kMark, key.bytes.begin());
  const uint32_t fields[kFields] = {at.first, at.end, at.missing};
  for (size_t i = 0; i < 4 * kFields; ++i) {
    key.bytes[kMark.size() + i] = static_cast<uint8_t>(fields[i / 4] >> 8 * (i % 4));
  }
  return key;
}

std::optional<LookedAt> decoded(const Digest& key) {
  if (!std::equal(kMark.begin(), kMark.end(), key.bytes.begin())) return {};
  uint32_t fields[kFields] = {};
  for (size_t i = 0; i < 4 * kFields; ++i) fields[i / 4] |= uint32_t{key.bytes[kMark.size() + i]} << 8 * (i % 4);
  return LookedAt{.first = fields[0], .end = fields[1], .missing = fields[2]};
}

}  // namespace

Digest opening_key(const Plan& plan, const Assignment& assignment) {
  return plan.analytics ? encoded(looked_at(*plan.analytics)) : assignment.model;
}

bool share_openings(const Digest& one, const Digest& other) {
  if (one == other) return true;
  const std::optional<LookedAt> a = decoded(one), b = decoded(other);
  if (!a || !b) return false;
  if (a->is_all() || b->is_all()) return true;
  if (a->first == kNone || b->first == kNone) return false;
  // Two questions about one column share their count, in whatever words they are asked: answers to both say more of it
  // than one.
  const bool overlap = a->first < b->end && b->first < a->end;
  return overlap || a->has(b->missing) || b->has(a->missing) || (a->missing != kNone && a->missing == b->missing);
}

}  // namespace coterie
