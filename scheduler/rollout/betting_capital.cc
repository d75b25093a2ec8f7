#include "scheduler/rollout/betting_capital.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr double kShareMax = 0.95;  // below 1: no value takes all that a gambler has

}  // namespace

BettingCapital::BettingCapital(double mean, const Logs& logs) : mean_(mean), logs_(logs) {
  COT_ASSERT(mean > 0 && mean < 1);
}

void BettingCapital::bet(double value, double times) {
  COT_ASSERT(value >= 0 && value <= 1 && times > 0);
  double stake = kShareMax / mean_;
  for (double& log : logs_) {
    log += times * std::log1p(stake * (value - mean_));
    stake *= M_SQRT1_2;
  }
}

double BettingCapital::log() const {
  const double highest = *std::ranges::max_element(logs_);
  double sum = 0;
  for (const double log : logs_) sum += std::exp(log - highest);
  return highest + std::log(sum / static_cast<double>(logs_.size()));
}

}  // namespace coterie
