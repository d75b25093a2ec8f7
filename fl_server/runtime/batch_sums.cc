#include "fl_server/runtime/batch_sums.h"

#include <algorithm>
#include <utility>

#include "aggregation/accumulate/cohort_sums.h"
#include "aggregation/accumulate/kept_updates.h"
#include "base/log.h"
#include "fl_server/runtime/seconds.h"
#include "fl_server/runtime/ticket_terms.h"
#include "fl_server/runtime/update_norm.h"
#include "fl_server/telemetry/round_probe.h"
#include "proto/codec/codec.h"
#include "proto/codec/update/update_decoder.h"
#include "proto/messages/analytics_check.h"
#include "secure/quantize/eden.h"

namespace coterie {
namespace {

constexpr uint64_t kSpillBytes = 1 << 20;
constexpr const char* kIsServed = "an update is added to a round that is served";

}  // namespace

// ---- Rounds

void BatchSums::take_up(const RoundNotice& notice, const AttemptTerms& terms) {
  Round& round = rounds_[notice.key];
  round.plan = notice.plan;
  round.lane_count = terms.lane_count;
  round.keeps_updates = notice.keeps_updates;
}

void BatchSums::give_up(const RoundKey& key) {
  const auto entry = rounds_.extract(key);
  if (!entry) return;
  Round& round = entry.mapped();
  // A sum that no batch has any more is kept for the next round.
  if (round.sum.use_count() == 1 && !round.keeps_updates) spare_ = std::static_pointer_cast<RingSum>(round.sum->lanes);
}

std::shared_ptr<BatchSums::OpenSum> BatchSums::make_sum(const Round& round) {
  const FixedPointSpec spec = summed_as(round.plan.update);
  auto sum = std::make_shared<OpenSum>();
  sum->has_norms = has_norms(round.plan);
  if (round.keeps_updates) {
    if (round.plan.privacy.level == SecurityLevel::none) {
      sum->lanes = std::make_shared<KeptUpdates>(round.lane_count, spec);
    } else {
      sum->lanes = std::make_shared<CohortSums>(round.lane_count);
    }
    return sum;
  }
  const std::shared_ptr<RingSum> spare = std::exchange(spare_, nullptr);
  if (spare && spare->lane_count() == round.lane_count && spare->spec() == spec) sum->lanes = spare;
  else sum->lanes = std::make_shared<RingSum>(round.lane_count, spec);
  return sum;
}

// ---- A batch

void BatchSums::post(IngestEvent event) {
  parts_.loops.core.post([this, event = std::move(event)] { answer_(event); });
}

void BatchSums::add(const AddUpdate& asked, Update update) {
  Round& round = must_find(rounds_, update.key, kIsServed);
  if (!round.sum) round.sum = make_sum(round);
  records_.add(asked.batch);
  sums_[asked.batch] = round.sum;
  parts_.loops.pool.post([this, id = asked.upload, sum = round.sum, update = std::move(update),
                          rules = late_rules(round.plan, update.versions_late),
                          analytics = round.plan.analytics]() mutable {
    Status added = add_to(*sum, update.body, rules, analytics, update.device);
    update.body = {};  // its memory is free before the next upload is let in
    post(UpdateAdded{id, std::move(added)});
  });
}

Status BatchSums::add_to(OpenSum& sum, UploadBody& body, const UpdateRules& rules,
                         const std::optional<AnalyticsRules>& analytics, const DeviceId& device) {
  if (body.masked) {
    // Behind masks there is nothing to judge: the sum's check lanes are, when it is opened.
    sum.lanes->merge_masked(body.lanes, body.masked->session);
    return {};
  }
  if (body.eden) {
    COT_TRY(decode_eden(body.eden->scale, rules.quantization.bits, body.eden->rotation_seed,
                        rules.fixed_point.value_abs_max, body.decoded));
  }
  // Pooled statistics are outside the clip, and which values they are only the model says. Without noise, which does
  // not go with them, the clip protects nobody but the model.
  if (rules.encoding != UpdateEncoding::float32_pooled) COT_TRY(check_norm(body.values, rules));
  if (analytics) COT_TRY(check_lanes(*analytics, body.values));
  double norm = 0;
  if (sum.has_norms) {
    COT_ASSIGN(norm, step_norm(body.values, rules));
  }
  COT_TRY(sum.lanes->add(body.values, body.weight, device));
  if (sum.has_norms) sum.norms.add(norm);  // of what is in the sum, and of nothing else
  return {};
}

Result<std::unique_ptr<BlobWriter>> BatchSums::write(BlobStore& partials, const PartialRecord& partial,
                                                     const OpenSum& sum) {
  COT_ASSIGN(std::unique_ptr<BlobWriter> writer, partials.create());
  PartialSumHeader header{partial.key, partial.id, static_cast<uint32_t>(partial.totals.updates), partial.totals.weight,
                          sum.lanes->lane_count()};
  if (sum.has_norms) header.norms = sum.norms.counted();
  // A partial that says so of others than its own is read by nobody, and no figure is worth a round.
  if (header.norms && header.norms->updates() != header.updates) header.norms.reset();
  COT_TRY(writer->append(encode_head(header)));
  const ByteView lanes(reinterpret_cast<const uint8_t*>(sum.lanes->lanes().data()), sum.lanes->lanes().size_bytes());
  for (size_t at = 0; at < lanes.size(); at += kSpillBytes) {
    COT_TRY(writer->append(lanes.subspan(at, std::min<size_t>(kSpillBytes, lanes.size() - at))));
  }
  return writer;
}

// As soon as the sum is written, though not durable, the buffer takes the next batch.
void BatchSums::spill(const SpillBatch& asked) {
  const PartialRecord& record = records_.spill(asked, os::monotonic_now());
  const auto& sum = must_find(sums_, asked.batch, "a batch that is written has its sum");
  parts_.loops.pool.post([this, id = asked.batch, partial = record, sum] {
    const ProbedCall probing(parts_.probe);
    Result<std::unique_ptr<BlobWriter>> writer = write(parts_.partials, partial, *sum);
    sum->clear();  // also if that failed: its devices are asked to send again
    post(BufferReleased{id});
    Result<Digest> blob = writer ? (*writer)->finish() : Result<Digest>(writer.error());
    probing.returned(partial.key, "write partial sum");
    parts_.loops.core.post([this, id, blob = std::move(blob)] {
      if (blob) records_.spilled(id, *blob);
      answer_(BatchSpilled{id, blob ? Status() : Status(blob.error())});
    });
  });
}

void BatchSums::commit(const CommitBatch& asked) {
  parts_.loops.store.post([this, id = asked.batch, rows = asked.rows, partial = records_.partial(asked.batch)] {
    const ProbedCall probing(parts_.probe);
    BatchOutcome outcome = parts_.accepts.accept_batch(partial, rows);
    probing.returned(partial.key, "accept batch");
    parts_.loops.core.post([this, id, outcome = std::move(outcome)] {
      // Any other outcome is the machine's to decide: it asks again, or drops the batch.
      if (std::holds_alternative<BatchDone>(outcome)) {
        const std::optional<Millis> took = records_.done(id, os::monotonic_now());
        if (took) parts_.metrics.batch_committed(in_seconds(*took));
        sums_.erase(id);
      }
      answer_(BatchAnswered{id, outcome});
    });
  });
}

void BatchSums::drop(BatchId batch) {
  const BatchLeft left = records_.drop(batch);
  const auto sum = sums_.extract(batch);
  if (left.is_in_sum) sum.mapped()->clear();
  if (!left.blob) return;
  parts_.loops.store.post([this, blob = *left.blob] {
    if (const Status removed = parts_.partials.remove(blob); !removed) {
      log(LogLevel::warning, "partial_not_removed", {{"reason", removed.error().message()}});
    }
  });
}

}  // namespace coterie
