// Loss distributions as large as they get: seconds each with sanitizers, so not in every run.
#include <gtest/gtest.h>

#include "secure/dp/account/pld.h"

namespace coterie {
namespace {

struct Row {
  double z, rate;
  uint64_t steps;
  double delta;
};

TEST(PldLimits, AreNumbersOrInfinityAndNothingElse) {
  for (const Row& row : {Row{0.01, 1e-9, 1'000'000'000, 0.5},
                         {0.01, 0.5, 1'000'000'000, 1e-30},
                         {0.01, 0.999, 1, 1e-30},
                         {1e6, 0.999, 1'000'000'000, 1e-30},
                         {1, 1e-3, 1'000'000'000, 1e-9}}) {
    const Sampling sampling = Sampling::assume_poisson(row.rate, "a test").value();
    const double epsilon = pld_epsilon({{GaussianNoise{row.z}, sampling, row.steps}}, row.delta).value();
    EXPECT_GE(epsilon, 0) << row.z << " " << row.rate << " " << row.steps << " " << row.delta;
  }
}

}  // namespace
}  // namespace coterie
