#include "device_sdk/agent/count_examples.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/random.h"
#include "device_sdk/agent/encode_update.h"
#include "proto/messages/analytics_lanes.h"

namespace coterie {
namespace {

constexpr uint64_t kDrawStream = 0x616e616c;  // "anal": no other draw of the seed has this name

// So many of the numbers below `size`, each set of them alike (Floyd; Bentley 1987), ascending.
std::vector<uint64_t> draw(uint64_t size, uint64_t count, uint64_t seed) {
  Prng prng = Prng::derived(seed, kDrawStream);
  std::set<uint64_t> drawn;
  for (uint64_t i = size - count; i < size; ++i) {
    if (const uint64_t one = prng.below(i + 1); !drawn.insert(one).second) drawn.insert(i);
  }
  return {drawn.begin(), drawn.end()};
}

}  // namespace

ExampleCounter::ExampleCounter(const AnalyticsRules& rules, uint64_t size, uint64_t seed)
    : rules_(rules),
      drawn_(draw(size, std::min<uint64_t>(size, rules.values_max), seed)),
      lanes_(lane_count(rules)),
      input_(rules.input_values) {}

Status ExampleCounter::step(ExampleSource& examples) {
  const uint64_t index = drawn_[done_];
  if (index >= examples.size()) {
    return Error(ErrorCode::conflict, "examples: there are " + std::to_string(examples.size()) +
                                          " of them, fewer than when the counting began");
  }
  float target = 0;
  const Example::Place places[] = {input_};
  COT_TRY(examples.read(index, Example(places, {&target, 1})));
  const std::optional<uint64_t> lane = lane_of(rules_, input_, target);
  if (lane) lanes_[*lane] = std::min(static_cast<float>(rules_.lane_max), lanes_[*lane] + 1);
  ++done_;
  return {};
}

Bytes counted_update(const Plan& plan, const Assignment& assignment, const std::vector<float>& lanes) {
  const UpdateHeader header{.round = assignment.round,
                            .model = assignment.model,
                            .encoding = plan.update.encoding,
                            .value_count = lanes.size(),
                            .weight = 1};
  return encode_update(header, lanes);
}

}  // namespace coterie
