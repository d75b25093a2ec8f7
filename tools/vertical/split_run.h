// A party's training of a split network, and its prediction with one, over a link.
#pragma once

#include <vector>

#include "base/result.h"
#include "tools/vertical/party_journal.h"
#include "tools/vertical/party_table.h"
#include "tools/vertical/trained_bottom.h"
#include "vertical/link/link.h"
#include "vertical/split/split_settings.h"

namespace coterie {

struct SplitSide {
  bool is_label_party = false;
  Digest session;  // the same at both parties
  const PartyTable& table;
  const std::vector<uint32_t>& rows;  // of the table, in the matched order
  const TrainedBottom* bottom;        // of a training: what its part begins with; null: fresh weights
  PartyJournal& journal;
  vertical::Link& link;
};

struct TrainedSplit {
  Bytes model;                 // write_split_model()
  std::vector<double> losses;  // the label party's
};

// Goes on behind step `unit`, of which the journal has a checkpoint; 0: the begin.
Result<TrainedSplit> train_split(const SplitSide& side, const vertical::SplitSettings& settings, uint32_t unit);

// Scores at the label party, nothing at the feature party.
Result<std::vector<float>> predict_split(const SplitSide& side, ByteView model);

}  // namespace coterie
