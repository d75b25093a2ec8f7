#include "vertical/trees/gradients.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "base/assert.h"

namespace coterie::vertical {
namespace {

constexpr float kEps = 1e-16f;
constexpr double kScale = 1099511627776.0;  // 2^40
constexpr double kGradientMax = 2097152.0;  // 2^21; labels are below kLabelMax, and eta is at most 1

double real(int128 sum) { return static_cast<double>(sum) / kScale; }

int128 fixed(float value) {
  const double scaled = std::nearbyint(static_cast<double>(value) * kScale);
  return static_cast<int128>(static_cast<int64_t>(std::clamp(scaled, -kGradientMax * kScale, kGradientMax * kScale)));
}

float sigmoid(float margin) { return 1.0f / (std::exp(std::min(-margin, 88.7f)) + 1.0f + kEps); }

void softmax(std::span<float> margins) {
  // Out of all exponents, so that none overflows.
  const float largest = *std::ranges::max_element(margins);
  double sum = 0;
  for (float& margin : margins) {
    margin = std::exp(margin - largest);
    sum += static_cast<double>(margin);
  }
  for (float& margin : margins) margin /= static_cast<float>(sum);
}

}  // namespace

Status check_labels(const TreeSettings& settings, std::span<const float> labels) {
  for (size_t row = 0; row < labels.size(); ++row) {
    const float label = labels[row];
    const bool fits =
        settings.objective == TreeObjective::squared_error
            ? std::fabs(label) < kLabelMax
            : label >= 0 && label == std::floor(label) &&
                  label < (settings.objective == TreeObjective::multi_softprob ? static_cast<float>(settings.classes)
                                                                               : 2.0f);
    if (!fits) {
      return Error(ErrorCode::invalid_argument,
                   "trees: the label of row " + std::to_string(row) + " does not fit the objective");
    }
  }
  return {};
}

float base_margin(TreeObjective objective) { return objective == TreeObjective::binary_logistic ? 0.0f : 0.5f; }

std::vector<std::vector<SumPair>> gradients(const TreeSettings& settings, std::span<const float> labels,
                                            std::span<const float> margins) {
  const size_t classes = settings.classes;
  COT_ASSERT(margins.size() == labels.size() * classes);
  std::vector<std::vector<SumPair>> all(classes, std::vector<SumPair>(labels.size()));
  std::vector<float> p(classes);
  for (size_t row = 0; row < labels.size(); ++row) {
    std::ranges::copy(margins.subspan(row * classes, classes), p.begin());
    switch (settings.objective) {
      case TreeObjective::binary_logistic:
        p[0] = sigmoid(p[0]);
        // First and second derivative of the loss by the margin (Chen and Guestrin 2016, section 2.2).
        all[0][row] = {fixed(p[0] - labels[row]), fixed(std::max(p[0] * (1.0f - p[0]), kEps))};
        break;
      case TreeObjective::multi_softprob:
        softmax(p);
        for (size_t k = 0; k < classes; ++k) {
          const float target = labels[row] == static_cast<float>(k) ? 1.0f : 0.0f;
          // XGBoost doubles the second derivative of a softmax: a bound of the whole Hessian by its diagonal.
          all[k][row] = {fixed(p[k] - target), fixed(std::max(2.0f * p[k] * (1.0f - p[k]), kEps))};
        }
        break;
      case TreeObjective::squared_error: all[0][row] = {fixed(p[0] - labels[row]), fixed(1.0f)}; break;
    }
  }
  return all;
}

size_t sum_bits(TreeObjective objective, uint32_t rows) {
  const size_t gradient_bits = objective == TreeObjective::squared_error ? 21 : 0;
  return kGradientScaleBits + gradient_bits + static_cast<size_t>(std::bit_width(rows)) + 2;
}

void scores_of_margins(const TreeSettings& settings, std::span<float> margins) {
  switch (settings.objective) {
    case TreeObjective::binary_logistic:
      for (float& margin : margins) margin = sigmoid(margin);
      break;
    case TreeObjective::multi_softprob:
      for (size_t i = 0; i < margins.size(); i += settings.classes) softmax(margins.subspan(i, settings.classes));
      break;
    case TreeObjective::squared_error: break;
  }
}

float node_gain(const SumPair& sum, const TreeSettings& settings) {
  const double g = real(sum.first);
  const double h = real(sum.second);
  return h <= 0 ? 0.0f : static_cast<float>((g * g) / (h + settings.lambda));
}

bool heavy_enough(const SumPair& sum, const TreeSettings& settings) {
  return real(sum.second) >= settings.min_child_weight;
}

float leaf_weight(const SumPair& sum, const TreeSettings& settings) {
  const double h = real(sum.second);
  if (!heavy_enough(sum, settings) || h <= 0) return 0.0f;
  return static_cast<float>(-real(sum.first) / (h + settings.lambda)) * settings.eta;
}

float split_gain(const SumPair& left, const SumPair& node, const TreeSettings& settings) {
  const SumPair right = node - left;
  if (!heavy_enough(left, settings) || !heavy_enough(right, settings)) return 0.0f;
  return (node_gain(left, settings) + node_gain(right, settings)) - node_gain(node, settings);
}

}  // namespace coterie::vertical
