#include "device_sdk/runtime/delegate/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "device_sdk/runtime/delegate/part_gradients.h"
#include "device_sdk/runtime/delegate/rounding.h"

namespace coterie {
namespace {

constexpr uint64_t kSeed = 0x6772616469656e74;  // any

using Values = std::vector<float>;
using Views = std::span<const std::span<const float>>;

// The norm of a - b; infinite where one of them has a number and the other has none.
double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    if (!std::isfinite(difference)) return INFINITY;
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

double norm_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

std::vector<std::span<const float>> views_of(const std::vector<Values>& values) {
  return {values.begin(), values.end()};
}

std::vector<Values> all_changed(Views values, double relative, Prng& prng) {
  std::vector<Values> out;
  for (const std::span<const float> each : values) out.push_back(changed(each, relative, prng));
  return out;
}

std::string mismatch_text(const std::string& tensor, const VerifiedPart& found) {
  return "the gradient of tensor " + tensor + " is off by " + short_text(found.difference) +
         " in norm, rounding explains at most " + short_text(found.bound) + ", and its norm is " +
         short_text(found.largest);
}

}  // namespace

Result<GradientCheck> check_gradients(const Model& model, const PlannedPart& part, uint32_t batch_size,
                                      std::span<const float> values, Views inputs, Views output_gradients, Views seen) {
  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), batch_size));
  const double rounding = relative_rounding(inferred, model.graph(), part);
  COT_ASSIGN(PartGradients ours, PartGradients::create(model, part, batch_size));
  const auto computed = [&](std::span<const float> present, Views given, Views from_outputs,
                            std::vector<Values>& into) -> Status {
    into.clear();
    for (const std::span<const float> each : seen) into.emplace_back(each.size());
    const std::vector<std::span<float>> out(into.begin(), into.end());
    return ours.run(present, given, from_outputs, out);
  };
  GradientCheck check;
  COT_TRY(computed(values, inputs, output_gradients, check.own));
  std::vector<double> moved(seen.size());
  for (uint64_t draw = 0; draw < kVerificationDraws; ++draw) {
    Prng prng = Prng::derived(kSeed, draw);
    const std::vector<Values> other_inputs = all_changed(inputs, rounding, prng);
    const std::vector<Values> other_gradients = all_changed(output_gradients, rounding, prng);
    std::vector<Values> gradients;
    COT_TRY(computed(changed(values, rounding, prng), views_of(other_inputs), views_of(other_gradients), gradients));
    for (size_t i = 0; i < seen.size(); ++i) moved[i] = std::max(moved[i], distance(gradients[i], check.own[i]));
  }
  const auto share = [](const VerifiedPart& found) { return found.bound > 0 ? found.difference / found.bound : 0; };
  for (size_t i = 0; i < seen.size(); ++i) {
    VerifiedPart found{.difference = distance(seen[i], check.own[i]), .largest = norm_of(check.own[i])};
    found.bound = std::min(kVerificationSafety * moved[i] + kVerificationFloor * rounding * found.largest,
                           kGradientBoundMax * found.largest);
    const bool is_right = found.difference == 0 || found.difference <= found.bound;
    if (!is_right && check.mismatch.empty()) {
      check.mismatch = mismatch_text(model.graph().tensors[part.gradients[i]].name, found);
    }
    if (i == 0 || share(found) > share(check.nearest)) check.nearest = found;
  }
  return check;
}

}  // namespace coterie
