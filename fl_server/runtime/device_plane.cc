#include "fl_server/runtime/device_plane.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/runtime/upload_desk.h"
#include "fl_server/runtime/waiting_room.h"
#include "fl_server/store/gate_store.h"

namespace coterie {

DevicePlane::DevicePlane(DevicePlaneSettings settings, std::string incarnation, DevicePlaneParts parts)
    : settings_(std::move(settings)),
      life_(settings_.node + "/" + incarnation),
      parts_(parts),
      room_(std::make_unique<WaitingRoom>(settings_, parts.ticket_key, parts.metrics, parts.probe)),
      uploads_(std::make_unique<UploadDesk>(
          settings_.ingest, life_, parts.ticket_key,
          BatchSums::Parts{parts.accepts, parts.partials, parts.metrics, loops_, parts.probe},
          UploadDesk::Calls{
              [this](const NoteAccepted& noted) { room_->accepted(noted); },
              [this](const RoundKey& key, const DeviceId& device, GateCode code) { room_->met(key, device, code); }})) {
}

DevicePlane::~DevicePlane() { stop(Millis(0)); }

// ---- Life

void DevicePlane::start(NodeEvents& events, RefreshRounds refresh) {
  room_->start(events, [this](const ToldGates& told) { keep(told); });
  uploads_->start(events);
  refresh_ = std::move(refresh);
  intake_.emplace(IntakeSettings{.can_look = static_cast<bool>(refresh_)});
  loops_.start(
      settings_.pool_threads, [this] { on_deadline(); }, [this] { return next_deadline(); });
}

void DevicePlane::stop(Millis patience) {
  uploads_->wait_until_idle(patience);  // updates that are under way get their answers first
  loops_.stop();
}

std::optional<Instant> DevicePlane::next_deadline() const {
  std::optional<Instant> next;
  for (const auto at : {room_->next_deadline(), uploads_->next_deadline(), intake_->next_deadline()}) {
    if (at) next = std::min(*at, next.value_or(*at));
  }
  return next;
}

void DevicePlane::on_deadline() {
  room_->time_passed();
  uploads_->step(IngestTime{});
  step(IntakeTime{});
}

// ---- Rounds

void DevicePlane::serve(const RoundNotice& round) {
  loops_.core.post([this, round] { step(LearnRound{round}); });
}

void DevicePlane::withdraw(const RoundKey& key) {
  loops_.core.post([this, key] { step(ForgetRound{key}); });
}

void DevicePlane::updates_due(const RoundKey& key, uint64_t total) {
  loops_.core.post([this, key, total] { step(LearnDue{key, total}); });
}

void DevicePlane::count_lacking() {
  loops_.core.post([this] { room_->count_lacking(); });
}

void DevicePlane::fleet_knows(std::map<Population, uint64_t> populations, uint32_t nodes) {
  loops_.core.post([this, populations = std::move(populations), nodes]() mutable {
    room_->fleet_knows(std::move(populations), nodes);
  });
}

void DevicePlane::step(const IntakeEvent& event) {
  for (const IntakeEffect& effect : intake_->step(event, os::monotonic_now())) {
    std::visit([this](const auto& e) { perform(e); }, effect);
  }
}

void DevicePlane::perform(const AskAccepted& effect) {
  loops_.store.post([this, key = effect.key] {
    const auto list = [&]() -> Result<Listed> {
      COT_ASSIGN(std::vector<DeviceId> accepted, parts_.accepts.list_accepted(key));
      COT_ASSIGN(std::vector<DeviceId> resting, parts_.accepts.list_resting(key));
      return Listed{std::move(accepted), std::move(resting)};
    };
    loops_.core.post([this, key, listed = list()] { step(AcceptedListed{key, listed}); });
  });
}

// The upload desk first: a device that is given a ticket may send its update at once.
void DevicePlane::perform(const TakeUp& effect) {
  uploads_->publish(effect.notice, effect.devices.accepted);
  room_->publish(effect.notice, effect.devices);
}

void DevicePlane::perform(const GiveUp& effect) {
  uploads_->withdraw(effect.key);
  room_->withdraw(effect.key);
}

// For people who ask why. If the store is away, a later word has it, or nobody: no round depends on it.
void DevicePlane::keep(const ToldGates& told) {
  loops_.store.post([this, row = gate_row_of(told, life_), key = told.key] {
    const Status kept = parts_.gates.keep_gates(key, row);
    if (!kept) log(LogLevel::warning, "gates_not_kept", {{"reason", kept.error().message()}});
  });
}

void DevicePlane::perform(const LookForRounds&) {
  // Called back on any thread.
  refresh_([this] { loops_.core.post([this] { step(RoundsLookedAt{}); }); });
}

void DevicePlane::perform(const StepIngest& effect) { uploads_->step(effect.event); }

void DevicePlane::prove_log(const Population& population, uint64_t before, uint64_t size,
                            std::function<void(Result<LogProof>)> answer) {
  loops_.store.post([this, population, before, size, answer = std::move(answer)] {
    answer(parts_.ledger.prove_log(population, before, size));
  });
}

// ---- Check-ins

WaiterId DevicePlane::check_in(const DeviceId& device, const Population& population, Millis hold, PlanFeatures known,
                               std::optional<HeldUpdate> held, std::function<void(CheckinAnswer)> answer) {
  const WaiterId waiter(next_id_.fetch_add(1));
  loops_.core.post(
      [this, waiter, device, population, hold, known, held = std::move(held), answer = std::move(answer)]() mutable {
        room_->check_in(waiter, device, population, hold, known, std::move(held), std::move(answer));
      });
  return waiter;
}

void DevicePlane::dismiss_waiters() {
  loops_.core.post([this] { room_->dismiss(); });
}

void DevicePlane::cancel_check_in(WaiterId waiter) {
  loops_.core.post([this, waiter] { room_->cancel(waiter); });
}

void DevicePlane::ticket_undelivered(const RoundKey& key, const DeviceId& device) {
  loops_.core.post([this, key, device] { room_->undelivered(key, device); });
}

// On the request's own thread, so that the log's line has its trace.
void DevicePlane::plan_refused(const DeviceId& device, const Refusal& refusal) {
  room_->note_refusal(device, refusal);
  if (refusal.round == RoundKey{}) return;
  const GateCode code{DeviceGate::plan_refused, refusal_reason::known(refusal.reason)};
  loops_.core.post([this, device, key = refusal.round, code] { room_->met(key, device, code); });
}

void DevicePlane::fetched(const DeviceId& device, const Digest& name) {
  loops_.core.post([this, device, name] { room_->fetched(device, name); });
}

uint64_t DevicePlane::devices_steered() const { return room_->devices_steered(); }

// ---- Uploads

UploadId DevicePlane::offer(const RoundKey& key, const DeviceId& device, uint64_t bytes,
                            std::optional<HandedModel> handed, std::shared_ptr<UploadSlot> slot) {
  const UploadId upload(next_id_.fetch_add(1));  // here: the caller names the upload before the core has heard of it
  const bool is_heard =
      loops_.core.post([this, upload, key, device, bytes, handed = std::move(handed), slot]() mutable {
        uploads_->enter(upload, {key, device, bytes, std::move(handed), std::move(slot)});
        step(OfferUpload{{upload, key, device, bytes}});
      });
  if (!is_heard) slot->close();  // the core has stopped
  return upload;
}

// Whoever is not among the uploads any more was decided while the core was on its way to hear of it.
void DevicePlane::received(UploadId upload, UploadBody body, const RoundTotals& contribution) {
  loops_.core.post([this, upload, body = std::move(body), contribution]() mutable {
    uploads_->received(upload, std::move(body), contribution);
  });
}

void DevicePlane::lost(UploadId upload) {
  loops_.core.post([this, upload] { uploads_->lost(upload); });
}

void DevicePlane::body_refused(const RoundKey& key, const DeviceId& device, ErrorCode code) {
  loops_.core.post([this, key, device, code] {
    room_->met(key, device, {DeviceGate::update_refused, traits(code).name});
  });
}

uint64_t DevicePlane::bytes_in_flight() const { return uploads_->bytes_in_flight(); }

}  // namespace coterie
