#include "fl_server/runtime/device_plane.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/runtime/update_norm.h"
#include "proto/codec/codec.h"
#include "proto/codec/update/update_decoder.h"
#include "proto/messages/analytics_check.h"
#include "secure/crypto/random.h"
#include "secure/identity/ticket.h"
#include "secure/quantize/eden.h"

namespace coterie {
namespace {

constexpr uint64_t kSpillBytes = 1 << 20;

// A late update is shorter by its weight, so that no device gains by saying that it is not late.
UpdateRules rules_of(const Plan& plan, uint64_t versions_late) {
  UpdateRules rules = plan.update;
  if (versions_late > 0) rules.clip_l2 *= staleness_weight(versions_late, plan.staleness);
  return rules;
}

double seconds_since(Instant begin) { return std::chrono::duration<double>(os::monotonic_now() - begin).count(); }

}  // namespace

DevicePlane::DevicePlane(DevicePlaneSettings settings, std::string incarnation, DevicePlaneParts parts)
    : settings_(std::move(settings)),
      parts_(parts),
      incarnation_(std::move(incarnation)),
      desk_(settings_.desk, settings_.pace, settings_.draw_seed ? *settings_.draw_seed : random_u64(),
            settings_.draw_seed.has_value()),
      ingest_(settings_.ingest) {}

DevicePlane::~DevicePlane() {
  stop(Millis(0));
  // Connections may end after this: none of them tells us of a loss any more.
  for (const auto& [id, upload] : std::exchange(uploads_, {})) upload.slot->close();
}

// ---- Life

void DevicePlane::start(NodeEvents& events, RefreshRounds refresh) {
  events_ = &events;
  refresh_ = std::move(refresh);
  intake_.emplace(IntakeSettings{.can_look = static_cast<bool>(refresh_)});
  pool_.start(settings_.pool_threads);
  store_.start();
  core_.start([this] { on_deadline(); }, [this] { return next_deadline(); });
}

void DevicePlane::stop(Millis patience) {
  // Updates that are under way get their answers first.
  {
    std::unique_lock lock(idle_mutex_);
    idle_changed_.wait_for(lock, patience, [this] { return idle_; });
  }
  pool_.stop();
  store_.stop();
  core_.stop();  // last: the others answer to it
}

std::optional<Instant> DevicePlane::next_deadline() const {
  std::optional<Instant> next;
  const auto consider = [&](std::optional<Instant> at) {
    if (at) next = next ? std::min(*next, *at) : *at;
  };
  consider(desk_.next_deadline());
  consider(ingest_.next_deadline());
  consider(intake_->next_deadline());
  return next;
}

void DevicePlane::on_deadline() {
  const Instant now = os::monotonic_now();
  run(desk_.time_passed(now));
  step_ingest(IngestTime{});
  step_intake(IntakeTime{});
}

// ---- Rounds

void DevicePlane::serve(const RoundNotice& round) {
  core_.post([this, round] { step_intake(LearnRound{round}); });
}

void DevicePlane::withdraw(const RoundKey& key) {
  core_.post([this, key] { step_intake(ForgetRound{key}); });
}

void DevicePlane::updates_due(const RoundKey& key, uint64_t total) {
  core_.post([this, key, total] { step_intake(LearnDue{key, total}); });
}

void DevicePlane::count_lacking() {
  core_.post([this] {
    if (!rounds_.empty()) {
      for (const auto& [key, devices] : desk_.lacking()) events_->tickets_lacking(key, devices);
    }
    for (const auto& [population, count] : desk_.steered_here(os::monotonic_now()))
      events_->devices_steered(population, count);
  });
}

void DevicePlane::fleet_knows(std::map<Population, uint64_t> populations, uint32_t nodes) {
  core_.post([this, populations = std::move(populations), nodes]() mutable {
    desk_.fleet_knows(std::move(populations), nodes);
  });
}

void DevicePlane::step_intake(const IntakeEvent& event) {
  for (const IntakeEffect& effect : intake_->step(event, os::monotonic_now())) perform(effect);
}

void DevicePlane::perform(const IntakeEffect& effect) {
  struct Visitor {
    DevicePlane& self;
    void operator()(const AskAccepted& e) { self.ask_who_is_accepted(e.key); }
    void operator()(const TakeUp& e) { self.take_up(e); }
    void operator()(const GiveUp& e) { self.give_up(e.key); }
    void operator()(const LookForRounds&) {
      // Called back on any thread.
      self.refresh_([&c = self] { c.core_.post([&c] { c.step_intake(RoundsLookedAt{}); }); });
    }
    void operator()(const StepIngest& e) { self.step_ingest(e.event); }
  };
  std::visit(Visitor{*this}, effect);
}

void DevicePlane::prove_log(const Population& population, uint64_t before, uint64_t size,
                            std::function<void(Result<LogProof>)> answer) {
  store_.post([this, population, before, size, answer = std::move(answer)] {
    answer(parts_.ledger.prove_log(population, before, size));
  });
}

void DevicePlane::ask_who_is_accepted(const RoundKey& key) {
  store_.post([this, key] {
    const auto list = [&]() -> Result<Listed> {
      COT_ASSIGN(std::vector<DeviceId> accepted, parts_.accepts.list_accepted(key));
      COT_ASSIGN(std::vector<DeviceId> resting, parts_.accepts.list_resting(key));
      return Listed{std::move(accepted), std::move(resting)};
    };
    core_.post([this, key, listed = list()] { step_intake(AcceptedListed{key, listed}); });
  });
}

// The ingest machine first: a device that is given a ticket may send its update at once.
void DevicePlane::take_up(const TakeUp& effect) {
  LiveRound& round = rounds_[effect.notice.key];
  round.notice = effect.notice;
  round.terms = terms_of(effect.notice);
  step_ingest(RoundPublished{effect.notice, effect.devices.accepted});
  run(desk_.publish(effect.notice, effect.devices.accepted, effect.devices.resting));
}

void DevicePlane::give_up(const RoundKey& key) {
  step_ingest(RoundWithdrawn{key});
  run(desk_.withdraw(key));
  const auto round = rounds_.find(key);
  COT_ASSERT(round != rounds_.end());
  // A sum that no batch has any more is kept for the next round: its pages are there already.
  std::shared_ptr<Accumulator>& sum = round->second.sum;
  if (sum.use_count() == 1 && !round->second.notice.keeps_updates) spare_sum_ = std::static_pointer_cast<RingSum>(sum);
  rounds_.erase(round);
}

// ---- Check-ins

WaiterId DevicePlane::check_in(const DeviceId& device, const Population& population, Millis hold, PlanFeatures known,
                               std::optional<HeldUpdate> held, std::function<void(CheckinAnswer)> answer) {
  const WaiterId waiter(next_id_.fetch_add(1));
  core_.post(
      [this, waiter, device, population, hold, known, held = std::move(held), answer = std::move(answer)]() mutable {
        waiters_.emplace(waiter, std::move(answer));
        const Millis until = draining_ ? Millis(0) : hold;
        run(desk_.check_in(waiter, device, population, until, os::monotonic_now(), std::move(held), known));
      });
  return waiter;
}

void DevicePlane::dismiss_waiters() {
  core_.post([this] {
    draining_ = true;
    run(desk_.dismiss_all(os::monotonic_now()));
  });
}

void DevicePlane::cancel_check_in(WaiterId waiter) {
  core_.post([this, waiter] {
    waiters_.erase(waiter);
    run(desk_.cancel(waiter));
  });
}

void DevicePlane::ticket_undelivered(const RoundKey& key, const DeviceId& device) {
  core_.post([this, key, device] { run(desk_.undelivered(key, device)); });
}

// No ticket is given back: the same device would be drawn again for the same plan.
void DevicePlane::plan_refused(const DeviceId& device, const Refusal& refusal) {
  const std::string_view reason = refusal_reason::known(refusal.reason);
  if (refusal.round == RoundKey{}) {
    parts_.metrics.device_held(reason);
    return log(LogLevel::info, "device_held", {{"device", device.short_hash()}, {"reason", reason}});
  }
  parts_.metrics.plan_refused(reason);
  log(LogLevel::info, "plan_refused",
      {{"device", device.short_hash()},
       {"round", refusal.round.round.value()},
       {"attempt", refusal.round.attempt.value()},
       {"reason", reason}});
}

void DevicePlane::run(DeskEffects effects) {
  for (DeskEffect& effect : effects) perform(effect);
  note_outcomes();
}

void DevicePlane::note_outcomes() {
  const CheckinCounts& counts = desk_.counts();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == counted_[i]) continue;
    parts_.metrics.checkins_ended(to_string(static_cast<CheckinOutcome>(i)), counts[i] - counted_[i]);
  }
  counted_ = counts;
}

void DevicePlane::perform(DeskEffect& effect) {
  if (auto* ticket = std::get_if<GiveTicket>(&effect)) return give_ticket(*ticket);
  if (auto* dismissed = std::get_if<Dismiss>(&effect)) {
    const auto waiter = waiters_.find(dismissed->waiter);
    if (waiter == waiters_.end()) return;
    parts_.metrics.checkin_answered(false);
    waiter->second(std::move(dismissed->window));
    waiters_.erase(waiter);
    devices_steered_ = desk_.steered(os::monotonic_now());
    return;
  }
  if (std::holds_alternative<GiveHeldUp>(effect)) return parts_.metrics.update_wasted("too_late");
  if (auto* issued = std::get_if<ReportTickets>(&effect)) {
    return events_->tickets_issued(issued->key, issued->total);
  }
  const auto& pool = std::get<ReportPool>(effect);
  waiting_[pool.population] = pool.waiting;
  uint64_t total = 0;
  for (const auto& [population, count] : waiting_) total += count;
  parts_.metrics.set_devices_waiting(total);
  events_->pool_changed(pool.population, pool.waiting);
}

void DevicePlane::give_ticket(const GiveTicket& effect) {
  const auto waiter = waiters_.find(effect.waiter);
  const auto round = rounds_.find(effect.key);
  if (waiter == waiters_.end() || round == rounds_.end()) {
    run(desk_.undelivered(effect.key, effect.device));
    return;
  }
  Assignment assignment = round->second.notice.assignment;
  assignment.ticket = seal_ticket(claims_of(round->second.notice, effect), parts_.ticket_key);
  parts_.metrics.checkin_answered(true);
  waiter->second(std::move(assignment));
  waiters_.erase(waiter);
}

// ---- Uploads

UploadId DevicePlane::offer(const RoundKey& key, const DeviceId& device, uint64_t bytes,
                            std::optional<HandedModel> handed, std::shared_ptr<UploadSlot> slot) {
  const UploadId upload(next_id_.fetch_add(1));  // here: the caller names the upload before the core has heard of it
  const bool is_heard = core_.post([this, upload, key, device, bytes, handed = std::move(handed), slot]() mutable {
    uploads_.emplace(upload, Upload{key, device, slot, {}, bytes, std::move(handed)});
    step_intake(OfferUpload{{upload, key, device, bytes}});
  });
  if (!is_heard) slot->close();  // the core has stopped
  return upload;
}

// Whoever is not among the uploads any more was decided while the core was on its way to hear of it.
void DevicePlane::received(UploadId upload, UploadBody body, const RoundTotals& contribution) {
  core_.post([this, upload, body = std::move(body), contribution]() mutable {
    const auto found = uploads_.find(upload);
    if (found == uploads_.end()) return;
    found->second.body = std::move(body);
    step_ingest(UploadReceived{upload, contribution});
  });
}

void DevicePlane::lost(UploadId upload) {
  core_.post([this, upload] {
    if (uploads_.erase(upload) > 0) step_ingest(UploadLost{upload});
  });
}

void DevicePlane::step_ingest(const IngestEvent& event) {
  run(ingest_.step(event, os::monotonic_now()));
  bytes_in_flight_ = ingest_.bytes_in_flight();
  parts_.metrics.set_bytes_in_flight(bytes_in_flight_);
  const bool idle = ingest_.idle();
  if (idle == idle_) return;  // read without the lock: nobody but the core writes it
  const std::lock_guard lock(idle_mutex_);
  idle_ = idle;
  idle_changed_.notify_all();
}

void DevicePlane::run(IngestEffects effects) {
  for (IngestEffect& effect : effects) perform(effect);
}

void DevicePlane::perform(IngestEffect& effect) {
  struct Visitor {
    DevicePlane& self;
    void operator()(LookUpAccepted& e) {
      self.store_.post([&c = self, e] {
        c.core_.post([&c, e, fate = c.parts_.accepts.look_up(e.key, e.device)] { c.looked_up(e, fate); });
      });
    }
    void operator()(AdmitUpload& e) {
      const auto upload = self.uploads_.find(e.upload);
      if (upload == self.uploads_.end()) return self.step_ingest(UploadLost{e.upload});
      const LiveRound& round = self.rounds_.at(upload->second.key);
      const Assignment& assignment = round.notice.assignment;
      const std::optional<HandedModel>& handed = upload->second.handed;
      upload->second.versions_late = versions_late(handed, assignment.model_version);
      upload->second.slot->admit(
          {round.notice.plan.update, handed ? handed->model : assignment.model, round.terms.session});
    }
    void operator()(RefuseUpload& e) {
      self.parts_.metrics.update_refused(e.error.code());
      self.count_waste(e);
      self.decide(e.upload, UploadRefused{std::move(e.error), std::move(e.window)});
    }
    void operator()(AcceptUpload& e) {
      const auto upload = self.uploads_.find(e.upload);
      if (upload != self.uploads_.end()) {
        self.parts_.metrics.update_accepted(upload->second.bytes);
        if (upload->second.versions_late > 0) self.parts_.metrics.update_joined();
      }
      // The update is durable. If this answer is lost the device sends again, and gets the same receipt.
      os::crash_point(os::CrashPoint::ingest_before_receipt);
      const Digest receipt = receipt_for(e.key, e.device, self.parts_.ticket_key);
      self.decide(e.upload, UploadAccepted{{e.key, Bytes(receipt.bytes.begin(), receipt.bytes.end())}});
    }
    void operator()(AddUpdate& e) { self.add_update(e.upload, e.batch); }
    void operator()(ReleaseBody& e) {
      if (const auto upload = self.uploads_.find(e.upload); upload != self.uploads_.end()) upload->second.body = {};
    }
    void operator()(SpillBatch& e) { self.spill(e); }
    void operator()(CommitBatch& e) { self.commit(e); }
    void operator()(DropBatch& e) { self.drop(e.batch); }
    void operator()(ReportAccepted& e) { self.events_->updates_accepted(e.key, e.total); }
    void operator()(NoteAccepted& e) {
      const RoundTotals& said = e.contribution;  // for the draw of later rounds; behind masks it is nothing
      self.desk_.accepted(e.key, e.device, report_of(said.loss_sum, said.examples, said.train_ms, 0));
      self.events_->update_accepted(e.key, e.device);
    }
  };
  std::visit(Visitor{*this}, effect);
}

void DevicePlane::looked_up(const LookUpAccepted& asked, const Result<UpdateFate>& fate) {
  const auto upload = uploads_.find(asked.upload);
  const bool may_join = upload != uploads_.end() && upload->second.handed;
  step_ingest(coterie::looked_up(asked, fate, may_join));
}

// An update that came too late for its round, where no later one may count it: its device goes on to other work.
void DevicePlane::count_waste(const RefuseUpload& refused) {
  const auto upload = uploads_.find(refused.upload);
  if (upload == uploads_.end() || upload->second.handed || refused.error.code() != ErrorCode::round_closed) return;
  parts_.metrics.update_wasted("late");
}

void DevicePlane::decide(UploadId upload, UploadDecision decision) {
  const auto found = uploads_.extract(upload);
  if (found) found.mapped().slot->decide(std::move(decision));
}

std::shared_ptr<Accumulator> DevicePlane::make_sum(const LiveRound& round) {
  const FixedPointSpec spec = summed_as(round.notice.plan.update);
  if (round.notice.keeps_updates) return std::make_shared<KeptUpdates>(round.terms.lane_count, spec);
  const std::shared_ptr<RingSum> spare = std::exchange(spare_sum_, nullptr);
  if (spare && spare->lane_count() == round.terms.lane_count && spare->spec() == spec) return spare;
  return std::make_shared<RingSum>(round.terms.lane_count, spec);
}

void DevicePlane::add_update(UploadId upload, BatchId batch) {
  Upload& found = uploads_.at(upload);
  LiveRound& round = rounds_.at(found.key);
  if (!round.sum) round.sum = make_sum(round);
  batches_[batch].sum = round.sum;
  pool_.post([this, upload, sum = round.sum, device = found.device, body = std::exchange(found.body, {}),
              rules = rules_of(round.notice.plan, found.versions_late),
              analytics = round.notice.plan.analytics]() mutable {
    Status added;
    if (body.masked) {
      sum->merge(body.lanes);  // behind masks there is nothing to judge: the sum's check lanes are, when it is opened
    } else {
      // Pooled statistics are outside the clip, and which values they are only the model says. Without noise, which
      // does not go with them, the clip protects nobody but the model.
      if (body.eden) {
        added = decode_eden(body.eden->scale, rules.quantization.bits, body.eden->rotation_seed,
                            rules.fixed_point.value_abs_max, body.decoded);
      }
      if (added && rules.encoding != UpdateEncoding::float32_pooled) added = check_norm(body.values, rules);
      if (added && analytics) added = check_lanes(*analytics, body.values);
      if (added) added = sum->add(body.values, body.weight, device);
    }
    body = {};
    core_.post([this, upload, added = std::move(added)] { step_ingest(UpdateAdded{upload, added}); });
  });
}

// The sum goes to a blob in pieces; as soon as it is written (not yet durable) the buffer takes the next batch.
void DevicePlane::spill(const SpillBatch& effect) {
  LiveBatch& batch = batches_.at(effect.batch);
  batch.began = os::monotonic_now();
  // A name that no other life of this node gives again: a batch of a known name counts as committed.
  batch.partial = {.id = settings_.node + "/" + incarnation_ + "/" + std::to_string(effect.batch.value()),
                   .key = effect.key,
                   .totals = effect.totals,
                   .blob = {}};
  pool_.post([this, id = effect.batch, partial = batch.partial, sum = batch.sum] {
    const auto write = [&]() -> Result<std::unique_ptr<BlobWriter>> {
      COT_ASSIGN(std::unique_ptr<BlobWriter> writer, parts_.partials.create());
      COT_TRY(writer->append(
          encode_head(PartialSumHeader{partial.key, partial.id, static_cast<uint32_t>(partial.totals.updates),
                                       partial.totals.weight, sum->lane_count()})));
      const ByteView lanes(reinterpret_cast<const uint8_t*>(sum->lanes().data()), sum->lanes().size_bytes());
      for (size_t at = 0; at < lanes.size(); at += kSpillBytes) {
        COT_TRY(writer->append(lanes.subspan(at, std::min<size_t>(kSpillBytes, lanes.size() - at))));
      }
      return writer;
    };
    Result<std::unique_ptr<BlobWriter>> writer = write();
    sum->clear();  // also if that failed: its devices are asked to send again
    core_.post([this, id] { step_ingest(BufferReleased{id}); });
    Result<Digest> blob = writer ? (*writer)->finish() : Result<Digest>(writer.error());
    core_.post([this, id, blob = std::move(blob)] {
      if (blob) batches_.at(id).partial.blob = *blob;
      step_ingest(BatchSpilled{id, blob ? Status() : Status(blob.error())});
    });
  });
}

void DevicePlane::commit(const CommitBatch& effect) {
  store_.post([this, id = effect.batch, rows = effect.rows, partial = batches_.at(effect.batch).partial] {
    BatchOutcome outcome = parts_.accepts.accept_batch(partial, rows);
    core_.post([this, id, outcome = std::move(outcome)] {
      const auto batch = batches_.find(id);
      // Any other outcome is the machine's to decide: it asks again, or drops the batch.
      if (std::holds_alternative<BatchDone>(outcome) && batch != batches_.end()) {
        parts_.metrics.batch_committed(seconds_since(batch->second.began));
        batches_.erase(batch);
      }
      step_ingest(BatchAnswered{id, outcome});
    });
  });
}

// A batch that will never count: its buffer is cleared, its blob removed.
void DevicePlane::drop(BatchId id) {
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
