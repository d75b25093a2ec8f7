// coterie privacy account: what noisy releases cost, and how much noise a budget takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "secure/dp/account/release.h"
#include "tools/cli/exit_code.h"

namespace coterie {

// One group of releases as the command line has it; `--then` begins another.
struct PrivacyGroup {
  std::string mechanism = "gaussian";
  std::string sampling = "none";
  std::optional<double> noise_multiplier;  // none: what --target-epsilon leads to
  uint64_t steps = 1;
  double sensitivity = 1;                // of a discrete mechanism, in steps of its grid: L2, of discrete_laplace L1
  std::optional<double> l1_sensitivity;  // of skellam; none: its most for whole numbers, the square of the L2
  bool is_scalar = false;
  std::optional<uint64_t> separation;  // of tree, which needs it; of no other
  bool is_periodic = false;            // of tree
};

struct PrivacyCommand {
  std::vector<PrivacyGroup> groups = {PrivacyGroup{}};
  double delta = 0;
  std::optional<double> target_epsilon;
  bool as_json = false;
};

// "none", "poisson:0.01", "without_replacement:100/60000"; the claim is the operator's.
Result<Sampling> parse_sampling(const std::string& text);

// What a group releases, its noise at `multiplier` if it names none.
Result<Releases> releases_of(const PrivacyGroup& group, double multiplier);

ExitCode account_privacy(const PrivacyCommand& command);

}  // namespace coterie
