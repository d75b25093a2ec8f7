// Updates of single devices, kept in a round as the server keeps them where a rule looks at each.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aggregation/accumulate/kept_updates.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie::test {

struct OneUpdate {
  uint8_t device;
  std::vector<float> values;
  uint32_t weight = 1;
};

inline DeviceId device(uint8_t number) {
  DeviceId id;
  id.bytes.fill(number);
  return id;
}

inline void add_kept(FrozenRound& round, const std::string& id, const std::vector<OneUpdate>& updates,
                     const std::optional<NormHistogram>& norms = {}) {
  KeptUpdates kept(updates[0].values.size(), round.fixed_point());
  PartialSumHeader header{round.round_.key, id, static_cast<uint32_t>(updates.size()), 0, 0};
  std::vector<AcceptRow> rows;
  for (const OneUpdate& update : updates) {
    ASSERT_OK(kept.add(update.values, update.weight, device(update.device)));
    header.weight_sum += update.weight;
    rows.push_back({device(update.device)});
  }
  header.value_count = kept.lane_count();
  header.norms = norms;
  const Digest blob = round.put_partial(header, {kept.lanes().begin(), kept.lanes().end()});
  RoundTotals totals;
  totals.updates = updates.size();
  totals.weight = header.weight_sum;
  ASSERT_TRUE(
      std::holds_alternative<BatchDone>(round.rounds_.accept_batch({id, round.round_.key, totals, blob}, rows)));
}

}  // namespace coterie::test
