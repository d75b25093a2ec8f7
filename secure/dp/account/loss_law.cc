#include "secure/dp/account/loss_law.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "secure/dp/account/limits.h"
#include "secure/dp/account/log_math.h"
#include "secure/dp/account/number_words.h"

namespace coterie {
namespace {

// x ~ N(1, sigma^2) with, N(0, sigma^2) without; l = (2 x - 1) / (2 sigma^2).
class GaussianLaw final : public LossLaw {
 public:
  explicit GaussianLaw(double sigma) : sigma_(sigma) {}

  void masses(std::span<const double> edges, std::span<LossMass> cells) const override {
    Tail with = tail_at(edges[0], 1);
    Tail without = tail_at(edges[0], 0);
    for (size_t i = 0; i < cells.size(); ++i) {
      const Tail next_with = tail_at(edges[i + 1], 1);
      const Tail next_without = tail_at(edges[i + 1], 0);
      cells[i] = {between(with, next_with), between(without, next_without)};
      with = next_with;
      without = next_without;
    }
  }

  // P(x > 1 + sigma z) <= e^(-z^2 / 2) / 2
  double upper_edge(double tail) const override {
    const double z = std::sqrt(-2 * std::log(tail));
    return (1 + 2 * sigma_ * z) / (2 * sigma_ * sigma_);
  }

 private:
  struct Tail {
    bool is_upper;
    double mass;  // of the tail that begins here and is the smaller
  };

  Tail tail_at(double loss, double mean) const {
    // The smaller tail of the two is kept: a difference of tails near 1 would have lost the digits that matter.
    const double z = (loss * sigma_ * sigma_ + 0.5 - mean) / sigma_;
    return {z > 0, 0.5 * std::erfc(std::abs(z) / std::numbers::sqrt2)};
  }

  static double between(Tail low, Tail high) {
    if (low.is_upper == high.is_upper) return std::max(0.0, low.is_upper ? low.mass - high.mass : high.mass - low.mass);
    return std::max(0.0, 1 - low.mass - high.mass);
  }

  double sigma_;
};

// x ~ Laplace(1, b) with, Laplace(0, b) without; l = (|x| - |x - 1|) / b: an atom at each end, a density between.
class LaplaceLaw final : public LossLaw {
 public:
  explicit LaplaceLaw(double scale) : top_(1 / scale) {
    const double far = 0.5 * std::exp(-top_);
    atoms_ = {{-top_, {far, 0.5}}, {top_, {0.5, far}}};
  }

  // With x = (l b + 1) / 2 in (0, 1): the density e^(-(1-x)/b) / (2 b) with, e^(-x/b) / (2 b) without.
  void masses(std::span<const double> edges, std::span<LossMass> cells) const override {
    for (size_t i = 0; i < cells.size(); ++i) {
      const double low = std::clamp(edges[i], -top_, top_);
      const double width = std::clamp(edges[i + 1], -top_, top_) - low;
      cells[i] = {0.5 * std::exp((low - top_) / 2) * std::expm1(width / 2),
                  -0.5 * std::exp(-(low + top_) / 2) * std::expm1(-width / 2)};
    }
  }

  double upper_edge(double) const override { return top_; }
  double lattice() const override { return top_; }

 private:
  double top_;
};

// A law of atoms alone.
class DiscreteLaw final : public LossLaw {
 public:
  DiscreteLaw(std::vector<LossAtom> atoms, double top, double lattice) : top_(top), lattice_(lattice) {
    atoms_ = std::move(atoms);
  }

  void masses(std::span<const double>, std::span<LossMass> cells) const override {
    std::ranges::fill(cells, LossMass{});
  }
  double upper_edge(double) const override { return top_; }
  double lattice() const override { return lattice_; }

 private:
  double top_, lattice_;
};

Error no_law(const std::string& message) { return Error(ErrorCode::invalid_argument, message); }

Error too_many_atoms() {
  return Error(ErrorCode::too_large, "the loss distribution of this discrete noise would have more than " +
                                         std::to_string(account_limits::kAtomsMax) +
                                         " values; use a coarser grid, or rely on RDP");
}

Result<std::unique_ptr<LossLaw>> law(const GaussianNoise& n, double count) {
  return std::unique_ptr<LossLaw>(new GaussianLaw(n.noise_multiplier / std::sqrt(count)));
}

Result<std::unique_ptr<LossLaw>> law(const LaplaceNoise& n, double) {
  return std::unique_ptr<LossLaw>(new LaplaceLaw(n.noise_multiplier));
}

// k ~ p(k - S) with, p(k) without; l = S (2 k - S) / (2 sigma^2). Beyond 15 sigma lies 1e-48 of the mass, which stays
// with the last atom on each side: below by rounding up, above as an atom of infinite loss.
Result<std::unique_ptr<LossLaw>> law(const DiscreteGaussianNoise& n, double count) {
  if (!n.is_scalar) {
    if (const std::optional<double> precision = rounded_gaussian_precision(n)) {
      return law(GaussianNoise{1 / std::sqrt(*precision)}, count);
    }
    return no_law(
        "a vector of discrete Gaussian noise has no loss distribution that is known to be the worst where its standard "
        "deviation is " +
        number_words(std::sqrt(kRounded)) + " steps of the grid or less");
  }
  constexpr double kSigmas = 15;
  const double reach = std::ceil(kSigmas * n.sigma);
  const double shift = n.l2_sensitivity;
  if (2 * reach + shift > static_cast<double>(account_limits::kAtomsMax)) return too_many_atoms();
  const auto weight = [&n](double k) { return std::exp(-k * k / (2 * n.sigma * n.sigma)); };
  double total = 0;
  for (double k = -reach; k <= reach; ++k) total += weight(k);
  std::vector<LossAtom> atoms;
  for (double k = -reach; k <= shift + reach; ++k) {
    const double loss = shift * (2 * k - shift) / (2 * n.sigma * n.sigma);
    atoms.push_back({loss, {weight(k - shift) / total, weight(k) / total}});
  }
  const double beyond = 1e-48;
  atoms.push_back({kInfinity, {beyond, 0}});
  atoms.push_back({-kInfinity, {0, beyond}});
  return std::unique_ptr<LossLaw>(new DiscreteLaw(
      std::move(atoms), shift * (shift + 2 * reach) / (2 * n.sigma * n.sigma), shift / (2 * n.sigma * n.sigma)));
}

// l = (|k| - |k - S|) / scale: -S / scale for k <= 0, S / scale for k >= S, and what is between.
Result<std::unique_ptr<LossLaw>> law(const DiscreteLaplaceNoise& n, double) {
  const double shift = n.l1_sensitivity;
  if (shift > static_cast<double>(account_limits::kAtomsMax)) return too_many_atoms();
  const double a = 1 / n.scale;
  const double share = 1 / (1 + std::exp(-a));
  const double middle = std::tanh(a / 2);
  std::vector<LossAtom> atoms = {{-a * shift, {share * std::exp(-a * shift), share}}};
  for (double k = 1; k < shift; ++k) {
    atoms.push_back({a * (2 * k - shift), {middle * std::exp(-a * (shift - k)), middle * std::exp(-a * k)}});
  }
  atoms.push_back({a * shift, {share, share * std::exp(-a * shift)}});
  return std::unique_ptr<LossLaw>(new DiscreteLaw(std::move(atoms), a * shift, a));
}

Result<std::unique_ptr<LossLaw>> law(const SkellamNoise&, double) {
  return no_law("Skellam noise on a vector has no loss distribution that is known to be the worst");
}

Result<std::unique_ptr<LossLaw>> law(const DistributedGaussianNoise&, double) {
  return no_law("a sum of discrete Gaussians on a vector has no loss distribution that is known to be the worst");
}

Result<std::unique_ptr<LossLaw>> law(const TreeNoise& n, double count) {
  return law(GaussianNoise{n.noise_multiplier / std::sqrt(n.squared_sensitivity)}, count);
}

}  // namespace

Result<std::unique_ptr<LossLaw>> loss_law(const Noise& noise, double count) {
  return std::visit([count](const auto& n) { return law(n, count); }, noise);
}

}  // namespace coterie
