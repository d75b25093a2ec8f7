#include "tools/explain/shapley.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace coterie {
namespace {

constexpr size_t kInputsAtOnce = 64;

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// Two inputs, and the ways from one to the other.
class Ways {
 public:
  Ways(AskedModel& model, std::span<const float> input, uint32_t picked, float baseline)
      : model_(model), input_(input), picked_(picked), baseline_(baseline) {
    const Shape& shape = model.input_shape();
    width_ = shape.size() == 3 ? static_cast<size_t>(shape[2]) : 1;
  }

  size_t parts() const { return input_.size() / width_; }

  Status measure_ends() {
    std::vector<float> ends(input_.size(), baseline_);
    ends.insert(ends.end(), input_.begin(), input_.end());
    COT_ASSIGN(const std::vector<double> scores, model_.scores(ends, picked_));
    nothing_ = scores[0];
    whole_ = scores[1];
    return {};
  }

  // Adds to `credits` what each part brings in this order, by its place.
  Status walk(std::span<const size_t> order, std::vector<double>& credits) {
    std::vector<float> at(input_.size(), baseline_), inputs;
    double before = nothing_;
    size_t credited = 0;
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      const auto first = static_cast<std::ptrdiff_t>(order[i] * width_), width = static_cast<std::ptrdiff_t>(width_);
      std::copy(input_.begin() + first, input_.begin() + first + width, at.begin() + first);
      inputs.insert(inputs.end(), at.begin(), at.end());
      if (inputs.size() < kInputsAtOnce * at.size() && i + 2 < order.size()) continue;
      COT_ASSIGN(const std::vector<double> scores, model_.scores(inputs, picked_));
      for (const double score : scores) {
        credits[order[credited++]] += score - before;
        before = score;
      }
      inputs.clear();
    }
    credits[order.back()] += whole_ - before;
    return {};
  }

 private:
  AskedModel& model_;
  std::span<const float> input_;
  const uint32_t picked_;
  const float baseline_;
  size_t width_ = 1;
  double nothing_ = 0, whole_ = 0;
};

}  // namespace

Result<Attribution> attribute_by_shapley(AskedModel& model, std::span<const float> input, uint32_t picked,
                                         const AttributionSettings& settings) {
  Ways ways(model, input, picked, settings.baseline);
  const size_t parts = ways.parts();
  if (parts > kShapleyPartsMax) {
    return bad("shapley is for at most " + std::to_string(kShapleyPartsMax) + " values or pixels; the input has " +
               std::to_string(parts));
  }
  if (settings.orders < 2) return bad("shapley takes two orders or more, or it has no standard error");
  COT_TRY(ways.measure_ends());
  Prng prng(settings.seed);
  std::vector<size_t> order(parts);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<double> mean(parts), squares(parts);
  for (uint32_t i = 0; i < settings.orders; ++i) {
    prng.shuffle(order);
    std::vector<double> credits(parts);
    for (const bool is_reversed : {false, true}) {
      if (is_reversed) std::ranges::reverse(order);
      COT_TRY(ways.walk(order, credits));
    }
    for (size_t part = 0; part < parts; ++part) {  // Welford's sums
      const double seen = credits[part] / 2, apart = seen - mean[part];
      mean[part] += apart / (i + 1);
      squares[part] += apart * (seen - mean[part]);
    }
  }
  const Shape& shape = model.input_shape();
  Attribution made{shape.size() == 3 ? Shape{shape[0], shape[1]} : shape, {mean.begin(), mean.end()}};
  const double count = settings.orders;
  for (const double square : squares)
    made.standard_errors.push_back(static_cast<float>(std::sqrt(square / (count - 1) / count)));
  return made;
}

}  // namespace coterie
