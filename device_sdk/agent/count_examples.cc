#include "device_sdk/agent/count_examples.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/random.h"
#include "device_sdk/agent/encode_update.h"
#include "proto/messages/analytics_lanes.h"

namespace coterie {
namespace {

constexpr uint64_t kDrawStream = 0x616e616c;  // "anal": no other draw of the seed has this name

// So many of the numbers below `size`, each set of them alike (Floyd; Bentley 1987), ascending.
std::set<uint64_t> draw(uint64_t size, uint64_t count, uint64_t seed) {
  Prng prng = Prng::derived(seed, kDrawStream);
  std::set<uint64_t> drawn;
  for (uint64_t i = size - count; i < size; ++i) {
    if (const uint64_t one = prng.below(i + 1); !drawn.insert(one).second) drawn.insert(i);
  }
  return drawn;
}

}  // namespace

Result<std::vector<float>> count_examples(const AnalyticsRules& rules, ExampleSource& examples, uint64_t seed) {
  std::vector<float> lanes(lane_count(rules)), input(rules.input_values);
  float target = 0;
  const Example::Place places[] = {input};
  const Example example(places, {&target, 1});
  const auto most = static_cast<float>(rules.lane_max);
  const uint64_t size = examples.size(), count = std::min<uint64_t>(size, rules.values_max);
  for (const uint64_t index : draw(size, count, seed)) {
    COT_TRY(examples.read(index, example));
    const std::optional<uint64_t> lane = lane_of(rules, input, target);
    if (lane) lanes[*lane] = std::min(most, lanes[*lane] + 1);
  }
  return lanes;
}

Result<Bytes> counted_update(const Plan& plan, const Assignment& assignment, ExampleSource& examples, uint64_t seed) {
  COT_ASSIGN(const std::vector<float> lanes, count_examples(*plan.analytics, examples, seed));
  const UpdateHeader header{.round = assignment.round,
                            .model = assignment.model,
                            .encoding = plan.update.encoding,
                            .value_count = lanes.size(),
                            .weight = 1};
  return encode_update(header, lanes);
}

}  // namespace coterie
