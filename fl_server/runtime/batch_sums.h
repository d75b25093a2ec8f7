// BatchSums: adds updates into the sums of open batches, writes these to blobs, and these to rows of the store: the
// shell of what the ingest machine asks of a batch (ingest_machine.h). One sum a round is open; the next batch takes it
// as soon as the one before is written.
//
// Threading: the core's thread. Adding and writing are done by the pool, rows by the store's thread; what comes of each
// comes back to the core as an event.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "aggregation/accumulate/ring_sum.h"
#include "fl_server/core/attempt_terms.h"
#include "fl_server/core/batch_records.h"
#include "fl_server/runtime/norm_counts.h"
#include "fl_server/runtime/upload_slot.h"
#include "fl_server/runtime/work_loops.h"
#include "fl_server/store/accept_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/telemetry/metrics.h"

namespace coterie {

class RoundProbe;

class BatchSums {
 public:
  using Answer = std::function<void(const IngestEvent&)>;
  struct Parts {  // all of it outlives this
    AcceptStore& accepts;
    BlobStore& partials;
    Metrics& metrics;
    WorkLoops& loops;
    RoundProbe* probe = nullptr;  // null: nobody hears how long calls take
  };

  // `life`: as BatchRecords has it. `answer` is called on the core.
  BatchSums(std::string life, Parts parts, Answer answer)
      : parts_(parts), answer_(std::move(answer)), records_(std::move(life)) {}

  // A round that is served, or has changed; and one that is not any more.
  void take_up(const RoundNotice& notice, const AttemptTerms& terms);
  void give_up(const RoundKey& key);

  // AddUpdate, of this update. `versions_late`: of the model that it was trained from.
  struct Update {
    RoundKey key;
    DeviceId device;
    UploadBody body;
    uint64_t versions_late = 0;
  };
  void add(const AddUpdate& asked, Update update);
  void spill(const SpillBatch& asked);
  void commit(const CommitBatch& asked);
  void drop(BatchId batch);

 private:
  // What is added up of the open batch.
  struct OpenSum {
    // A RingSum, or where the round keeps them its updates or the sums of its cohorts.
    std::shared_ptr<Accumulator> lanes;
    bool has_norms = false;
    NormCounts norms = {};
    void clear() {
      lanes->clear();
      norms.clear();
    }
  };
  struct Round {
    Plan plan;
    uint64_t lane_count = 0;
    bool keeps_updates = false;
    std::shared_ptr<OpenSum> sum = {};
  };

  std::shared_ptr<OpenSum> make_sum(const Round& round);
  void post(IngestEvent event);  // to the core
  static Status add_to(OpenSum& sum, UploadBody& body, const UpdateRules& rules,
                       const std::optional<AnalyticsRules>& analytics, const DeviceId& device);
  // In pieces. It is not durable before it is finished.
  static Result<std::unique_ptr<BlobWriter>> write(BlobStore& partials, const PartialRecord& partial,
                                                   const OpenSum& sum);

  Parts parts_;
  Answer answer_;
  BatchRecords records_;
  std::map<RoundKey, Round> rounds_;
  std::map<BatchId, std::shared_ptr<OpenSum>> sums_;  // of batches that are neither done nor dropped
  std::shared_ptr<RingSum> spare_;                    // the last round's: its pages are there already
};

}  // namespace coterie
