// What a composition of releases costs: epsilon at a delta by every accountant that knows it, and the least that is
// proved.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "secure/dp/account/release.h"

namespace coterie {

// One accountant's answer.
struct EpsilonBound {
  std::optional<double>
      epsilon;  // none: this accountant cannot say, and `note` why; infinity: it says nothing is protected
  std::string note;
};

struct PrivacyAccount {
  double delta = 0;
  EpsilonBound rdp;
  double rdp_order = 0;  // that gave it
  EpsilonBound pld;
  EpsilonBound exact;         // of Gaussian noise without sampling, also in trees
  std::optional<double> rho;  // zCDP, where it has one

  double epsilon = 0;       // the least of the above; infinity if all are
  std::string_view method;  // whose it is: "exact", "pld" or "rdp"

  // Sentences: what has to be true for the figures to be. Neighbouring relation, who claims the sampling, and the rest.
  std::vector<std::string> assumptions;
};

// Fails for what is out of account_limits, and if no accountant can say anything.
Result<PrivacyAccount> account_for(const Composition& composition, double delta);

}  // namespace coterie
