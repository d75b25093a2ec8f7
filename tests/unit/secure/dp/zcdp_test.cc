#include "secure/dp/account/zcdp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "secure/dp/account/exact_gaussian.h"

namespace coterie {
namespace {

struct Row {
  double rho, delta, rdp, bun_steinke, exact;
};

// The first is a published model's (Gboard, 8.9 at 1e-10; arXiv 2305.18465).
const Row kRows[] = {{0.81, 1e-10, 8.922258, 9.447347, 8.548917},    {0.5, 1e-6, 5.221540, 5.756522, 4.886554},
                     {1.0, 1e-6, 7.766238, 8.433844, 7.286081},      {0.1, 1e-10, 2.882279, 3.134854, 2.752971},
                     {1.86, 1e-10, 14.262714, 14.948634, 13.688308}, {2.63, 1e-10, 17.431381, 18.193803, 16.741981}};

TEST(Zcdp, MeetsTheReference) {
  for (const Row& row : kRows) {
    EXPECT_NEAR(zcdp_epsilon(row.rho, row.delta).epsilon, row.rdp, 1e-6 * row.rdp);
    EXPECT_NEAR(bun_steinke_epsilon(row.rho, row.delta), row.bun_steinke, 1e-6);
    EXPECT_NEAR(gaussian_epsilon(std::sqrt(2 * row.rho), row.delta), row.exact, 1e-6);
  }
}

TEST(Zcdp, AddsUpOverGaussianReleases) {
  const Composition two = {{GaussianNoise{2}, Sampling::none(), 4},
                           {DiscreteGaussianNoise{6, 3, false}, Sampling::none(), 8}};
  EXPECT_NEAR(rho_of(two).value(), 4.0 / 8 + 8.0 / 8, 1e-15);
}

TEST(Zcdp, HasNoRhoOfWhatIsSampledOrNotGaussian) {
  EXPECT_FALSE(rho_of({{LaplaceNoise{1}}}));
  EXPECT_FALSE(rho_of({{GaussianNoise{1}, Sampling::assume_poisson(0.5, "a test").value(), 1}}));
}

}  // namespace
}  // namespace coterie
