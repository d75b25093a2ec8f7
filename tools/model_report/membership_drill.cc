#include "tools/model_report/membership_drill.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr double kFalsePositives[] = {0.01, 0.001};

double finite_mean(const std::vector<double>& values) {
  double sum = 0;
  size_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::infinity();
}

SeenShare at_most(const std::vector<double>& sorted, double threshold) {
  return {static_cast<uint64_t>(std::ranges::upper_bound(sorted, threshold) - sorted.begin()), sorted.size()};
}

// The threshold lies right below the loss of the first of the others that may not be taken for a member.
FoundMembers found_at(double rate, const std::vector<double>& members, const std::vector<double>& others) {
  const auto taken = static_cast<size_t>(rate * static_cast<double>(others.size()) + 1e-9);
  FoundMembers made{.false_positives = rate, .taken = {taken, others.size()}, .found = {}};
  if (taken == 0) return made;
  const auto below = std::ranges::lower_bound(members, others[taken]) - members.begin();
  made.found = SeenShare{static_cast<uint64_t>(below), members.size()};
  return made;
}

std::vector<double> negated(std::vector<double> values) {
  for (double& value : values) value = -value;
  return values;
}

}  // namespace

double MembershipDrill::advantage() const { return *true_positives.value() - *false_positives.value(); }

MembershipDrill membership_drill(std::vector<double> members, std::vector<double> others) {
  COT_ASSERT(!members.empty() && !others.empty());
  MembershipDrill drill{.data_name = {}, .members = members.size(), .others = others.size()};
  drill.area = *rank_area(negated(members), negated(others));
  std::ranges::sort(members);
  std::ranges::sort(others);
  drill.member_loss = finite_mean(members);
  drill.other_loss = finite_mean(others);
  // Losses that are all the same are at their mean, however its sum was rounded.
  const double threshold = drill.member_loss * (1 + 1e-12);
  drill.true_positives = at_most(members, threshold);
  drill.false_positives = at_most(others, threshold);
  for (const double rate : kFalsePositives) drill.found.push_back(found_at(rate, members, others));
  return drill;
}

double PrivacyPromise::advantage_max() const {
  // By e^-epsilon, which does not overflow.
  const double inverse = std::exp(-epsilon);
  return std::min(1.0, (1 - inverse + 2 * delta * inverse) / (1 + inverse));
}

double PrivacyPromise::true_positives_max(double false_positives) const {
  const double by_rate = std::exp(epsilon) * false_positives + delta;
  const double by_rest = 1 - (1 - delta - false_positives) * std::exp(-epsilon);
  return std::clamp(std::min(by_rate, by_rest), 0.0, 1.0);
}

bool breaks(const MembershipDrill& drill, const PrivacyPromise& promise) {
  if (drill.advantage_interval().low > promise.advantage_max()) return true;
  return std::ranges::any_of(drill.found, [&promise](const FoundMembers& each) {
    return each.found &&
           wilson_interval(*each.found).low > promise.true_positives_max(wilson_interval(each.taken).high);
  });
}

}  // namespace coterie
