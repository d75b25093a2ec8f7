#include "secure/dp/account/account.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "secure/dp/account/exact_gaussian.h"
#include "secure/dp/account/log_math.h"
#include "secure/dp/account/noise_rdp.h"
#include "secure/dp/account/pld.h"
#include "secure/dp/account/zcdp.h"

namespace coterie {
namespace {

EpsilonBound bound_of(const Result<double>& epsilon) {
  if (epsilon) return {*epsilon, {}};
  return {std::nullopt, epsilon.error().message()};
}

EpsilonBound exact_bound(const Composition& composition, double delta) {
  double squared = 0;  // of mu, which adds up as sensitivities over noise do
  double slack = 0;
  for (const Releases& releases : composition) {
    std::optional<double> precision = gaussian_precision(releases.noise);
    if (!precision) {
      precision = rounded_gaussian_precision(releases.noise);
      slack = kRoundedSlack;
    }
    if (!precision || releases.sampling.rate() < 1) {
      return {std::nullopt, "only Gaussian noise without sampling has a closed form"};
    }
    squared += static_cast<double>(releases.steps) * *precision;
  }
  return {gaussian_epsilon(std::sqrt(squared), delta * (1 - slack)) + slack, {}};
}

std::string neighbours_of(const Composition& composition) {
  std::string words =
      "neighbours: data sets that differ in one person's data, by the change that the sensitivity was computed for";
  for (const Releases& releases : composition) {
    if (releases.sampling.kind() == Sampling::Kind::poisson) {
      words = "neighbours: data sets of which one has one person's data and the other has not (add or remove)";
    }
    if (releases.sampling.kind() == Sampling::Kind::without_replacement) {
      words =
          "neighbours: data sets of one public size in which one person's data are replaced (replace one); the "
          "sensitivity is that of a replacement";
    }
  }
  return words;
}

std::string noise_words(const Noise& noise) {
  if (std::holds_alternative<DiscreteGaussianNoise>(noise)) {
    return std::get<DiscreteGaussianNoise>(noise).is_scalar
               ? "discrete_gaussian: one whole number is released a step, not a vector"
               : "discrete_gaussian: whole numbers are released, and the L2 sensitivity is of them, after rounding";
  }
  if (std::holds_alternative<SkellamNoise>(noise)) {
    return "skellam: whole numbers are released, the L1 and L2 sensitivities are of them, after rounding, and the "
           "variance is what honest parties surely add";
  }
  if (std::holds_alternative<DistributedGaussianNoise>(noise)) {
    return "distributed_discrete_gaussian: the parties that are counted are honest, and their noise is in every sum";
  }
  if (std::holds_alternative<TreeNoise>(noise)) {
    return "tree: each finished node of the binary tree over the steps is released once, and a node's noise is drawn "
           "once; the sensitivity is the L2 norm a person can move one step by";
  }
  if (std::holds_alternative<GaussianNoise>(noise))
    return "gaussian: the sensitivity is the L2 norm a person can move a step by";
  return mechanism_name(noise) + ": the sensitivity is the L1 norm a person can move a step by";
}

std::string participation_words(const Releases& releases) {
  const auto* tree = std::get_if<TreeNoise>(&releases.noise);
  if (tree != nullptr) {
    const std::string separation = std::to_string(tree->schedule.separation);
    const std::string steps = " of a tree's " + std::to_string(tree->schedule.steps) + " steps";
    if (tree->schedule.participation == Participation::periodic) {
      return "participation: a person takes part in every " + separation + "th" + steps +
             " at most, dealt once for all";
    }
    return "participation: between two parts that a person takes in any" + steps + " lie at least " + separation +
           " steps, which the server enforces (rounds.separation_min of a job)";
  }
  if (releases.sampling.kind() != Sampling::Kind::none) return "sampling: " + releases.sampling.words();
  return "sampling: none is claimed; a person may take part in every step";
}

std::vector<std::string> assumptions_of(const Composition& composition) {
  std::vector<std::string> words = {neighbours_of(composition)};
  std::set<std::string> said;
  for (const Releases& releases : composition) {
    for (const std::string& line : {participation_words(releases), noise_words(releases.noise)}) {
      if (said.insert(line).second) words.push_back(line);
    }
  }
  words.emplace_back("noise: fresh and secret in each step; what a step asks may depend on the steps before it");
  return words;
}

}  // namespace

Result<PrivacyAccount> account_for(const Composition& composition, double delta) {
  COT_TRY(check_delta(delta));
  COT_TRY(check_composition(composition));
  PrivacyAccount account;
  account.delta = delta;
  if (const Result<RdpCurve> curve = rdp_of(composition)) {
    const RdpEpsilon best = curve->epsilon(delta);
    account.rdp.epsilon = best.epsilon;
    account.rdp_order = best.order;
  } else {
    account.rdp.note = curve.error().message();
  }
  account.pld = bound_of(pld_epsilon(composition, delta));
  account.exact = exact_bound(composition, delta);
  account.rho = rho_of(composition);
  account.assumptions = assumptions_of(composition);
  account.epsilon = kInfinity;
  // Each is an upper bound of the same epsilon, so the least of them holds.
  for (const auto& [bound, name] : {std::pair(&account.exact, "exact"), {&account.pld, "pld"}, {&account.rdp, "rdp"}}) {
    if (!bound->epsilon || (!account.method.empty() && *bound->epsilon >= account.epsilon)) continue;
    account.epsilon = *bound->epsilon;
    account.method = name;
  }
  if (account.method.empty()) {
    return Error(ErrorCode::invalid_argument, "no accountant has a bound for this composition: RDP: " +
                                                  account.rdp.note + "; PLD: " + account.pld.note);
  }
  return account;
}

}  // namespace coterie
