#include "secure/secagg/graph_parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "secure/secagg/hypergeometric.h"

namespace coterie::secagg {
namespace {

constexpr double kPrivacyBits = 40;  // shared by the two ways to lose privacy
constexpr double kCompletionBits = 20;
constexpr double kRounding = 1e-14;  // 0.1 of 50 is 5
constexpr double kLostShareMax = 0.9;

Error infeasible(const GraphNeeds& needs) {
  return Error(ErrorCode::invalid_argument,
               "no sparse graph keeps " + std::to_string(needs.cohort_size) + " devices of which " +
                   std::to_string(needs.corrupt_share) + " may be corrupt and " + std::to_string(needs.dropout_share) +
                   " may vanish both private and likely to end; ask for more devices, or at most " +
                   std::to_string(kCompleteCohortMax) + " and a complete graph");
}

Status check(const GraphNeeds& needs) {
  if (needs.cohort_size < 2 || needs.cohort_size > kCohortSizeMax) {
    return Error(ErrorCode::invalid_argument, "a cohort has 2 to " + std::to_string(kCohortSizeMax) + " devices, not " +
                                                  std::to_string(needs.cohort_size));
  }
  for (const double share : {needs.corrupt_share, needs.dropout_share}) {
    if (!(share >= 0 && share < 1)) {
      return Error(ErrorCode::invalid_argument,
                   "shares of corrupt and vanishing devices lie in [0, 1), not at " + std::to_string(share));
    }
  }
  // A dropout counts twice where the server may show it as one to some devices and not to others.
  const double factor = needs.adversary == Adversary::active_server ? 2 : 1;
  if (needs.corrupt_share + factor * needs.dropout_share > kLostShareMax) return infeasible(needs);
  return {};
}

// What every degree is tried against.
struct Search {
  explicit Search(const GraphNeeds& wanted)
      : needs(wanted),
        n(wanted.cohort_size),
        corrupt(static_cast<uint32_t>(std::floor((wanted.corrupt_share + kRounding) * n))),
        dropouts(static_cast<uint32_t>(std::floor((wanted.dropout_share + kRounding) * n))),
        survivors(static_cast<uint32_t>(std::ceil((1 - wanted.dropout_share - kRounding) * n))),
        log_factorials(n) {}

  // log of a bound on the probability that the survivors that are not corrupt fall apart: around the ring of a Harary
  // graph, degree / 2 neighbours must be lost in two places.
  double log_probability_of_parts(uint32_t degree) const {
    const uint32_t lost = corrupt + dropouts;
    if (degree > lost) return -std::numeric_limits<double>::infinity();
    const LogFactorials& f = log_factorials;
    return std::log(n) + std::log(n - degree - 1) - std::log(2) + f[lost] + f[n - degree] - f[n] - f[lost - degree];
  }

  // The least threshold that does with this degree; 0: none.
  uint32_t threshold_for(uint32_t degree) const {
    // The two ways to lose privacy get half of 2^-40 each. What is said of every device is bounded by n times that of
    // one.
    const double privacy = std::exp2(-(kPrivacyBits + 1)), completion = std::exp2(-kCompletionBits);
    if (log_probability_of_parts(degree) >= std::log(privacy)) return 0;
    const uint32_t bad = Hypergeometric(log_factorials, n, corrupt, degree).least_seldom_exceeded(privacy / n);
    const uint32_t good = Hypergeometric(log_factorials, n, survivors, degree).largest_seldom_missed(completion / n);
    // An active server has what its `bad` know twice, and either kind from each of the others: degree + bad < 2 t.
    const uint32_t safe = needs.adversary == Adversary::active_server ? (degree + bad) / 2 + 1 : bad + 1;
    const uint32_t threshold = std::max(safe, 2u);  // one share must never be the secret
    return threshold <= good ? threshold : 0;
  }

  const GraphNeeds& needs;
  uint32_t n, corrupt, dropouts, survivors;
  LogFactorials log_factorials;
};

}  // namespace

Result<GraphParameters> sparse_graph(const GraphNeeds& needs) {
  COT_TRY(check(needs));
  const Search search(needs);
  // Even degrees only: a ring has as many neighbours on one side as on the other.
  for (uint32_t degree = 2; degree + 1 < needs.cohort_size; degree += 2) {
    if (const uint32_t threshold = search.threshold_for(degree); threshold != 0)
      return GraphParameters{degree, threshold};
  }
  return infeasible(needs);
}

Result<GraphParameters> complete_graph(uint32_t cohort_size) {
  if (cohort_size < 2 || cohort_size > kCompleteCohortMax) {
    return Error(ErrorCode::invalid_argument, "a complete graph has 2 to " + std::to_string(kCompleteCohortMax) +
                                                  " devices, not " + std::to_string(cohort_size));
  }
  // n holders, of which n / 3 may be corrupt and give both kinds of shares: n + n / 3 < 2 t, so t > 2 n / 3.
  return GraphParameters{cohort_size - 1, 2 * cohort_size / 3 + 1};
}

}  // namespace coterie::secagg
