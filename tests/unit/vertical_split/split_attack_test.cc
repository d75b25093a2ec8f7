// What a feature party finds out of labels from what it hears, without and with protection: the attacks of Li et al.
// 2022 (arXiv 2102.08504) on real transcripts. The network and the data are those of
// shared/vectors/vertical/leak_refs.py (digits, 8 or not, 32 pixels each, tanh and a linear top), where the same
// attacks have 0.955 (norm) and 1.000 (cosine) without protection.
#include <cmath>

#include "tests/unit/vertical_split/split_pair.h"
#include "tools/data/digits.h"
#include "vertical/split/batch_order.h"
#include "vertical/split/gradient_protection.h"
#include "vertical/split/label_targets.h"
#include "vertical/split/predict_split.h"

namespace coterie::vertical {
namespace {

using test::auc_of;
using test::SplitJob;
using test::SplitPair;

struct Data {
  SplitJob train;
  std::vector<std::vector<float>> held_out[2];
  std::vector<uint8_t> held_out_labels;
};

const Data& data() {
  static const Data made = [] {
    const LabelledImages images = built_in_digits();
    Data all;
    for (auto* columns : {&all.train.label_columns, &all.train.feature_columns, &all.held_out[0], &all.held_out[1]}) {
      columns->resize(32);
    }
    for (size_t row = 0; row < images.size(); ++row) {
      const bool is_held_out = row % 5 == 0;
      const float label = images.labels[row] == 8 ? 1.0f : 0.0f;
      if (is_held_out) all.held_out_labels.push_back(label == 1 ? 1 : 0);
      else all.train.labels.push_back(label);
      for (size_t pixel = 0; pixel < 64; ++pixel) {
        auto& train = pixel < 32 ? all.train.label_columns : all.train.feature_columns;
        (is_held_out ? all.held_out[pixel / 32] : train)[pixel % 32].push_back(
            static_cast<float>(images.pixels[row * 64 + pixel]));
      }
    }
    all.train.settings = {.hidden = 0, .cut = 16, .top = 0, .epochs = 4, .batch = 64, .is_adam = false, .rate = 0.3};
    return all;
  }();
  return made;
}

struct Leak {
  double norm = 0, cosine = 0;  // AUC of the attack on true labels, the mean over batches of the worst epoch
  double utility = 0;           // AUC on held-out rows
};

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// Norm: of the smaller class gradients are larger. Cosine: gradients of one class point one way; the attacker knows one
// row of it.
struct BatchLeak {
  double norm = 0, cosine = 0;
};
std::optional<BatchLeak> attack(std::span<const float> gradients, size_t width, const std::vector<uint8_t>& labels) {
  const auto known = static_cast<size_t>(std::ranges::find(labels, 1) - labels.begin());
  if (std::ranges::count(labels, 1) < 2 || std::ranges::count(labels, 0) < 1) return std::nullopt;
  const auto row = [&](size_t i) { return gradients.subspan(i * width, width); };
  std::vector<double> norms, cosines;
  std::vector<uint8_t> others;
  for (size_t i = 0; i < labels.size(); ++i) {
    norms.push_back(std::sqrt(dot(row(i), row(i))));
    if (i == known) continue;
    cosines.push_back(dot(row(i), row(known)) /
                      std::max(std::sqrt(dot(row(i), row(i)) * dot(row(known), row(known))), 1e-30));
    others.push_back(labels[i]);
  }
  return BatchLeak{.norm = auc_of(norms, labels), .cosine = auc_of(cosines, others)};
}

double held_out_auc(const SplitJob& job, SplitPair& pair) {
  const auto rows = static_cast<uint32_t>(data().held_out_labels.size());
  const auto model = [&](PartyIndex party) {
    return SplitModel{.settings = job.settings, .columns = job.columns(party), .network = pair.party(party).network()};
  };
  const auto label = start_label_split_scoring(model(0), data().held_out[0], rows);
  const auto feature = start_feature_split_scoring(model(1), data().held_out[1], rows, test::split_secret(9));
  EXPECT_OK(label);
  EXPECT_OK(feature);
  while (auto message = (*feature)->next()) {
    message->peer = 1;
    EXPECT_OK((*label)->receive(*message));
  }
  const std::vector<float>& scores = (*label)->scores();
  return auc_of({scores.begin(), scores.end()}, data().held_out_labels);
}

Leak leak_of(const SplitJob& job) {
  SplitPair pair(job);
  EXPECT_OK(pair.run());
  BatchOrder order(job.settings, static_cast<uint32_t>(job.labels.size()), {});
  Leak worst;
  for (uint32_t epoch = 0; epoch < job.settings.epochs; ++epoch) {
    double norm = 0, cosine = 0, batches = 0;
    for (uint32_t k = 0; k < order.steps_an_epoch(); ++k) {
      const uint32_t step = epoch * order.steps_an_epoch() + k;
      std::vector<uint8_t> labels;
      for (const uint32_t row : order.rows(step)) labels.push_back(job.labels[row] == 1 ? 1 : 0);
      const std::vector<float> gradients =
          *read_cut_tensor(ByteView(pair.said()[2 * step + 1].payload).subspan(4), labels.size(),
                           cut_width(job.settings), job.settings.gradients);
      const std::optional<BatchLeak> leak = attack(gradients, cut_width(job.settings), labels);
      if (!leak) continue;
      norm += leak->norm;
      cosine += leak->cosine;
      ++batches;
    }
    worst.norm = std::max(worst.norm, norm / batches);
    worst.cosine = std::max(worst.cosine, cosine / batches);
  }
  worst.utility = held_out_auc(job, pair);
  return worst;
}

Leak leak_with(const char* name, GradientProtection protection, double label_epsilon,
               CutEncoding gradients = CutEncoding::float32) {
  SplitJob job = data().train;
  job.settings.protection = protection;
  job.settings.label_epsilon = label_epsilon;
  job.settings.gradients = gradients;
  const Leak leak = leak_of(job);
  std::printf("%-22s norm %.3f  cosine %.3f  held-out AUC %.4f\n", name, leak.norm, leak.cosine, leak.utility);
  return leak;
}

TEST(SplitAttacks, FindTheLabelsInPlainGradients) {
  const Leak leak = leak_with("plain", GradientProtection::none, 0);
  EXPECT_GT(leak.norm, 0.95);
  EXPECT_GT(leak.cosine, 0.999);
  EXPECT_GT(leak.utility, 0.95);
}

TEST(SplitAttacks, FindThemInRoundedGradientsToo) {
  const Leak leak = leak_with("int8", GradientProtection::none, 0, CutEncoding::int8);
  EXPECT_GT(leak.norm, 0.9);
  EXPECT_GT(leak.cosine, 0.99);
}

TEST(SplitAttacks, FindLittleBehindMaxNorm) {
  const Leak leak = leak_with("max_norm", GradientProtection::max_norm, 0);
  EXPECT_LT(leak.norm, 0.65);
  EXPECT_LT(leak.cosine, 0.75);
  EXPECT_GT(leak.utility, 0.97);
}

TEST(SplitAttacks, FindLittleBehindMarvell) {
  const Leak leak = leak_with("marvell", GradientProtection::marvell, 0);
  EXPECT_LT(leak.norm, 0.65);
  EXPECT_LT(leak.cosine, 0.65);
  EXPECT_GT(leak.utility, 0.97);
}

// An attacker that sees the turned labels knows each true one with probability e^eps / (1 + e^eps) at most.
TEST(SplitAttacks, FindTurnedLabelsAtMost) {
  const Leak two = leak_with("label epsilon 2", GradientProtection::none, 2);
  const Leak one = leak_with("label epsilon 1", GradientProtection::none, 1);
  EXPECT_LT(two.cosine, 0.9);
  EXPECT_LT(one.cosine, 0.75);
  EXPECT_LT(one.norm, two.norm);
  EXPECT_GT(two.utility, 0.95);
}

// What a label party finds out of columns: which people are alike, by the inner products of what crosses the cut (the
// Gram attack). The correlation with those of the columns themselves, over all pairs of a batch.
double gram_of(const SplitJob& job) {
  SplitPair pair(job);
  EXPECT_OK(pair.run(1));
  BatchOrder order(job.settings, static_cast<uint32_t>(job.labels.size()), {});
  const std::span<const uint32_t> rows = order.rows(0);
  const size_t width = cut_width(job.settings);
  const std::vector<float> cut =
      *read_cut_tensor(ByteView(pair.said()[0].payload).subspan(4), rows.size(), width, job.settings.activations);
  const std::vector<float> columns = job.inputs(1).gather(rows);
  double sums[5] = {}, pairs = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const auto product = [&](const std::vector<float>& of, size_t size) {
        return dot(std::span(of).subspan(i * size, size), std::span(of).subspan(k * size, size));
      };
      const double a = product(cut, width), b = product(columns, 32);
      const double terms[5] = {a, b, a * a, b * b, a * b};
      for (size_t t = 0; t < 5; ++t) sums[t] += terms[t];
      ++pairs;
    }
  }
  for (double& sum : sums) sum /= pairs;
  return (sums[4] - sums[0] * sums[1]) / std::sqrt((sums[2] - sums[0] * sums[0]) * (sums[3] - sums[1] * sums[1]));
}

TEST(SplitAttacks, FindWhoIsAlikeInPlainActivations) {
  SplitJob job = data().train;
  const double plain = gram_of(job);
  job.settings.activations = CutEncoding::bit1;
  const double one_bit = gram_of(job);
  job.settings.activations = CutEncoding::float32;
  job.settings.activation_clip = 1;
  job.settings.activation_noise = 1;
  const double noisy = gram_of(job);
  std::printf("inner products: plain %.3f, one bit %.3f, noise of the norm %.3f\n", plain, one_bit, noisy);
  EXPECT_GT(plain, 0.6);
  EXPECT_LT(one_bit, plain);
  EXPECT_LT(noisy, 0.2);
}

TEST(GradientProtection, MaxNormHasTheLargestNormInTheMean) {
  std::vector<float> sum(2);
  for (uint32_t step = 0; step < 4000; ++step) {
    std::vector<float> gradients = {3, 4, 0.6f, 0.8f};  // norms 5 and 1
    protect_gradients(GradientProtection::max_norm, gradients, 2, std::vector<uint8_t>{1, 0}, test::split_secret(1),
                      step);
    EXPECT_EQ(gradients[0], 3);
    sum[0] += gradients[2] * gradients[2] + gradients[3] * gradients[3];
    sum[1] += gradients[2];
  }
  EXPECT_NEAR(sum[0] / 4000, 25, 1.5);    // its squared norm is the largest one's
  EXPECT_NEAR(sum[1] / 4000, 0.6, 0.15);  // its mean is itself
}

TEST(GradientProtection, MarvellSpendsItsPowerAndHidesMoreThanEvenNoise) {
  const double variance[2] = {0.1, 0.5};
  const size_t width = 16;
  const double share = 0.1, gap = 2, power = 8;
  const MarvellNoise best = marvell_noise(width, share, variance, gap, power);
  const double spent =
      share * (best.along[1] + 15 * best.across[1]) + (1 - share) * (best.along[0] + 15 * best.across[0]);
  EXPECT_NEAR(spent, power, 1e-9);
  MarvellNoise even;
  for (size_t k = 0; k < 2; ++k) even.along[k] = even.across[k] = power / width;
  const double none = sum_of_divergences(width, variance, gap, {}),
               isotropic = sum_of_divergences(width, variance, gap, even);
  const double least = sum_of_divergences(width, variance, gap, best);
  EXPECT_LT(isotropic, none);
  EXPECT_LT(least, isotropic / 2);
}

TEST(LabelTargets, AreTurnedAsOftenAsTheySayAndRightInTheMean) {
  const std::vector<float> labels(20'000, 1);
  const LabelTargets made = label_targets(labels, 1, test::split_secret(4));
  double ones = 0, mean = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    ones += made.labels[i];
    mean += double{made.targets[i]} / 20'000;
  }
  EXPECT_NEAR(ones / 20'000, 1 / (1 + std::exp(-1.0)), 0.01);
  EXPECT_NEAR(mean, 1, 0.03);
  EXPECT_EQ(label_targets(labels, 1, test::split_secret(4)).labels, made.labels);
  const std::vector<float> both = {0, 1};
  EXPECT_EQ(label_targets(both, 0, test::split_secret(4)).targets, both);
}

}  // namespace
}  // namespace coterie::vertical
