#include "fl_server/runtime/upload_desk.h"

#include <utility>

#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/runtime/ticket_terms.h"

namespace coterie {

UploadDesk::UploadDesk(const IngestLimits& limits, std::string life, const MacKey& ticket_key, BatchSums::Parts parts,
                       Calls calls)
    : ticket_key_(ticket_key),
      parts_(parts),
      calls_(std::move(calls)),
      machine_(limits),
      sums_(std::move(life), parts, [this](const IngestEvent& event) { step(event); }) {}

UploadDesk::~UploadDesk() {
  for (const auto& [id, upload] : std::exchange(uploads_, {})) upload.offered.slot->close();
}

// ---- Rounds

void UploadDesk::publish(const RoundNotice& notice, const std::vector<DeviceId>& accepted) {
  const AttemptTerms terms = terms_of(notice);
  rounds_.insert_or_assign(notice.key, Round{notice, terms});
  sums_.take_up(notice, terms);
  step(RoundPublished{notice, accepted});
}

void UploadDesk::withdraw(const RoundKey& key) {
  step(RoundWithdrawn{key});
  sums_.give_up(key);
  rounds_.erase(key);
}

void UploadDesk::step(const IngestEvent& event) {
  for (const IngestEffect& effect : machine_.step(event, os::monotonic_now())) {
    std::visit([this](const auto& e) { perform(e); }, effect);
  }
  bytes_in_flight_ = machine_.bytes_in_flight();
  parts_.metrics.set_bytes_in_flight(bytes_in_flight_);
  tell_idle();
}

void UploadDesk::tell_idle() {
  const bool idle = machine_.idle();
  if (idle == idle_) return;  // read without the lock: nobody but the core writes it
  const std::lock_guard lock(idle_mutex_);
  idle_ = idle;
  idle_changed_.notify_all();
}

void UploadDesk::wait_until_idle(Millis patience) {
  std::unique_lock lock(idle_mutex_);
  idle_changed_.wait_for(lock, patience, [this] { return idle_; });
}

// ---- An upload

UploadDesk::Upload* UploadDesk::find(UploadId upload) {
  const auto found = uploads_.find(upload);
  return found == uploads_.end() ? nullptr : &found->second;
}

void UploadDesk::enter(UploadId upload, Offered offered) {
  if (calls_.met) calls_.met(offered.key, offered.device, {DeviceGate::uploading});
  tell_probe(offered, DeviceStep::uploads);
  uploads_.emplace(upload, Upload{std::move(offered)});
}

void UploadDesk::tell_probe(const Offered& offered, DeviceStep step) const {
  if (parts_.probe != nullptr) parts_.probe->device_at(offered.key, offered.device, step);
}

void UploadDesk::received(UploadId upload, UploadBody body, const RoundTotals& contribution) {
  Upload* const found = find(upload);
  if (found == nullptr) return;
  found->body = std::move(body);
  tell_probe(found->offered, DeviceStep::received);
  step(UploadReceived{upload, contribution});
}

void UploadDesk::lost(UploadId upload) {
  if (uploads_.erase(upload) > 0) step(UploadLost{upload});
}

void UploadDesk::perform(const LookUpAccepted& effect) {
  parts_.loops.store.post([this, effect] {
    parts_.loops.core.post([this, effect, fate = parts_.accepts.look_up(effect.key, effect.device)] {
      const Upload* const upload = find(effect.upload);
      step(looked_up(effect, fate, upload != nullptr && upload->offered.handed));
    });
  });
}

void UploadDesk::perform(const AdmitUpload& effect) {
  Upload* const upload = find(effect.upload);
  if (upload == nullptr) return step(UploadLost{effect.upload});
  const Round& round = must_find(rounds_, upload->offered.key, "an upload is admitted to a round that is served");
  const Assignment& assignment = round.notice.assignment;
  const std::optional<HandedModel>& handed = upload->offered.handed;
  upload->versions_late = versions_late(handed, assignment.model_version);
  upload->offered.slot->admit(
      {round.notice.plan.update, handed ? handed->model : assignment.model, round.terms.session});
}

void UploadDesk::perform(const RefuseUpload& effect) {
  parts_.metrics.update_refused(effect.error.code());
  // One that came too late for its round, where no later one may count it: its device goes on to other work.
  const Upload* const upload = find(effect.upload);
  const bool is_late = effect.error.code() == ErrorCode::round_closed;
  if (upload != nullptr && is_late && !upload->offered.handed) parts_.metrics.update_wasted("late");
  if (upload != nullptr && calls_.met) {
    calls_.met(upload->offered.key, upload->offered.device, gate_of_refusal(effect.error));
  }
  decide(effect.upload, UploadRefused{effect.error, effect.window});
}

void UploadDesk::perform(const AcceptUpload& effect) {
  if (const Upload* const upload = find(effect.upload)) {
    parts_.metrics.update_accepted(upload->offered.bytes);
    tell_probe(upload->offered, DeviceStep::accepted);
    if (upload->versions_late > 0) parts_.metrics.update_joined();
  }
  // The update is durable. If this answer is lost the device sends again, and gets the same receipt.
  os::crash_point(os::CrashPoint::ingest_before_receipt);
  const Digest receipt = receipt_for(effect.key, effect.device, ticket_key_);
  decide(effect.upload, UploadAccepted{{effect.key, Bytes(receipt.bytes.begin(), receipt.bytes.end())}});
}

void UploadDesk::decide(UploadId upload, UploadDecision decision) {
  const auto found = uploads_.extract(upload);
  if (found) found.mapped().offered.slot->decide(std::move(decision));
}

void UploadDesk::perform(const AddUpdate& effect) {
  Upload& upload = must_find(uploads_, effect.upload, "an update that is added is not decided");
  sums_.add(effect, {upload.offered.key, upload.offered.device, std::exchange(upload.body, {}), upload.versions_late});
}

void UploadDesk::perform(const ReleaseBody& effect) {
  if (Upload* const upload = find(effect.upload)) upload->body = {};
}

void UploadDesk::perform(const NoteAccepted& effect) {
  calls_.accepted(effect);
  events_->update_accepted(effect.key, effect.device);
}

}  // namespace coterie
