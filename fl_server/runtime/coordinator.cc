// The coordinator's device plane: check-ins and uploads. Rounds: coordinator_rounds.cc.
#include "fl_server/runtime/coordinator.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/runtime/update_norm.h"
#include "proto/codec/codec.h"
#include "secure/crypto/random.h"
#include "secure/identity/manifest.h"
#include "secure/identity/ticket.h"

namespace coterie {
namespace {

constexpr uint64_t kSpillBytes = 1 << 20;

double seconds_since(Instant begin) {
  return std::chrono::duration<double>(os::monotonic_now() - begin).count();
}

}  // namespace

Coordinator::Coordinator(CoordinatorSettings settings, CoordinatorParts parts)
    : settings_(std::move(settings)),
      parts_(parts),
      incarnation_(to_hex(random_bytes(8))),
      desk_(settings_.desk, settings_.pace, random_u64()),
      ingest_(settings_.ingest) {}

Coordinator::~Coordinator() { stop(Millis(0)); }

// ---- Stepping

std::optional<Instant> Coordinator::next_deadline() const {
  std::optional<Instant> next;
  const auto consider = [&](std::optional<Instant> at) {
    if (at) next = next ? std::min(*next, *at) : *at;
  };
  consider(desk_.next_deadline());
  consider(ingest_.next_deadline());
  for (const auto& [job, machine] : machines_) consider(machine.next_deadline());
  for (const auto& [key, cohorts] : cohorts_) {
    consider(cohorts->machine.next_deadline());
    if (!cohorts->held.empty()) consider(cohorts->held.front().until);
  }
  return next;
}

void Coordinator::on_deadline() {
  run(desk_.time_passed(os::monotonic_now()));
  step_ingest(IngestTime{});
  std::vector<JobId> jobs;
  for (const auto& [job, machine] : machines_) jobs.push_back(job);
  for (const JobId& job : jobs) step_round(job, TimePassed{});
  std::vector<RoundKey> with_cohorts;
  for (const auto& [key, cohorts] : cohorts_) with_cohorts.push_back(key);
  for (const RoundKey& key : with_cohorts) {
    if (const auto cohorts = cohorts_.find(key); cohorts != cohorts_.end()) {
      cohorts->second->machine.time_passed(os::monotonic_now());
    }
    after_cohorts(key);
  }
  for (const auto& [key, view] : std::exchange(unserved_, {})) publish(view);
}

// ---- Check-ins

WaiterId Coordinator::check_in(const DeviceId& device, const Population& population, Millis hold,
                               std::function<void(CheckinAnswer)> answer) {
  const WaiterId waiter(next_id_.fetch_add(1));
  core_.post([this, waiter, device, population, hold, answer = std::move(answer)]() mutable {
    waiters_.emplace(waiter, std::move(answer));
    run(desk_.check_in(waiter, device, population, draining_ ? Millis(0) : hold, os::monotonic_now()));
  });
  return waiter;
}

void Coordinator::dismiss_waiters() {
  core_.post([this] {
    draining_ = true;
    run(desk_.time_passed(Instant::max()));
    for (const auto& [key, cohorts] : cohorts_) answer_held(*cohorts);
  });
}

void Coordinator::cancel_check_in(WaiterId waiter) {
  core_.post([this, waiter] {
    waiters_.erase(waiter);
    run(desk_.cancel(waiter));
  });
}

void Coordinator::ticket_undelivered(const RoundKey& key, const DeviceId& device) {
  core_.post([this, key, device] { run(desk_.undelivered(key, device)); });
}

// No ticket is given back: the same device would be drawn again for the same plan.
void Coordinator::plan_refused(const DeviceId& device, const Refusal& refusal) {
  const std::string_view reason = refusal_reason::known(refusal.reason);
  parts_.metrics.plan_refused(reason);
  log(LogLevel::info, "plan_refused",
      {{"device", device.short_hash()},
       {"round", refusal.round.round.value()},
       {"attempt", refusal.round.attempt.value()},
       {"reason", reason}});
}

void Coordinator::run(DeskEffects effects) {
  for (DeskEffect& effect : effects) perform(effect);
}

void Coordinator::perform(DeskEffect& effect) {
  if (auto* ticket = std::get_if<GiveTicket>(&effect)) return give_ticket(*ticket);
  if (auto* dismissed = std::get_if<Dismiss>(&effect)) {
    const auto waiter = waiters_.find(dismissed->waiter);
    if (waiter == waiters_.end()) return;
    parts_.metrics.checkin_answered(false);
    waiter->second(std::move(dismissed->window));
    waiters_.erase(waiter);
    return;
  }
  if (auto* issued = std::get_if<ReportTickets>(&effect)) {
    const auto round = rounds_.find(issued->key);
    if (round == rounds_.end()) return;
    round->second.issued = issued->total;
    return step_round(round->second.view.job, TicketsIssued{issued->key, issued->total});
  }
  const auto& pool = std::get<ReportPool>(effect);
  waiting_[pool.population] = pool.waiting;
  uint64_t total = 0;
  for (const auto& [population, count] : waiting_) total += count;
  parts_.metrics.set_devices_waiting(total);
  std::vector<JobId> jobs;
  for (const auto& [key, round] : rounds_) {
    if (round.view.population == pool.population) jobs.push_back(round.view.job);
  }
  for (const JobId& job : jobs) step_round(job, PoolChanged{pool.waiting});
  refresh_status();
}

void Coordinator::give_ticket(const GiveTicket& effect) {
  const auto waiter = waiters_.find(effect.waiter);
  const auto round = rounds_.find(effect.view.key);
  if (waiter == waiters_.end() || round == rounds_.end() || !round->second.assignment) {
    run(desk_.undelivered(effect.view.key, effect.device));
    return;
  }
  Assignment assignment = *round->second.assignment;
  assignment.ticket = seal_ticket({effect.view.key, effect.device, assignment.not_after}, parts_.ticket_key);
  parts_.metrics.checkin_answered(true);
  waiter->second(std::move(assignment));
  waiters_.erase(waiter);
}

// ---- Uploads

UploadId Coordinator::offer(const RoundKey& key, const DeviceId& device, uint64_t bytes,
                            std::function<void(UploadAnswer)> answer) {
  const UploadId upload(next_id_.fetch_add(1));
  core_.post([this, upload, key, device, bytes, answer = std::move(answer)]() mutable {
    uploads_.emplace(upload, Upload{key, device, std::move(answer), {}, bytes});
    step_ingest(UploadOffered{upload, key, device, bytes});
  });
  return upload;
}

void Coordinator::received(UploadId upload, UploadBody body, const RoundTotals& contribution,
                           std::function<void(UploadAnswer)> answer) {
  core_.post([this, upload, body = std::move(body), contribution, answer = std::move(answer)]() mutable {
    const auto found = uploads_.find(upload);
    COT_ASSERT(found != uploads_.end());
    if (found->second.decided) {
      answer(std::move(*found->second.decided));
      uploads_.erase(found);
      return;
    }
    found->second.answer = std::move(answer);
    found->second.body = std::move(body);
    step_ingest(UploadReceived{upload, contribution});
  });
}

void Coordinator::lost(UploadId upload) {
  core_.post([this, upload] {
    const auto found = uploads_.find(upload);
    COT_ASSERT(found != uploads_.end());
    const bool decided = found->second.decided.has_value();
    uploads_.erase(found);
    if (!decided) step_ingest(UploadLost{upload});
  });
}

void Coordinator::step_ingest(const IngestEvent& event) {
  run(ingest_.step(event, os::monotonic_now()));
  parts_.metrics.set_bytes_in_flight(ingest_.bytes_in_flight());
  const bool idle = ingest_.idle();
  if (idle == idle_) return;
  const std::lock_guard lock(status_mutex_);
  idle_ = idle;
  idle_changed_.notify_all();
}

void Coordinator::run(IngestEffects effects) {
  for (IngestEffect& effect : effects) perform(effect);
}

void Coordinator::perform(IngestEffect& effect) {
  struct Visitor {
    Coordinator& self;
    void operator()(LookUpAccepted& e) {
      self.store_.post([&c = self, e] {
        Result<bool> accepted = c.parts_.rounds.is_accepted(e.key, e.device);
        c.core_.post([&c, e, accepted = std::move(accepted)] {
          c.step_ingest(AcceptedLookedUp{e.upload, e.key, e.device, accepted});
        });
      });
    }
    void operator()(AdmitUpload& e) {
      const auto upload = self.uploads_.find(e.upload);
      if (upload == self.uploads_.end()) return self.step_ingest(UploadLost{e.upload});
      const LiveRound& round = self.rounds_.at(upload->second.key);
      std::exchange(upload->second.answer, {})(UploadAdmitted{round.view.update, round.view.model, round.session});
    }
    void operator()(RefuseUpload& e) {
      self.parts_.metrics.update_refused(e.error.code());
      self.answer(e.upload, UploadRefused{std::move(e.error), std::move(e.window)});
    }
    void operator()(AcceptUpload& e) {
      const auto upload = self.uploads_.find(e.upload);
      if (upload != self.uploads_.end()) self.parts_.metrics.update_accepted(upload->second.bytes);
      const Digest receipt = receipt_for(e.key, e.device, self.parts_.ticket_key);
      self.answer(e.upload, UploadAccepted{{e.key, Bytes(receipt.bytes.begin(), receipt.bytes.end())}});
    }
    void operator()(AddUpdate& e) { self.add_update(e.upload, e.batch); }
    void operator()(ReleaseBody& e) {
      if (const auto upload = self.uploads_.find(e.upload); upload != self.uploads_.end()) upload->second.body = {};
    }
    void operator()(SpillBatch& e) { self.spill(e); }
    void operator()(CommitBatch& e) { self.commit(e); }
    void operator()(DropBatch& e) { self.drop(e.batch); }
    void operator()(ReportAccepted& e) {
      const auto round = self.rounds_.find(e.key);
      if (round != self.rounds_.end()) self.step_round(round->second.view.job, UpdatesAccepted{e.key, e.total});
    }
    void operator()(NoteAccepted& e) {
      self.desk_.accepted(e.key, e.device);
      self.masked_update_accepted(e.key, e.device);
    }
  };
  std::visit(Visitor{*this}, effect);
}

void Coordinator::answer(UploadId upload, UploadAnswer answer) {
  const auto found = uploads_.find(upload);
  if (found == uploads_.end()) return;
  if (!found->second.answer) {  // who sends a body is told when it has come
    found->second.decided = std::move(answer);
    return;
  }
  found->second.answer(std::move(answer));
  uploads_.erase(found);
}

void Coordinator::add_update(UploadId upload, BatchId batch) {
  Upload& found = uploads_.at(upload);
  LiveRound& round = rounds_.at(found.key);
  if (!round.sum) {
    const bool fits = spare_sum_ && spare_sum_->lane_count() == round.lane_count;
    round.sum = fits ? std::move(spare_sum_) : std::make_shared<ConcurrentSum>(round.lane_count);
    spare_sum_.reset();
  }
  batches_[batch].sum = round.sum;
  if (const auto cohorts = cohorts_.find(found.key); cohorts != cohorts_.end() && found.body.masked) {
    cohorts->second->inputs.insert_or_assign(found.device, *found.body.masked);
  }
  pool_.post([this, upload, sum = round.sum, body = std::exchange(found.body, {}),
              rules = round.view.update]() mutable {
    Status added;
    if (body.masked) {
      sum->add_lanes(body.lanes);
    } else {
      added = check_norm(body.values, rules);
      if (added) added = sum->add(body.values, body.weight, rules.fixed_point);
    }
    body = {};
    core_.post([this, upload, added = std::move(added)] { step_ingest(UpdateAdded{upload, added}); });
  });
}

// The sum goes to a blob in pieces; as soon as it is written (not yet durable) the buffer takes the next batch.
void Coordinator::spill(const SpillBatch& effect) {
  LiveBatch& batch = batches_.at(effect.batch);
  batch.began = os::monotonic_now();
  batch.partial = {.id = settings_.node + "/" + incarnation_ + "/" + std::to_string(effect.batch.value()),
                   .key = effect.key,
                   .totals = effect.totals,
                   .blob = {}};
  pool_.post([this, id = effect.batch, partial = batch.partial, sum = batch.sum] {
    const auto write = [&]() -> Result<std::unique_ptr<BlobWriter>> {
      COT_ASSIGN(std::unique_ptr<BlobWriter> writer, parts_.partials.create());
      COT_TRY(writer->append(encode_head(PartialSumHeader{partial.key, partial.id,
                                                          static_cast<uint32_t>(partial.totals.updates),
                                                          partial.totals.weight, sum->lane_count()})));
      const ByteView lanes(reinterpret_cast<const uint8_t*>(sum->lanes().data()), sum->lanes().size_bytes());
      for (size_t at = 0; at < lanes.size(); at += kSpillBytes) {
        COT_TRY(writer->append(lanes.subspan(at, std::min<size_t>(kSpillBytes, lanes.size() - at))));
      }
      return writer;
    };
    Result<std::unique_ptr<BlobWriter>> writer = write();
    sum->clear();
    core_.post([this, id] { step_ingest(BufferReleased{id}); });
    Result<Digest> blob = writer ? (*writer)->finish() : Result<Digest>(writer.error());
    core_.post([this, id, blob = std::move(blob)] {
      if (blob) batches_.at(id).partial.blob = *blob;
      step_ingest(BatchSpilled{id, blob ? Status() : Status(blob.error())});
    });
  });
}

void Coordinator::commit(const CommitBatch& effect) {
  store_.post([this, id = effect.batch, rows = effect.rows, partial = batches_.at(effect.batch).partial] {
    BatchOutcome outcome = parts_.rounds.accept_batch(partial, rows);
    core_.post([this, id, outcome = std::move(outcome)] {
      const auto batch = batches_.find(id);
      if (std::holds_alternative<BatchDone>(outcome) && batch != batches_.end()) {
        parts_.metrics.batch_committed(seconds_since(batch->second.began));
        batches_.erase(batch);
      }
      step_ingest(BatchAnswered{id, outcome});
    });
  });
}

// A batch that will never count: its buffer is cleared, its blob removed.
void Coordinator::drop(BatchId id) {
  const auto batch = batches_.find(id);
  if (batch == batches_.end()) return;
  if (batch->second.partial.id.empty()) {
    batch->second.sum->clear();  // dropped before it was spilled: nobody else holds the buffer
  } else if (batch->second.partial.blob != Digest{}) {
    store_.post([this, blob = batch->second.partial.blob] {
      if (const Status removed = parts_.partials.remove(blob); !removed) {
        log(LogLevel::warning, "partial_not_removed", {{"reason", removed.error().message()}});
      }
    });
  }
  batches_.erase(batch);
}

}  // namespace coterie
