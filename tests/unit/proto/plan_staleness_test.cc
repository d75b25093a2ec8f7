// What an update of a plan may be late by, and what does not go with it.
#include <limits>

#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

template <typename Change>
void expect_bad(std::string_view words, Change change) {
  EXPECT_ERROR(validate(test::changed<Plan>(change)), ErrorCode::invalid_argument, words);
  test::expect_rejected<Plan>(words, change);
}

// A later round is not what noise, a correction or a session against a server that lies were for.
TEST(PlanStaleness, GoesWithPlainAndMaskedUpdatesAlone) {
  const auto late = [](Plan& p) { p.staleness = {.versions_max = 3, .exponent = 0.5f}; };
  const auto late_at = [&](SecurityLevel level) {
    return [&late, level](Plan& p) {
      late(p);
      p.privacy = {.level = level, .cohort_min = 2, .roster_max = 19, .corrupt_share = 0.1, .cipher_suite = 1};
    };
  };
  test::expect_accepted<Plan>(late);
  test::expect_accepted<Plan>(late_at(SecurityLevel::masked));
  expect_bad("staleness", late_at(SecurityLevel::active));
  expect_bad("staleness", [&](Plan& p) {
    late(p);
    p.training.correction = {CorrectionKind::feddyn, 0.1f};
  });
  expect_bad("staleness", [](Plan& p) { p.staleness.versions_max = kStalenessMax + 1; });
  expect_bad("exponent", [](Plan& p) { p.staleness.exponent = std::numeric_limits<float>::quiet_NaN(); });
}

}  // namespace
}  // namespace coterie
