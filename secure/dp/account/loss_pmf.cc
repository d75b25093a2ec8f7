#include "secure/dp/account/loss_pmf.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "secure/dp/account/log_math.h"

namespace coterie {
namespace {

constexpr double kLarge = 36;  // e^-36 is below what a double adds to 1
constexpr double kRounding = 0x1p-53;

// log(1 - q + q e^l)
double sampled_loss(double loss, double q) {
  if (q == 1) return loss;
  if (loss > kLarge) return loss + std::log(q) + std::log1p((1 - q) / q * std::exp(-loss));
  return std::log1p(q * std::expm1(loss));
}

// Its inverse; -infinity at and below log(1 - q).
double unsampled_loss(double loss, double q) {
  if (q == 1) return loss;
  if (loss > kLarge) return loss - std::log(q) + std::log1p(-(1 - q) * std::exp(-loss));
  const double ratio = std::expm1(loss) / q;
  return ratio > -1 ? std::log1p(ratio) : -kInfinity;
}

// A pair of masses as the observer of one direction sees it.
struct Observed {
  double p = 0;  // under what is observed
  double q = 0;  // under its neighbour
};

Observed observed(const LossMass& mass, const SampledLaw& release) {
  const double mixed = release.rate == 1 ? mass.with : (1 - release.rate) * mass.without + release.rate * mass.with;
  return release.direction == Direction::person_leaves ? Observed{mixed, mass.without} : Observed{mass.without, mixed};
}

double observed_loss(double loss, const SampledLaw& release) {
  const double sampled = sampled_loss(loss, release.rate);
  return release.direction == Direction::person_leaves ? sampled : -sampled;
}

class Grid {
 public:
  Grid(const LossRange& range, double step) {
    pmf_.step = step;
    pmf_.first = static_cast<int64_t>(std::floor(range.low / step));
    // An atom at the top may be beyond its point by a rounding. Near zero a loss is what it is, however small.
    const double high = range.high / step;
    const bool is_on_grid = std::abs(high) > 0.5 && std::abs(high - std::round(high)) < kOnGrid;
    const auto top = static_cast<int64_t>(is_on_grid ? std::round(high) : std::ceil(high));
    const auto last = std::max(pmf_.first + 1, top);
    pmf_.mass.assign(static_cast<size_t>(last - pmf_.first + 1), 0.0);
    // A cell's mass is the difference of tails up to some cells() times as large, and its share has lost 1 / step more.
    slack_ = 1e-6 + 16 * kRounding * static_cast<double>(cells()) / step;
  }

  size_t cells() const { return pmf_.mass.size() - 1; }
  double loss(size_t i) const { return pmf_.loss(i); }

  void add_below(double p) { pmf_.mass.front() += p; }
  void add_above(double p) { pmf_.infinite += p; }

  // Mass between points i and i + 1. Its share of the upper one, from p and q: (p - q e^low) / (p (1 - e^-step)).
  void add_cell(size_t i, const Observed& mass) {
    if (mass.p <= 0) return;
    const double low = loss(i);
    const double ratio = low < 700    ? mass.q / mass.p * std::exp(low)
                         : mass.q > 0 ? std::exp(std::log(mass.q / mass.p) + low)
                                      : 0;
    split(i, mass.p, (1 - ratio) / -std::expm1(-pmf_.step));
  }

  // Mass of one loss.
  void add_atom(double loss_of_atom, double p) {
    const double at = loss_of_atom / pmf_.step - static_cast<double>(pmf_.first);
    const double nearest = std::round(at);
    if (at <= 0) {
      add_below(p);
    } else if (at > static_cast<double>(cells()) + kOnGrid) {
      add_above(p);
    } else if (std::abs(at - nearest) < kOnGrid) {
      pmf_.mass[static_cast<size_t>(nearest)] += p;
    } else {
      const auto i = static_cast<size_t>(at);
      split(i, p, std::expm1(-(at - static_cast<double>(i)) * pmf_.step) / std::expm1(-pmf_.step));
    }
  }

  LossPmf take() { return std::move(pmf_); }

 private:
  static constexpr double kOnGrid = 1e-9;  // of a step: a loss that is a multiple but for rounding

  void split(size_t i, double p, double upper_share) {
    const double share = std::clamp(upper_share + slack_, 0.0, 1.0);
    pmf_.mass[i] += p * (1 - share);
    pmf_.mass[i + 1] += p * share;
  }

  LossPmf pmf_;
  double slack_ = 0;
};

// Edges of the law's own loss, ascending: -infinity, where the grid's points come from, infinity.
std::vector<double> law_edges(const Grid& grid, const SampledLaw& release) {
  const size_t points = grid.cells() + 1;
  std::vector<double> edges(points + 2);
  edges.front() = -kInfinity;
  edges.back() = kInfinity;
  for (size_t i = 0; i < points; ++i) {
    if (release.direction == Direction::person_leaves) {
      edges[i + 1] = unsampled_loss(grid.loss(i), release.rate);
    } else {
      edges[points - i] = unsampled_loss(-grid.loss(i), release.rate);
    }
  }
  return edges;
}

}  // namespace

LossRange range_of(const SampledLaw& release, double above, double below) {
  const double high = release.law->upper_edge(above);
  const double low = -release.law->upper_edge(below);
  if (release.direction == Direction::person_leaves) {
    return {sampled_loss(low, release.rate), sampled_loss(high, release.rate)};
  }
  const double lowest = -release.law->upper_edge(above);
  return {-sampled_loss(-low, release.rate), -sampled_loss(lowest, release.rate)};
}

LossPmf discretize(const SampledLaw& release, const LossRange& range, double step) {
  COT_ASSERT(step > 0 && range.low <= range.high);
  COT_ASSERT(release.rate == 1 ? release.direction == Direction::person_leaves : release.rate > 0);
  Grid grid(range, step);
  const std::vector<double> edges = law_edges(grid, release);
  std::vector<LossMass> masses(edges.size() - 1);
  release.law->masses(edges, masses);
  if (release.direction == Direction::person_joins) std::ranges::reverse(masses);
  grid.add_below(observed(masses.front(), release).p);
  grid.add_above(observed(masses.back(), release).p);
  for (size_t i = 0; i < grid.cells(); ++i) grid.add_cell(i, observed(masses[i + 1], release));
  for (const LossAtom& atom : release.law->atoms()) {
    const double p = observed(atom.mass, release).p;
    if (p > 0) grid.add_atom(observed_loss(atom.loss, release), p);
  }
  return grid.take();
}

}  // namespace coterie
