#include "fl_server/core/batch_records.h"

namespace coterie {
namespace {

constexpr const char* kIsThere = "a batch that goes on has updates";

}  // namespace

void BatchRecords::check_if_due() {
  if (step_check_.is_due(batches_.size())) check();
}

void BatchRecords::add(BatchId batch) {
  const Batch& there = batches_[batch];
  COT_INVARIANT(there.partial.id.empty(), "no update is added to a batch that is being written");
  check_if_due();
}

const PartialRecord& BatchRecords::spill(const SpillBatch& spilled, Instant now) {
  Batch& batch = must_find(batches_, spilled.batch, kIsThere);
  COT_INVARIANT(batch.partial.id.empty(), "a batch is written once");
  batch.partial = {.id = life_ + "/" + std::to_string(spilled.batch.value()),
                   .key = spilled.key,
                   .totals = spilled.totals,
                   .blob = {}};
  batch.began = now;
  check_if_due();
  return batch.partial;
}

void BatchRecords::spilled(BatchId batch, const Digest& blob) {
  PartialRecord& partial = must_find(batches_, batch, kIsThere).partial;
  COT_INVARIANT(!partial.id.empty(), "a blob is of a batch that was written");
  COT_INVARIANT(partial.blob == Digest{} && blob != Digest{}, "a batch that was written has one blob");
  partial.blob = blob;
  check_if_due();
}

const PartialRecord& BatchRecords::partial(BatchId batch) const {
  const PartialRecord& partial = must_find(batches_, batch, kIsThere).partial;
  COT_INVARIANT(!partial.id.empty(), "only a batch that was written has a row");
  return partial;
}

std::optional<Millis> BatchRecords::done(BatchId batch, Instant now) {
  const auto entry = batches_.extract(batch);
  if (!entry) return std::nullopt;
  COT_INVARIANT(entry.mapped().partial.blob != Digest{}, "a batch that counts has its blob");
  return now - entry.mapped().began;
}

BatchLeft BatchRecords::drop(BatchId batch) {
  const auto entry = batches_.extract(batch);
  if (!entry) return {};
  const PartialRecord& partial = entry.mapped().partial;
  if (partial.id.empty()) return {.is_in_sum = true};
  if (partial.blob == Digest{}) return {};
  return {.blob = partial.blob};
}

void BatchRecords::check() const {
  for (const auto& [id, batch] : batches_) {
    const PartialRecord& partial = batch.partial;
    COT_INVARIANT(partial.blob == Digest{} || !partial.id.empty(), "a blob is of a batch that was written");
    COT_INVARIANT(partial.id.empty() || partial.id == life_ + "/" + std::to_string(id.value()),
                  "a partial sum has the name of its batch, and of this life");
    COT_INVARIANT(partial.id.empty() || partial.totals.updates > 0, "a batch that is written has updates");
  }
}

}  // namespace coterie
