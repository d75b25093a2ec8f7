#include "secure/dp/account/tree.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "secure/dp/account/limits.h"
#include "secure/dp/account/number_words.h"

namespace coterie {
namespace {

using namespace account_limits;

double square(uint64_t x) { return static_cast<double>(x) * static_cast<double>(x); }

Status check_count(const char* what, uint64_t count) {
  if (count >= 1 && count <= kTreeStepsMax) return {};
  return Error(ErrorCode::invalid_argument, std::string(what) + " must be from 1 to " + std::to_string(kTreeStepsMax) +
                                                ", is " + std::to_string(count));
}

Status check_noise_multiplier(double multiplier) {
  if (multiplier >= kNoiseMultiplierMin && multiplier <= kNoiseMultiplierMax) return {};
  return Error(ErrorCode::invalid_argument, "the noise multiplier must be from " + number_words(kNoiseMultiplierMin) +
                                                " to " + number_words(kNoiseMultiplierMax) + ", is " +
                                                number_words(multiplier));
}

// The steps i < end with i mod period == start.
uint64_t count_before(uint64_t end, uint64_t start, uint64_t period) {
  return end > start ? (end - start - 1) / period + 1 : 0;
}

// A person takes part at first, first + separation, ...
double periodic_from(uint64_t first, const TreeSchedule& schedule) {
  double sum = 0;
  for (uint64_t size = 1; size <= schedule.steps; size *= 2) {
    const uint64_t leaves = schedule.steps / size * size;  // of the nodes that are done
    if (size <= schedule.separation) {                     // no node holds two
      sum += static_cast<double>(count_before(leaves, first, schedule.separation));
      continue;
    }
    for (uint64_t begin = 0; begin < leaves; begin += size) {
      sum += square(count_before(begin + size, first, schedule.separation) -
                    count_before(begin, first, schedule.separation));
    }
  }
  return sum;
}

double separated(const TreeSchedule& schedule) {
  // As many parts as fit, and in each height of the tree they are put into as few nodes as the separation lets them:
  // the sum of squares is convex, so that is the worst that can happen.
  const uint64_t times = (schedule.steps - 1) / schedule.separation + 1;
  double sum = 0;
  for (uint64_t size = 1; size <= schedule.steps; size *= 2) {
    const uint64_t in_one = (size - 1) / schedule.separation + 1;
    const uint64_t full = std::min(schedule.steps / size, times / in_one);
    const uint64_t rest = full < schedule.steps / size ? times - full * in_one : 0;
    sum += static_cast<double>(full) * square(in_one) + square(rest);
  }
  return sum;
}

}  // namespace

Result<double> tree_squared_sensitivity(const TreeSchedule& schedule) {
  COT_TRY(check_count("the number of steps of a tree", schedule.steps));
  COT_TRY(check_count("the separation of a person's steps", schedule.separation));
  if (schedule.participation == Participation::separated) return separated(schedule);
  double worst = 0;
  for (uint64_t first = 0; first < std::min(schedule.separation, schedule.steps); ++first) {
    worst = std::max(worst, periodic_from(first, schedule));
  }
  return worst;
}

Result<double> tree_rho(const TreeSchedule& schedule, double noise_multiplier) {
  COT_TRY(check_noise_multiplier(noise_multiplier));
  COT_ASSIGN(const double squared, tree_squared_sensitivity(schedule));
  return squared / (2 * noise_multiplier * noise_multiplier);
}

Result<double> single_epoch_tree_rho(uint64_t steps, double noise_multiplier) {
  COT_TRY(check_count("the number of steps of a tree", steps));
  COT_TRY(check_noise_multiplier(noise_multiplier));
  const auto depth = static_cast<double>(std::bit_width(steps));  // ceil(log2(steps + 1))
  return depth / (2 * noise_multiplier * noise_multiplier);
}

}  // namespace coterie
