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

}  // namespace

std::vector<uint64_t> drawn_examples(uint64_t size, uint64_t most, uint64_t seed) {
  const uint64_t count = std::min(size, most);
  Prng prng = Prng::derived(seed, kDrawStream);
  std::set<uint64_t> drawn;
  for (uint64_t i = size - count; i < size; ++i) {
    if (const uint64_t one = prng.below(i + 1); !drawn.insert(one).second) drawn.insert(i);
  }
  return {drawn.begin(), drawn.end()};
}

Status check_has(const ExampleSource& examples, uint64_t index) {
  if (index < examples.size()) return {};
  return Error(ErrorCode::conflict, "examples: there are " + std::to_string(examples.size()) +
                                        " of them, fewer than when the counting began");
}

ExampleCounter::ExampleCounter(const AnalyticsRules& rules, uint64_t size, uint64_t seed)
    : rules_(rules),
      drawn_(drawn_examples(size, rules.values_max, seed)),
      lanes_(lane_count(rules)),
      input_(rules.input_values) {}

Status ExampleCounter::step(ExampleSource& examples) {
  const uint64_t index = drawn_[done_];
  COT_TRY(check_has(examples, index));
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
