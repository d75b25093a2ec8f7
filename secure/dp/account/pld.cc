#include "secure/dp/account/pld.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "secure/dp/account/limits.h"
#include "secure/dp/account/log_math.h"
#include "secure/dp/account/tilted_sum.h"

namespace coterie {
namespace {

using account_limits::kPldPointsMax;

constexpr double kEpsilonError = 2e-4;  // what discretization may add to epsilon; a large one may get as much a tenth
constexpr double kStepMax = 1e-3;       // likewise
constexpr double kLostShare = 1e-4;     // of delta, for what is cut off
constexpr double kRaisedShare = 1e-5;   // of all mass, raised to the lower end of its range: K grows by no more
constexpr double kSpoiledShare = 0.01;  // of delta: more, and it is computed again
constexpr double kRoughPoints = 2048;   // to find the tilt with

// A law, how often, and with which sampling.
struct Part {
  std::unique_ptr<LossLaw> law;
  double rate = 1;
  double count = 1;
};

// All unsampled Gaussian releases are one.
Result<std::vector<Part>> parts_of(const Composition& composition) {
  std::vector<Part> parts;
  double precision_sum = 0;  // sum of 1 / noise_multiplier^2
  for (const Releases& releases : composition) {
    if (releases.sampling.kind() == Sampling::Kind::without_replacement && releases.sampling.rate() < 1) {
      return Error(ErrorCode::invalid_argument,
                   "no loss distribution is known that dominates sampling without replacement");
    }
    const double rate = releases.sampling.rate();
    const auto steps = static_cast<double>(releases.steps);
    std::optional<double> precision = gaussian_precision(releases.noise);
    if (!precision) precision = rounded_gaussian_precision(releases.noise);
    if (precision && rate == 1) {
      precision_sum += steps * *precision;
      continue;
    }
    COT_ASSIGN(std::unique_ptr<LossLaw> law, loss_law(releases.noise));
    parts.push_back({std::move(law), rate, steps});
  }
  if (precision_sum > 0) {
    COT_ASSIGN(std::unique_ptr<LossLaw> law, loss_law(GaussianNoise{1 / std::sqrt(precision_sum)}));
    parts.push_back({std::move(law), 1, 1});
  }
  return parts;
}

class OneDirection {
 public:
  OneDirection(std::span<const Part> parts, Direction direction, double delta) : parts_(parts), delta_(delta) {
    double count = 0;
    for (const Part& part : parts) count += part.count;
    for (const Part& part : parts) {
      releases_.push_back({part.law.get(), part.rate, part.rate == 1 ? Direction::person_leaves : direction});
      ranges_.push_back(range_of(releases_.back(), kLostShare * delta / count, kRaisedShare / count));
    }
  }

  // Every answer is an upper bound, so the least of some is one. The first tilt is the best where the sum is nearly
  // normal. Where few large losses decide, its mean lies far above epsilon, and errors are large beside what is left of
  // delta there: then others are tried with more digits, from the one whose mean is epsilon down, as the window of a
  // lesser tilt loses less.
  double epsilon() const {
    const std::vector<RepeatedPmf> rough = on_grids([this](size_t i) { return width(i) / kRoughPoints; });
    double tilt = best_tilt(rough, delta_);
    SumEpsilon best = on_fine_grid(rough, tilt, Precision::standard);
    if (best.spoiled <= kSpoiledShare * delta_) return best.epsilon;
    if (std::isfinite(best.epsilon)) tilt = tilt_with_mean(rough, best.epsilon);
    for (const double share : {1.0, 0.9, 0.8}) {
      const SumEpsilon other = on_fine_grid(rough, share * tilt, Precision::extended);
      best.epsilon = std::min(best.epsilon, other.epsilon);
      if (other.spoiled <= kSpoiledShare * delta_) break;
    }
    return best.epsilon;
  }

 private:
  SumEpsilon on_fine_grid(std::span<const RepeatedPmf> rough, double tilt, Precision precision) const {
    const double step = step_for(tilt, cumulant(rough, tilt));
    return epsilon_of_sum(on_grids([step](size_t) { return step; }), tilt, delta_, kPldPointsMax, precision);
  }

  double width(size_t i) const { return ranges_[i].high - ranges_[i].low; }

  // The cost of a step, count x (tilt + 1) x step^2 / 8 at most (the chord of e^(tilt l) between grid points), is
  // kEpsilonError, unless the window would have too many points. In step with the first atoms, which then are not
  // rounded.
  double step_for(double tilt, const Cumulant& at_tilt) const {
    double count = 0;
    double widest = 6 * std::sqrt(at_tilt.variance);
    double lattice = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      count += parts_[i].count;
      widest = std::max(widest, width(i));
      if (lattice == 0) lattice = lattice_of(i);
    }
    const double scale = std::max(1.0, at_tilt.mean / 10);
    double step = std::min(kStepMax * scale, std::sqrt(8 * kEpsilonError * scale / (count * (tilt + 1))));
    step = std::max(step, widest / (static_cast<double>(kPldPointsMax) - 4));
    return lattice > step ? lattice / std::ceil(lattice / step) : step;
  }

  // Sampling bends the losses, and only that of the highest atom is met.
  double lattice_of(size_t i) const {
    if (parts_[i].rate == 1) return parts_[i].law->lattice();
    return parts_[i].law->lattice() > 0 ? std::abs(ranges_[i].high) : 0;
  }

  template <typename StepOf>
  std::vector<RepeatedPmf> on_grids(StepOf step_of) const {
    std::vector<RepeatedPmf> pmfs;
    for (size_t i = 0; i < parts_.size(); ++i) {
      pmfs.push_back({discretize(releases_[i], ranges_[i], step_of(i)), parts_[i].count});
    }
    return pmfs;
  }

  std::span<const Part> parts_;
  double delta_;
  std::vector<SampledLaw> releases_;
  std::vector<LossRange> ranges_;
};

}  // namespace

Result<double> pld_epsilon(const Composition& composition, double delta) {
  COT_ASSIGN(const std::vector<Part> parts, parts_of(composition));
  const bool is_rounded = std::ranges::any_of(
      composition, [](const Releases& releases) { return rounded_gaussian_precision(releases.noise).has_value(); });
  // A vector of rounded noise has no worst law that is known. It is bounded by the continuous one, and pays this slack
  // (ADR 69).
  const double slack = is_rounded ? kRoundedSlack : 0;
  delta *= 1 - slack;
  double epsilon = OneDirection(parts, Direction::person_leaves, delta).epsilon();
  if (std::ranges::any_of(parts, [](const Part& part) { return part.rate < 1; })) {
    // With sampling the two neighbours are not alike: both directions must hold. Without it one is the mirror of the
    // other.
    epsilon = std::max(epsilon, OneDirection(parts, Direction::person_joins, delta).epsilon());
  }
  return epsilon * (1 + 1e-12) + slack;  // the rounding of the grid's own losses
}

}  // namespace coterie
