#include "device_sdk/watch/check.h"

#include <algorithm>
#include <cmath>

#include "device_sdk/watch/range_count.h"

namespace coterie {
namespace {

constexpr double kAny = kAnyNumber;
constexpr double kPercent = 100;
constexpr uint64_t kDeadSteps = 50;
constexpr uint64_t kNormsMin = 8;       // fewer say nothing about what is usual
constexpr double kDeviationMin = 0.01;  // of the median: where all norms are alike, the next is no outlier

// --- settings: name, range, standard
constexpr CheckSetting kAbove[] = {{"mean_magnitude_above", 0, kAny},
                                   {"max_above", -kAny, kAny},
                                   {"min_above", -kAny, kAny},
                                   {"mean_above", -kAny, kAny}};
constexpr CheckSetting kBelow[] = {{"mean_magnitude_below", 0, kAny},
                                   {"max_below", -kAny, kAny},
                                   {"min_below", -kAny, kAny},
                                   {"mean_below", -kAny, kAny}};
constexpr CheckSetting kVanishing[] = {{"mean_magnitude_below", 0, kAny, 1e-9},
                                       {"max_below", -kAny, kAny},
                                       {"min_below", -kAny, kAny},
                                       {"mean_below", -kAny, kAny}};
constexpr CheckSetting kRange[] = {{"range_start", -kAny, kAny, {}, false},
                                   {"range_end", -kAny, kAny, {}, false},
                                   {"percent_below", 0, kPercent},
                                   {"percent_above", 0, kPercent},
                                   {"span_below", 0, kAny},
                                   {"span_above", 0, kAny}};
constexpr CheckSetting kZeros[] = {{"zero_percent_from", 0, kPercent, kPercent}};
constexpr CheckSetting kInitial[] = {
    {"zero_percent_from", 0, kPercent, kPercent}, {"max_above", -kAny, kAny}, {"min_below", -kAny, kAny}};
constexpr CheckSetting kChangeAbove[] = {{"ratio_above", 0, kAny, 0.1}};
constexpr CheckSetting kChangeBelow[] = {{"ratio_below", 0, kAny, 1e-4}};
constexpr CheckSetting kClose[] = {{"relative_tolerance", 0, 1, 1e-5}, {"absolute_tolerance", 0, kAny, 1e-8, false}};
constexpr CheckSetting kDead[] = {{"dead_share_above", 0, 1, 0.95}};
constexpr CheckSetting kFall[] = {
    {"fall_below", 0, 1, 0.01}, {"settled_below", 0, 1, 0.5, false}, {"window_steps", 0, 1e9, 0, false, true}};
constexpr CheckSetting kNorm[] = {{"deviations_above", 0, 1e6, 6}, {"window_looks", 8, 1024, 32, false, true}};
constexpr CheckSetting kDrift[] = {{"distance_above", 0, 1, 0.3}, {"window_examples", 0, 1e9, 0, false, true}};

// --- conditions
std::optional<Firing> if_above(const CheckSetting& setting, std::optional<double> threshold, double value) {
  if (!threshold || !(value > *threshold)) return std::nullopt;
  return Firing{setting.name, ">", value, *threshold};
}

std::optional<Firing> if_below(const CheckSetting& setting, std::optional<double> threshold, double value) {
  if (!threshold || !(value < *threshold)) return std::nullopt;
  return Firing{setting.name, "<", value, *threshold};
}

bool compares(const Seen& seen) { return seen.now.count > 0 && seen.now.is_finite(); }

std::optional<Firing> overflow(CheckValues, const Seen& seen) {
  if (seen.now.is_finite()) return std::nullopt;
  return Firing{{}, ">", static_cast<double>(seen.now.non_finite()), 0};
}

std::optional<Firing> operator_overflow(CheckValues values, const Seen& seen) {
  return seen.read_finite ? overflow(values, seen) : std::nullopt;
}

double zero_percent(const TensorStatistics& of) {
  return kPercent * static_cast<double>(of.zeros) / static_cast<double>(of.count);
}

std::optional<Firing> all_zero(CheckValues values, const Seen& seen) {
  if (!compares(seen) || !values[0] || zero_percent(seen.now) < *values[0]) return std::nullopt;
  return Firing{kZeros[0].name, ">=", zero_percent(seen.now), *values[0]};
}

std::optional<Firing> initial_weight(CheckValues values, const Seen& seen) {
  if (!compares(seen)) return std::nullopt;
  if (const auto fired = all_zero(values, seen)) return fired;
  if (const auto fired = if_above(kInitial[1], values[1], seen.now.max)) return fired;
  return if_below(kInitial[2], values[2], seen.now.min);
}

template <typename If>
std::optional<Firing> first_of(std::span<const CheckSetting> settings, CheckValues values, const Seen& seen,
                               const If& compare) {
  if (!compares(seen)) return std::nullopt;
  const double of[] = {seen.now.magnitude_mean(), seen.now.max, seen.now.min, seen.now.mean()};
  for (size_t i = 0; i < settings.size(); ++i) {
    if (const auto fired = compare(settings[i], values[i], of[i])) return fired;
  }
  return std::nullopt;
}

std::optional<Firing> too_large(CheckValues values, const Seen& seen) {
  return first_of(kAbove, values, seen, &if_above);
}

std::optional<Firing> too_small(CheckValues values, const Seen& seen) {
  return first_of(kBelow, values, seen, &if_below);
}

std::optional<Firing> out_of_range(CheckValues values, const Seen& seen) {
  if (!compares(seen)) return std::nullopt;
  if (values[2] || values[3]) {
    const uint64_t inside = count_within(seen.tensor, values[0].value_or(-INFINITY), values[1].value_or(INFINITY));
    const double percent = kPercent * static_cast<double>(inside) / static_cast<double>(seen.now.count);
    if (const auto fired = if_below(kRange[2], values[2], percent)) return fired;
    if (const auto fired = if_above(kRange[3], values[3], percent)) return fired;
  }
  const double span = seen.now.max - seen.now.min;
  if (const auto fired = if_below(kRange[4], values[4], span)) return fired;
  return if_above(kRange[5], values[5], span);
}

bool has_moved(const Seen& seen) { return compares(seen) && !seen.before.empty(); }

std::optional<Firing> change_too_large(CheckValues values, const Seen& seen) {
  return has_moved(seen) ? if_above(kChangeAbove[0], values[0], seen.change.ratio()) : std::nullopt;
}

std::optional<Firing> change_too_small(CheckValues values, const Seen& seen) {
  return has_moved(seen) ? if_below(kChangeBelow[0], values[0], seen.change.ratio()) : std::nullopt;
}

std::optional<Firing> unchanged(CheckValues values, const Seen& seen) {
  if (seen.before.empty() || seen.is_rate_small) return std::nullopt;
  if (!is_close(seen.values, seen.before, *values[0], *values[1])) return std::nullopt;
  return Firing{kClose[0].name, "<=", seen.change.ratio(), *values[0]};
}

std::optional<Firing> dead_relu(CheckValues values, const Seen& seen) {
  return compares(seen) ? if_above(kDead[0], values[0], seen.dead_share) : std::nullopt;
}

std::optional<Firing> not_decreasing(CheckValues values, const Seen& seen) {
  if (!seen.loss_before || seen.loss < *values[1] * seen.loss_first) return std::nullopt;
  return if_below(kFall[0], values[0], (*seen.loss_before - seen.loss) / std::abs(*seen.loss_before));
}

std::optional<Firing> norm_outlier(CheckValues values, const Seen& seen) {
  if (seen.norms < kNormsMin) return std::nullopt;
  const double deviation = std::max(seen.norm_deviation, kDeviationMin * seen.norm_median);
  if (deviation <= 0) return std::nullopt;
  return if_above(kNorm[0], values[0], (seen.norm - seen.norm_median) / deviation);
}

std::optional<Firing> label_drift(CheckValues values, const Seen& seen) {
  return if_above(kDrift[0], values[0], seen.label_distance);
}

using enum Subject;
constexpr Check kChecks[] = {
    {"operator_overflow", op, "an op made a NaN or an infinity of finite operands", {}, operator_overflow},
    {"tensor_overflow", tensor, "NaN + infinities > 0", {}, overflow},
    {"weight_overflow", weight, "NaN + infinities > 0", {}, overflow},
    {"gradient_exploding", gradient, "NaN + infinities > 0", {}, overflow},
    {"tensor_all_zero", tensor, "zeros >= zero_percent_from % of the elements", kZeros, all_zero},
    {"tensor_too_large", tensor, "mean|x|, max, min or mean > a threshold", kAbove, too_large},
    {"tensor_too_small", tensor, "mean|x|, max, min or mean < a threshold", kBelow, too_small},
    {"tensor_range", tensor, "elements in [range_start, range_end] < or > a percentage; max - min < or > a span",
     kRange, out_of_range},
    {"activation_range", activation, "as tensor_range", kRange, out_of_range},
    {"weight_initial", Subject::initial, "zeros >= zero_percent_from %; max > or min < a threshold", kInitial,
     initial_weight},
    {"weight_too_large", weight, "as tensor_too_large", kAbove, too_large},
    {"weight_too_small", weight, "as tensor_too_small", kBelow, too_small},
    {"weight_change_too_large", weight, "mean|x - p| / (mean|p| + 1e-9) > ratio_above", kChangeAbove, change_too_large},
    {"weight_change_too_small", weight, "mean|x - p| / (mean|p| + 1e-9) < ratio_below", kChangeBelow, change_too_small},
    {"weight_unchanged", weight,
     "|x - p| <= absolute_tolerance + relative_tolerance |p| for all elements, and the learning rate is not below 1 % "
     "of the largest so far",
     kClose, unchanged},
    {"gradient_too_large", gradient, "as tensor_too_large", kAbove, too_large},
    {"gradient_vanishing", gradient, "as tensor_too_small", kVanishing, too_small},
    {"dead_relu", relu, "units that are zero for the whole batch > dead_share_above of all", kDead, dead_relu,
     kDeadSteps},
    {"loss_not_decreasing", loss,
     "a window's mean is less than fall_below of the one before below it, and not below settled_below of the first; in "
     "the first window, each loss of the last quarter is above twice the mean of the first (at step 32, 64, 128, ...)",
     kFall, not_decreasing},
    {"update_norm_outlier", update, "norm > median + deviations_above times the median deviation of the looks before",
     kNorm, norm_outlier},
    {"label_drift", labels, "half the sum of |share now - share before| over the classes > distance_above", kDrift,
     label_drift},
};

}  // namespace

std::span<const Check> all_checks() { return kChecks; }

const Check* find_check(std::string_view name) {
  const auto found = std::ranges::find(kChecks, name, &Check::name);
  return found == std::end(kChecks) ? nullptr : &*found;
}

std::vector<std::optional<double>> standard_values(const Check& check) {
  std::vector<std::optional<double>> values;
  for (const CheckSetting& setting : check.settings) values.push_back(setting.standard);
  return values;
}

size_t setting_index(const Check& check, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(check.settings, name, &CheckSetting::name) - check.settings.begin());
}

}  // namespace coterie
