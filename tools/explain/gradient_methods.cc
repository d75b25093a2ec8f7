#include "tools/explain/gradient_methods.h"

#include <algorithm>

#include "base/random.h"

namespace coterie {
namespace {

constexpr uint32_t kPointsAtOnce = 16;

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// The mean of the gradients at so many points; `point` writes the i-th.
template <typename Point>
Result<std::vector<double>> mean_gradient(AskedModel& model, uint32_t picked, uint32_t points, const Point& point) {
  const size_t size = model.input_size();
  std::vector<double> mean(size);
  for (uint32_t from = 0; from < points; from += kPointsAtOnce) {
    std::vector<float> inputs(std::min(kPointsAtOnce, points - from) * size);
    for (size_t i = 0; i * size < inputs.size(); ++i) {
      point(from + static_cast<uint32_t>(i), std::span(inputs).subspan(i * size, size));
    }
    COT_ASSIGN(const std::vector<float> slopes, model.gradients(inputs, picked));
    for (size_t i = 0; i < slopes.size(); ++i) mean[i % size] += static_cast<double>(slopes[i]) / points;
  }
  return mean;
}

Attribution shaped(const AskedModel& model, const std::vector<double>& values) {
  return {model.input_shape(), std::vector<float>(values.begin(), values.end())};
}

}  // namespace

Result<Attribution> attribute_by_gradient(AskedModel& model, std::span<const float> input, uint32_t picked,
                                          const AttributionSettings&) {
  COT_ASSIGN(std::vector<float> slopes, model.gradients(input, picked));
  return Attribution{model.input_shape(), std::move(slopes)};
}

Result<Attribution> attribute_by_smooth_gradient(AskedModel& model, std::span<const float> input, uint32_t picked,
                                                 const AttributionSettings& settings) {
  if (settings.samples < 1) return bad("there must be a sample");
  const auto [low, high] = std::ranges::minmax(input);
  const double deviation = static_cast<double>(settings.noise) * (static_cast<double>(high) - static_cast<double>(low));
  Prng prng(settings.seed);
  COT_ASSIGN(const std::vector<double> mean,
             mean_gradient(model, picked, settings.samples, [&](uint32_t, std::span<float> at) {
               for (size_t j = 0; j < at.size(); ++j) {
                 at[j] = static_cast<float>(static_cast<double>(input[j]) + deviation * prng.normal());
               }
             }));
  return shaped(model, mean);
}

Result<Attribution> attribute_by_integrated_gradients(AskedModel& model, std::span<const float> input, uint32_t picked,
                                                      const AttributionSettings& settings) {
  if (settings.steps < 1) return bad("there must be a step");
  const auto from = static_cast<double>(settings.baseline);
  COT_ASSIGN(std::vector<double> mean,
             mean_gradient(model, picked, settings.steps, [&](uint32_t i, std::span<float> at) {
               const double share = (i + 0.5) / settings.steps;
               for (size_t j = 0; j < at.size(); ++j) {
                 at[j] = static_cast<float>(from + share * (static_cast<double>(input[j]) - from));
               }
             }));
  for (size_t j = 0; j < mean.size(); ++j) mean[j] *= static_cast<double>(input[j]) - from;
  return shaped(model, mean);
}

}  // namespace coterie
