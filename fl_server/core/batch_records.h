// BatchRecords: what there is of each batch of updates between its first update and its row in the store: its place in
// the round's sum, then its partial sum's record, and at last its blob; and so what must go if it never counts. Pure.
// When each of it happens, the ingest machine says (ingest_machine.h).
//
//   add --> in the sum --spill--> being written --spilled--> a blob --> done, or dropped
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/assert.h"
#include "fl_server/core/ingest_machine.h"
#include "fl_server/records/batch.h"

namespace coterie {

// What a batch that is dropped leaves behind.
struct BatchLeft {
  bool is_in_sum = false;           // the round's sum is to be cleared: nobody else holds it
  std::optional<Digest> blob = {};  // to be removed
  friend bool operator==(const BatchLeft&, const BatchLeft&) = default;
};

class BatchRecords {
 public:
  // `life` names this life of this node, as no other: a batch of a known name counts as committed.
  explicit BatchRecords(std::string life) : life_(std::move(life)) {}

  // An update is added to the batch, which may be new.
  void add(BatchId batch);
  // Its sum is written from now on.
  const PartialRecord& spill(const SpillBatch& spilled, Instant now);
  void spilled(BatchId batch, const Digest& blob);
  // Precondition: spill().
  const PartialRecord& partial(BatchId batch) const;
  // It counts: how long that took from spill() on. None: it was dropped.
  std::optional<Millis> done(BatchId batch, Instant now);
  // It will never count. Nothing is left of one that is not there.
  BatchLeft drop(BatchId batch);

  bool is_empty() const { return batches_.empty(); }

  // Fails, with a sentence, if what must be true between two calls is not (base/assert.h).
  void check() const;

 private:
  struct Batch {
    PartialRecord partial = {};  // its id is empty until the batch is spilled
    Instant began = {};
  };

  void check_if_due();

  std::string life_;
  std::map<BatchId, Batch> batches_;
  StepCheck step_check_;
};

}  // namespace coterie
