#include "device_sdk/agent/example_answer.h"

#include <algorithm>
#include <cmath>

#include "proto/messages/evaluation_lanes.h"

namespace coterie {
namespace {

// -ln of the class's share; what is no number is the worst.
double loss_of_share(double share) {
  const double loss = -std::log(share);
  return loss < kLossMax ? std::max(0.0, loss) : kLossMax;
}

}  // namespace

ExampleAnswer answer_of(std::span<const float> output, uint32_t label, std::span<double> shares) {
  const bool answers = std::ranges::all_of(output, [](float value) { return std::isfinite(value); });
  const auto best = static_cast<uint32_t>(std::ranges::max_element(output) - output.begin());
  double sum = 0;
  for (size_t c = 0; c < output.size(); ++c) {
    shares[c] = answers ? std::exp(static_cast<double>(output[c]) - static_cast<double>(output[best])) : 0;
    sum += shares[c];
  }
  for (double& share : shares) share = answers ? share / sum : 0;
  // An answer with a NaN is wrong for every label.
  return {.predicted = answers ? best : static_cast<uint32_t>(output.size()), .loss = loss_of_share(shares[label])};
}

}  // namespace coterie
