#include "vertical/split/gradient_protection.h"

#include <algorithm>
#include <cmath>

#include "vertical/split/split_random.h"

namespace coterie::vertical {
namespace {

constexpr double kTiny = 1e-30;

double norm_of(std::span<const float> row) {
  double squares = 0;
  for (const float value : row) squares += double{value} * double{value};
  return std::sqrt(squares);
}

void add_max_norm(std::span<float> gradients, size_t width, const Secret<32>& seed, uint32_t step) {
  const size_t rows = gradients.size() / width;
  double largest = 0;
  for (size_t row = 0; row < rows; ++row) largest = std::max(largest, norm_of(gradients.subspan(row * width, width)));
  const std::vector<double> normals = split_normals(seed, SplitDraw::gradient_noise, step, rows);
  for (size_t row = 0; row < rows; ++row) {
    const std::span<float> one = gradients.subspan(row * width, width);
    const double norm = std::max(norm_of(one), kTiny);
    const double factor = 1 + normals[row] * std::sqrt(std::max(largest * largest / (norm * norm) - 1, 0.0));
    for (float& value : one) value = static_cast<float>(double{value} * factor);
  }
}

struct Classes {
  double rows[2] = {0, 0}, variance[2] = {0, 0}, gap = 0;
  std::vector<double> mean[2], direction;  // from class 0 to class 1, of length 1
};

Classes classes_of(std::span<const float> gradients, size_t width, std::span<const uint8_t> labels) {
  Classes classes;
  for (auto& mean : classes.mean) mean.resize(width);
  for (size_t row = 0; row < labels.size(); ++row) {
    const size_t label = labels[row] != 0 ? 1 : 0;
    ++classes.rows[label];
    for (size_t i = 0; i < width; ++i) classes.mean[label][i] += double{gradients[row * width + i]};
  }
  if (classes.rows[0] == 0 || classes.rows[1] == 0) return classes;
  for (size_t label = 0; label < 2; ++label) {
    for (double& value : classes.mean[label]) value /= classes.rows[label];
  }
  for (size_t row = 0; row < labels.size(); ++row) {
    const size_t label = labels[row] != 0 ? 1 : 0;
    for (size_t i = 0; i < width; ++i) {
      const double off = double{gradients[row * width + i]} - classes.mean[label][i];
      classes.variance[label] += off * off / (static_cast<double>(width) * classes.rows[label]);
    }
  }
  classes.direction.resize(width);
  for (size_t i = 0; i < width; ++i) {
    classes.direction[i] = classes.mean[1][i] - classes.mean[0][i];
    classes.gap += classes.direction[i] * classes.direction[i];
  }
  for (double& value : classes.direction) value /= std::sqrt(std::max(classes.gap, kTiny));
  return classes;
}

void add_marvell(std::span<float> gradients, size_t width, std::span<const uint8_t> labels, const Secret<32>& seed,
                 uint32_t step) {
  const Classes classes = classes_of(gradients, width, labels);
  if (!(classes.gap > 0)) return add_max_norm(gradients, width, seed, step);
  const double share = classes.rows[1] / static_cast<double>(labels.size());
  const MarvellNoise noise = marvell_noise(width, share, classes.variance, classes.gap, kMarvellPower * classes.gap);
  const std::vector<double> normals = split_normals(seed, SplitDraw::gradient_noise, step, labels.size() * (width + 1));
  for (size_t row = 0; row < labels.size(); ++row) {
    const size_t label = labels[row] != 0 ? 1 : 0;
    const std::span<const double> drawn = std::span(normals).subspan(row * (width + 1), width + 1);
    // `across` in each direction, and what `along` has more, along the difference.
    const double across = std::sqrt(noise.across[label]);
    const double along = std::sqrt(std::max(noise.along[label] - noise.across[label], 0.0)) * drawn[width];
    for (size_t i = 0; i < width; ++i) {
      float& value = gradients[row * width + i];
      value = static_cast<float>(double{value} + across * drawn[i] + along * classes.direction[i]);
    }
  }
}

}  // namespace

double sum_of_divergences(size_t width, const double (&variance)[2], double gap, const MarvellNoise& noise) {
  const double others = static_cast<double>(width) - 1;
  const double along0 = noise.along[0] + variance[0] + kTiny, along1 = noise.along[1] + variance[1] + kTiny;
  const double across0 = noise.across[0] + variance[0] + kTiny, across1 = noise.across[1] + variance[1] + kTiny;
  return 0.5 * (others * (across0 / across1 + across1 / across0) + (along0 + gap) / along1 + (along1 + gap) / along0) -
         static_cast<double>(width);
}

MarvellNoise marvell_noise(size_t width, double share, const double (&variance)[2], double gap, double power) {
  const double shares[2] = {1 - share, share};
  const double others = static_cast<double>(width) - 1;
  // Noise across the difference only levels the two variances: the class with the smaller one gets it.
  const size_t smaller = variance[0] < variance[1] ? 0 : 1;
  const double level = std::abs(variance[0] - variance[1]);
  const double across_power = shares[smaller] * others * level;
  MarvellNoise best;
  double least = sum_of_divergences(width, variance, gap, best);
  // What is left is along it, in some share for each class: the best of a grid of both.
  constexpr int kSteps = 64;
  for (int i = 0; i <= kSteps; ++i) {
    MarvellNoise noise;
    const double part = std::min(across_power, power) * i / kSteps;
    if (others > 0) noise.across[smaller] = part / (shares[smaller] * others);
    // Each class has at least as much along as across.
    const double left = power - part - shares[smaller] * noise.across[smaller];
    if (left < 0) continue;
    for (int k = 0; k <= kSteps; ++k) {
      const double of_one = left * k / kSteps;
      noise.along[1] = noise.across[1] + of_one / shares[1];
      noise.along[0] = noise.across[0] + (left - of_one) / shares[0];
      const double divergences = sum_of_divergences(width, variance, gap, noise);
      if (divergences >= least) continue;
      least = divergences;
      best = noise;
    }
  }
  return best;
}

void protect_gradients(GradientProtection protection, std::span<float> gradients, size_t width,
                       std::span<const uint8_t> labels, const Secret<32>& seed, uint32_t step) {
  switch (protection) {
    case GradientProtection::none: return;
    case GradientProtection::max_norm: return add_max_norm(gradients, width, seed, step);
    case GradientProtection::marvell: return add_marvell(gradients, width, labels, seed, step);
  }
}

}  // namespace coterie::vertical
