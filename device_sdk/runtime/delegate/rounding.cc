#include "device_sdk/runtime/delegate/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace coterie {
namespace {

constexpr double kUnitRoundoff = 0x1p-24;

}  // namespace

double relative_rounding(const InferredTypes& inferred, const ModelGraph& graph, const PlannedPart& part) {
  double longest = 4;
  for (const uint32_t op : part.ops) {
    const uint32_t output = graph.ops[op].outputs[0];
    if (output == kNoTensor) continue;
    longest = std::max(longest, inferred.op_flops[op] / static_cast<double>(elements(inferred.types[output].shape)));
  }
  return std::sqrt(longest) * kUnitRoundoff;
}

std::vector<float> changed(std::span<const float> values, double relative, Prng& prng) {
  std::vector<float> out(values.begin(), values.end());
  for (float& value : out) {
    const double factor = 1 + ((prng.next() & 1) != 0 ? relative : -relative);
    value = static_cast<float>(static_cast<double>(value) * factor);
  }
  return out;
}

std::string short_text(double value) {
  if (std::isnan(value)) return "nan";  // whatever its sign
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string maker_text(const ModelGraph& graph, const PlannedPart& part, uint32_t tensor) {
  for (const uint32_t op : part.ops) {
    if (std::ranges::find(graph.ops[op].outputs, tensor) == graph.ops[op].outputs.end()) continue;
    return std::string(to_string(graph.ops[op].kind)) + " " + graph.ops[op].name;
  }
  return "an op";
}

}  // namespace coterie
