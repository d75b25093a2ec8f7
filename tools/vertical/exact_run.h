// A party's training of a regression on exact residuals, over a link.
#pragma once

#include <vector>

#include "base/result.h"
#include "tools/vertical/party_journal.h"
#include "tools/vertical/party_table.h"
#include "vertical/link/link.h"
#include "vertical/regression/regression_model.h"
#include "vertical/regression/regression_settings.h"

namespace coterie {

struct ExactSide {
  bool is_label_party = false;
  const PartyTable& table;
  const std::vector<uint32_t>& rows;  // of the table, in the matched order
  PartyJournal& journal;
  vertical::Link& link;
};

// Goes on behind step `unit`, of which the journal has a checkpoint; 0: the begin. `seed` is this meeting's alone.
Result<vertical::RegressionModel> train_exact(const ExactSide& side, const vertical::RegressionSettings& settings,
                                              uint32_t unit, const Secret<32>& seed);

}  // namespace coterie
