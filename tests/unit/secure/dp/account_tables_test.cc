// Reference figures, as data: dp_accounting 0.6.0 (github.com/google/differential-privacy, Apache License 2.0), RDP
// with its default orders, PLD pessimistic in steps of 1e-4. Row numbers have gaps.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "secure/dp/account/account.h"
#include "secure/dp/account/noise_rdp.h"
#include "secure/dp/account/rdp_curve.h"
#include "tests/unit/secure/dp/published_series.h"

namespace coterie {
namespace {

struct Row {
  const char* name;
  Composition composition;
  double delta;
  std::optional<double> rdp, order, pld;
};

void PrintTo(const Row& row, std::ostream* out) { *out << "row " << row.name; }

Sampling poisson(double rate) { return Sampling::assume_poisson(rate, "a test").value(); }
Sampling drawn(uint64_t some, uint64_t all) {
  return Sampling::assume_without_replacement(some, all, "a test").value();
}
Releases gaussian(double noise_multiplier, uint64_t steps) {
  return {GaussianNoise{noise_multiplier}, Sampling::none(), steps};
}
Releases sampled(double rate, double noise_multiplier, uint64_t steps) {
  return {GaussianNoise{noise_multiplier}, poisson(rate), steps};
}
Releases discrete_gaussian(double sigma, uint64_t steps) {
  return {DiscreteGaussianNoise{sigma, 1, true}, Sampling::none(), steps};
}

const Row kRows[] = {
    {"1", {sampled(0.01, 1.0, 1000)}, 1e-5, 2.101367, 7.8, 1.828244},
    {"2", {sampled(0.01, 1.1, 10000)}, 1e-5, 5.632011, 4.7, 5.192620},
    {"3", {sampled(0.01, 0.5, 100)}, 1e-5, 8.034120, 2.5, 6.476210},
    {"5", {sampled(0.001, 0.8, 10000)}, 1e-6, 1.703625, 8.2, 0.947324},
    {"6", {sampled(0.001, 1.0, 100000)}, 1e-8, 2.422697, 12, 2.252498},
    {"8", {sampled(0.02, 1.3, 2000)}, 1e-5, 3.871962, 5.9, 3.548724},
    {"9", {sampled(0.05, 2.0, 1000)}, 1e-5, 4.024352, 5.9, 3.699742},
    {"11", {sampled(0.1, 1.0, 10)}, 1e-5, 3.441643, 4.6, 2.854519},
    {"12", {sampled(0.25, 4.0, 200)}, 1e-6, 4.759166, 6.1, 4.433609},
    {"13", {sampled(0.5, 5.0, 100)}, 1e-6, 5.389757, 5.7, 5.022119},
    {"15", {sampled(0.005, 0.6, 2000)}, 1e-5, 6.355675, 3.2, 5.338996},
    {"17", {gaussian(1, 1)}, 1e-5, 4.728507, 5.4, 4.377178},
    {"18", {gaussian(0.5, 1)}, 1e-5, 10.725510, 3.3, 9.997256},
    {"19", {gaussian(2, 1)}, 1e-6, 2.419102, 10.6, 2.254085},
    {"20", {gaussian(4, 1)}, 1e-5, 1.012551, 18, 0.926342},
    {"21", {gaussian(10, 100)}, 1e-5, 4.728507, 5.4, 4.377178},
    {"23", {gaussian(50, 2000)}, 1e-8, 5.380318, 7.4, 5.103766},
    {"24", {{LaplaceNoise{1}}}, 1e-12, 1.018580, {}, 1.000000},
    {"25", {{LaplaceNoise{2}, Sampling::none(), 10}}, 1e-6, 4.998981, {}, 4.998978},
    {"26", {{LaplaceNoise{10}, Sampling::none(), 100}}, 1e-6, 4.984174, {}, 4.692667},
    {"28", {{LaplaceNoise{1}, poisson(0.01), 1000}}, 1e-6, {}, {}, 1.286424},
    {"29", {{DiscreteLaplaceNoise{1 / 0.5, 1}}}, 1e-12, {}, {}, 0.500000},
    {"31", {{DiscreteLaplaceNoise{1 / 0.2, 3}, Sampling::none(), 10}}, 1e-6, {}, {}, 6.000604},
    {"32", {discrete_gaussian(1, 1)}, 1e-5, 4.728507, {}, 4.430238},
    {"33", {discrete_gaussian(4, 10)}, 1e-6, 4.010376, {}, 3.746424},
    {"34", {discrete_gaussian(10, 100)}, 1e-6, 5.221540, {}, 4.887102},
    {"43", {{GaussianNoise{1}, drawn(10, 1000), 100}}, 1e-6, 1.791571, 9, {}},
    {"44", {{GaussianNoise{1}, drawn(1000, 100000), 1000}}, 1e-6, 4.021208, 7, {}},
    {"48", {sampled(0.01, 1, 500), sampled(0.02, 2, 500), gaussian(10, 1)}, 1e-6, 2.255635, {}, 1.927598},
};

class Reference : public testing::TestWithParam<Row> {};

// How dp_accounting 0.6 makes these figures: at orders that are not whole it adds the absolute values of a series whose
// signs alternate, which is a bound above the divergence (published_series.h).
RdpEpsilon as_published(const Row& row) {
  RdpCurve curve;
  for (const Releases& releases : row.composition) {
    const double rate = releases.sampling.rate();
    const double sigma = std::get<GaussianNoise>(releases.noise).noise_multiplier;
    std::vector<double> values;
    for (const double order : curve.orders()) {
      values.push_back(rate == 1 ? order / (2 * sigma * sigma) : published_rdp(rate, sigma, order));
    }
    curve.add(values, static_cast<double>(releases.steps));
  }
  return curve.epsilon(row.delta);
}

bool is_poisson_gaussian(const Row& row) {
  for (const Releases& releases : row.composition) {
    if (releases.sampling.kind() == Sampling::Kind::poisson && std::holds_alternative<GaussianNoise>(releases.noise)) {
      return true;
    }
  }
  return false;
}

TEST_P(Reference, IsMetByRdp) {
  const Row& row = GetParam();
  const Result<RdpCurve> curve = rdp_of(row.composition);
  if (!row.rdp) {  // no reference: none, or above the loss distribution (which is theirs, in steps of 1e-4 a release)
    if (curve) EXPECT_GE(curve->epsilon(row.delta).epsilon, *row.pld - 1.1e-3);
    else EXPECT_EQ(curve.error().code(), ErrorCode::invalid_argument) << curve.error().message();
    return;
  }
  const RdpEpsilon ours = curve.value().epsilon(row.delta);
  if (is_poisson_gaussian(row)) {
    const RdpEpsilon published = as_published(row);
    EXPECT_NEAR(published.epsilon, *row.rdp, 1e-6 * *row.rdp);
    if (row.order) EXPECT_NEAR(published.order, *row.order, 1e-9);
    EXPECT_LE(ours.epsilon, published.epsilon * (1 + 1e-9)) << "ours are the divergences themselves";
    EXPECT_GE(ours.epsilon, published.epsilon * (1 - 2e-3));
    EXPECT_NEAR(ours.order, published.order, 0.2);
  } else {
    EXPECT_NEAR(ours.epsilon, *row.rdp, 1e-6 * *row.rdp);
    if (row.order) EXPECT_NEAR(ours.order, *row.order, 1e-9);
  }
}

// Theirs rounds in steps of 1e-4 a release, so ours may lie below; it is told from the exact value in pld_test.cc.
TEST_P(Reference, IsMetByPld) {
  const Row& row = GetParam();
  const PrivacyAccount account = account_for(row.composition, row.delta).value();
  if (!row.pld) {
    EXPECT_FALSE(account.pld.epsilon);
    return;
  }
  ASSERT_TRUE(account.pld.epsilon) << account.pld.note;
  EXPECT_LE(*account.pld.epsilon, *row.pld + 3e-4);
  EXPECT_GE(*account.pld.epsilon, *row.pld - 1.1e-3);
  if (account.rdp.epsilon) EXPECT_LE(*account.pld.epsilon, *account.rdp.epsilon);
  if (account.exact.epsilon) {
    EXPECT_NEAR(*account.exact.epsilon, *row.pld, 1e-6);
    EXPECT_GE(*account.pld.epsilon, *account.exact.epsilon);
  }
}

INSTANTIATE_TEST_SUITE_P(DpAccounting, Reference, testing::ValuesIn(kRows),
                         [](const auto& row) { return "Row" + std::string(row.param.name); });

}  // namespace
}  // namespace coterie
