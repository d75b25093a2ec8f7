// A party's training of a regression whose randomness a coordinator deals, on a connection of its own for each party.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party_config.h"
#include "tools/vertical/party_journal.h"
#include "tools/vertical/party_table.h"
#include "vertical/link/link.h"
#include "vertical/regression/regression_model.h"

namespace coterie {

struct DealtSide {
  const PartyConfig& config;
  const VerticalManifest& manifest;
  const PartyTable& table;
  const std::vector<uint32_t>& rows;  // of the table, in the matched order
  Digest session;                     // what the dealer knows both parties by
  vertical::PartyIndex self, peer;
  PartyJournal& journal;
  vertical::Link& link;
};

struct DealtRegression {
  vertical::RegressionModel model;
  uint64_t dealt_bytes = 0;  // that came from the dealer
};

// A logistic regression goes on behind step `unit`, of which the journal has a checkpoint; 0: the begin. A linear one
// is one product of both tables, which begins anew when it is cut off.
Result<DealtRegression> train_with_dealer(const DealtSide& side, uint32_t unit);

}  // namespace coterie
