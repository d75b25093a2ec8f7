#include "fl_server/core/ingest_machine.h"

#include <algorithm>
#include <set>

#include "base/checked.h"

namespace coterie {
namespace {

constexpr Millis kCommitRetryFirst{100};
constexpr Millis kCommitRetryMax{5'000};

// While nobody is arriving, a batch waits for so many times the cost of a flush: a fifth of the time is spent on them.
constexpr int kQuietFlushes = 4;
constexpr Millis kQuietLingerMax{250};

// How soon a device whose update was not taken, through no fault of its own, may send it again.
constexpr RetryWindow send_again_soon() { return {0, 500, {}}; }
constexpr RetryWindow send_again_later() { return {1'000, 5'000, {}}; }

// What an update takes beside its body: values that do not lie in it as they are are unpacked, to 4 bytes each, before
// they are added.
uint64_t unpacked_bytes(const UpdateRules& rules) { return rules.is_float32() ? 0 : 4 * rules.value_count; }

Error round_is_closed() {
  return Error(ErrorCode::round_closed, "this round takes no more updates; check in for the next one");
}

Error round_is_over() {
  return Error(ErrorCode::ticket_expired, "this round is over without this update; check in with its ticket");
}

}  // namespace

IngestEffects IngestMachine::step(const IngestEvent& event, Instant now) {
  now_ = std::max(now_, now);
  std::visit([this](const auto& e) { handle(e); }, event);
  if (step_check_.is_due(uploads_.size())) check();
  return std::exchange(effects_, {});
}

// An upload keeps its lane, a member of a batch keeps its batch: forget_finished_lanes() and answer_members() see to
// it.
IngestMachine::Lane& IngestMachine::lane_of(const RoundKey& key) {
  return must_find(lanes_, key, "the attempt of an upload or a batch has a lane");
}

IngestMachine::Upload& IngestMachine::upload_of(UploadId id) {
  return must_find(uploads_, id, "an upload that waits, is added or is a member of a batch is known");
}

IngestMachine::Batch& IngestMachine::live_batch(BatchId id) {
  return must_find(batches_, id, "a batch that has the buffer, has members or is being written is live");
}

std::optional<Instant> IngestMachine::next_deadline() const {
  std::optional<Instant> next;
  const auto consider = [&](Instant at) { next = next ? std::min(*next, at) : at; };
  if (!queue_.empty()) {
    consider(must_find(uploads_, queue_.front(), "an upload in the queue is known").queued_until);
  }
  for (const auto& [id, batch] : batches_) {
    if (batch.stage == BatchStage::open) consider(flush_due(batch));
    if (batch.retry_at) consider(*batch.retry_at);
  }
  return next;
}

// An open batch is flushed at once while there is credit for a flush. Without credit it waits until there is some, at
// least linger_min, as others are arriving, and at most linger_max. While nobody is arriving it may overdraw sooner:
// the next device may come at any moment, or never.
Instant IngestMachine::flush_due(const Batch& batch) const {
  const Instant credit = flushes_.due();
  // Not before what is being added is in the sum: sealed sooner, the batch would only keep others out.
  if (credit <= batch.opened) return batch.adding == 0 ? batch.opened : batch.opened + limits_.linger_min;
  const Lane& lane = must_find(lanes_, batch.key, "the attempt of a batch has a lane");
  if (lane.arriving == 0 && batch.adding == 0) {
    return std::min(credit, batch.opened + std::min(kQuietFlushes * flushes_.cost(), kQuietLingerMax));
  }
  return std::clamp(credit, batch.opened + limits_.linger_min,
                    batch.opened + std::max(limits_.linger_min, limits_.linger_max));
}

IngestMachine::Lane* IngestMachine::open_lane(const RoundKey& key) {
  const auto lane = lanes_.find(key);
  return lane == lanes_.end() || lane->second.closed ? nullptr : &lane->second;
}

// One update more could wrap the sum. A device that is accepted and still in a batch counts twice here, which errs on
// the safe side.
bool IngestMachine::is_full(const Lane& lane) {
  return lane.accepted.size() + lane.in_batch.size() >= lane.notice.plan.update.fixed_point.contributors_max;
}

// Kept updates lie in memory until their batch is spilled; so do sums of cohorts, of which there are no more than
// updates.
uint32_t IngestMachine::batch_updates_max(const RoundNotice& notice) const {
  if (!notice.keeps_updates) return limits_.batch_updates_max;
  const bool is_masked = notice.plan.privacy.level != SecurityLevel::none;
  const uint64_t value_bytes = is_masked ? sizeof(uint64_t) : sizeof(float);
  const uint64_t update_bytes = std::max<uint64_t>(1, notice.plan.update.value_count * value_bytes);
  const uint64_t fit = std::max<uint64_t>(1, limits_.kept_batch_bytes_max / update_bytes);
  return static_cast<uint32_t>(std::min<uint64_t>(fit, limits_.batch_updates_max));
}

// ---- From the offer to the sum

void IngestMachine::handle(const UploadOffered& event) {
  Lane* lane = open_lane(event.key);
  if (lane == nullptr) {  // perhaps accepted, and only our answer was lost: the store remembers
    effects_.push_back(LookUpAccepted{event.upload, event.key, event.device});
    return;
  }
  // Counted, and only the receipt was lost: it gets another one however busy this server is.
  if (lane->accepted.contains(event.device)) {
    effects_.push_back(AcceptUpload{event.upload, event.key, event.device});
    return;
  }
  if (is_full(*lane)) return refuse(event.upload, round_is_closed(), send_again_soon());
  // In the queue it would wait for room that never comes, and all behind it would, too.
  const uint64_t bytes = checked_add(event.bytes, unpacked_bytes(lane->notice.plan.update)).value_or(UINT64_MAX);
  if (bytes > limits_.bytes_in_flight_max) {
    return refuse(event.upload,
                  Error(ErrorCode::too_large, "an update of " + std::to_string(bytes) +
                                                  " bytes is more than this server receives at once (" +
                                                  std::to_string(limits_.bytes_in_flight_max) + ")"),
                  {});
  }
  if (queue_.size() >= limits_.uploads_queued_max) {
    return refuse(event.upload, Error(ErrorCode::overloaded, "too many uploads wait; come back later"),
                  send_again_later());
  }
  COT_INVARIANT(!uploads_.contains(event.upload), "an upload is offered once");
  uploads_[event.upload] = {.key = event.key,
                            .device = event.device,
                            .bytes = bytes,
                            .reserved = false,
                            .stage = Stage::queued,
                            .contribution = {},
                            .queued_until = now_ + limits_.queued_max};
  ++lane->arriving;
  queue_.push_back(event.upload);
  admit_queued();
}

void IngestMachine::handle(const AcceptedLookedUp& event) {
  if (!event.accepted) return refuse(event.upload, event.accepted.error(), send_again_later());
  if (!*event.accepted) {
    return refuse(event.upload, event.is_over ? round_is_over() : round_is_closed(), send_again_soon());
  }
  effects_.push_back(AcceptUpload{event.upload, event.key, event.device});
}

// In the order of their offers, although a later and smaller one might fit: or large updates would wait for ever.
void IngestMachine::admit_queued() {
  while (!queue_.empty()) {
    Upload& upload = upload_of(queue_.front());
    if (bytes_in_flight_ + upload.bytes > limits_.bytes_in_flight_max) return;
    bytes_in_flight_ += upload.bytes;
    upload.reserved = true;
    move_to(upload, Stage::receiving);
    effects_.push_back(AdmitUpload{queue_.front()});
    queue_.pop_front();
  }
}

void IngestMachine::handle(const UploadReceived& event) {
  const auto found = uploads_.find(event.upload);
  if (found == uploads_.end()) return;  // refused meanwhile: its round closed
  Upload& upload = found->second;
  COT_INVARIANT(upload.stage == Stage::receiving, "a body comes once, after its upload was admitted");
  Lane& lane = lane_of(upload.key);
  move_to(upload, Stage::ready);
  upload.contribution = event.contribution;
  place(event.upload, lane);
  consider_seal(lane);
}

// Into the batch that has the sum buffer, or among those that wait for the buffer.
void IngestMachine::place(UploadId id, Lane& lane) {
  Upload& upload = upload_of(id);
  COT_INVARIANT(upload.stage == Stage::ready, "what is placed was received");
  // Counted by now, by another upload of the device or at another node: in a batch it could only spoil the others.
  if (lane.accepted.contains(upload.device)) {
    effects_.push_back(AcceptUpload{id, upload.key, upload.device});
    forget(id);
    return admit_queued();
  }
  // The device sent again while its first try is in a batch. Both hear what becomes of the batch; the second body is
  // not needed.
  if (const auto joined = lane.in_batch.find(upload.device); joined != lane.in_batch.end()) {
    for (Member& member : live_batch(joined->second).members) {
      if (member.device == upload.device) member.uploads.push_back(id);
    }
    move_to(upload, Stage::added);
    release_bytes(upload);
    effects_.push_back(ReleaseBody{id});
    return admit_queued();
  }
  // Each of those that were admitted found room when it was offered; the room is only taken here.
  if (is_full(lane)) {
    refuse(id, round_is_closed(), send_again_soon());
    return admit_queued();
  }
  if (!lane.buffer) {
    lane.buffer = BatchId(next_batch_++);
    Batch& batch = batches_[*lane.buffer];
    batch.key = upload.key;
    batch.opened = now_;
  }
  Batch& batch = live_batch(*lane.buffer);
  // A full batch is sealed at the end of the step: when many were ready, some of them wait for the next one.
  if (batch.stage != BatchStage::open || batch.members.size() >= lane.batch_updates_max) {
    lane.ready.push_back(id);
    return;
  }
  move_to(upload, Stage::adding);
  ++batch.adding;
  batch.members.push_back({upload.device, {id}, upload.contribution});
  lane.in_batch.emplace(upload.device, *lane.buffer);
  effects_.push_back(AddUpdate{id, *lane.buffer});
}

void IngestMachine::place_ready(Lane& lane) {
  const std::deque<UploadId> waiting = std::exchange(lane.ready, {});
  for (UploadId id : waiting) place(id, lane);
  consider_seal(lane);
}

void IngestMachine::handle(const UpdateAdded& event) {
  Upload& upload = upload_of(event.upload);
  COT_INVARIANT(upload.stage == Stage::adding, "an update is added once, after AddUpdate asked for it");
  Lane& lane = lane_of(upload.key);
  const BatchId id = must_find(lane.in_batch, upload.device, "an update that is being added is in a batch");
  Batch& batch = live_batch(id);
  --batch.adding;
  move_to(upload, Stage::added);
  release_bytes(upload);
  if (!event.added) {  // not a number, or beyond the plan's bounds: this device is not in the batch after all
    const auto member = std::find_if(batch.members.begin(), batch.members.end(),
                                     [&](const Member& m) { return m.device == upload.device; });
    COT_INVARIANT(member != batch.members.end(), "a device in a batch is one of its members");
    const Member gone = std::move(*member);  // its joined uploads are refused, too: their bodies were let go
    batch.members.erase(member);
    lane.in_batch.erase(gone.device);
    refuse_member(gone, event.added.error(), {});
  }
  admit_queued();
  if (batch.stage == BatchStage::sealed) return spill_if_quiet(id);
  consider_seal(lane);
}

void IngestMachine::handle(const UploadLost& event) {
  const auto found = uploads_.find(event.upload);
  if (found == uploads_.end()) return;
  const Stage stage = found->second.stage;
  if (stage == Stage::adding || stage == Stage::added) return;  // the update counts without its connection
  Lane& lane = lane_of(found->second.key);
  if (stage == Stage::queued) std::erase(queue_, event.upload);
  if (stage == Stage::ready) std::erase(lane.ready, event.upload);
  forget(event.upload);
  admit_queued();
  consider_seal(lane);
}

// ---- From the sum to the store

// A batch is flushed when it is full, when it completes the round, or when its time has come (flush_due).
void IngestMachine::consider_seal(Lane& lane) {
  if (!lane.buffer) return;
  Batch& batch = live_batch(*lane.buffer);
  if (batch.stage != BatchStage::open) return;
  const bool full = batch.members.size() >= lane.batch_updates_max;
  const bool completes = lane.accepted.size() + lane.in_batch.size() >= lane.due.value_or(lane.notice.goal_count);
  const bool old = now_ >= flush_due(batch);
  if (!full && !completes && !old && !lane.closed) return;
  batch.stage = BatchStage::sealed;
  spill_if_quiet(*lane.buffer);
}

void IngestMachine::spill_if_quiet(BatchId id) {
  Batch& batch = live_batch(id);
  COT_INVARIANT(batch.stage == BatchStage::sealed, "only a sealed batch is spilled");
  if (batch.adding > 0) return;  // the last addition spills it: the lanes must not change while they are copied
  Lane& lane = lane_of(batch.key);
  // Closed: the store would refuse it anyway. Empty: every update of it turned out to be bad.
  if (lane.closed || batch.members.empty()) {
    lane.buffer.reset();
    answer_members(id, BatchClosed{});
    return place_ready(lane);
  }
  batch.stage = BatchStage::spilling;
  batch.spill_began = now_;
  batch.charged = flushes_.began(now_);
  RoundTotals totals;
  for (const Member& member : batch.members) totals += member.contribution;
  effects_.push_back(SpillBatch{id, batch.key, totals});
}

void IngestMachine::handle(const BufferReleased& event) {
  const auto found = batches_.find(event.batch);
  if (found == batches_.end()) return;  // told late: BatchSpilled released it, and the store has answered since
  COT_INVARIANT(found->second.stage >= BatchStage::spilling, "a buffer is released by the batch that was spilled");
  Lane& lane = lane_of(found->second.key);
  if (lane.buffer != event.batch) return;
  lane.buffer.reset();
  place_ready(lane);
}

void IngestMachine::handle(const BatchSpilled& event) {
  COT_INVARIANT(live_batch(event.batch).stage == BatchStage::spilling, "a batch is spilled once, after SpillBatch");
  handle(BufferReleased{event.batch});  // a durable blob needs no buffer, whether or not the release was told
  if (!event.durable) return answer_members(event.batch, BatchFailed{event.durable.error()});
  commit(event.batch);
}

void IngestMachine::commit(BatchId id) {
  Batch& batch = live_batch(id);
  COT_INVARIANT(batch.adding == 0 && !batch.members.empty(), "what is committed is complete and not empty");
  batch.stage = BatchStage::committing;
  batch.retry_at.reset();
  RoundTotals totals;
  std::vector<AcceptRow> rows;
  for (const Member& member : batch.members) {
    totals += member.contribution;
    rows.push_back({member.device, member.contribution.examples});
  }
  effects_.push_back(CommitBatch{id, batch.key, totals, std::move(rows)});
}

void IngestMachine::handle(const BatchAnswered& event) {
  const auto found = batches_.find(event.batch);
  if (found == batches_.end()) return;  // answered before: a retry crossed the first answer
  Batch& batch = found->second;
  COT_INVARIANT(batch.stage == BatchStage::committing, "the store answers a batch that it was given");
  // In doubt: it may be written. Neither a receipt nor a refusal would be true, so the store is asked again.
  if (std::holds_alternative<BatchUnknown>(event.outcome)) {
    batch.retry_at = now_ + std::min(kCommitRetryMax, kCommitRetryFirst * (1u << std::min(batch.retries, 10u)));
    ++batch.retries;
    return;
  }
  answer_members(event.batch, event.outcome);
}

void IngestMachine::answer_members(BatchId id, const BatchOutcome& outcome) {
  const Batch batch = std::move(live_batch(id));
  batches_.erase(id);
  Lane& lane = lane_of(batch.key);
  for (const Member& member : batch.members) lane.in_batch.erase(member.device);
  if (batch.stage >= BatchStage::spilling) flushes_.ended(batch.charged, now_ - batch.spill_began, now_);
  if (std::holds_alternative<BatchDone>(outcome)) {
    for (const Member& member : batch.members) accept_member(batch.key, lane, member);
    effects_.push_back(ReportAccepted{batch.key, lane.accepted.size()});
    return;
  }
  effects_.push_back(DropBatch{id});
  // The sum contains devices that count already, and nothing can be taken out of a sum: the whole batch is given up.
  if (const auto* conflict = std::get_if<BatchConflict>(&outcome)) {
    const std::unordered_set<DeviceId> before(conflict->accepted_before.begin(), conflict->accepted_before.end());
    const Error again(ErrorCode::unavailable, "not counted yet; send the update again");
    for (const Member& member : batch.members) {
      if (before.contains(member.device)) accept_member(batch.key, lane, member);
      else refuse_member(member, again, send_again_soon());
    }
    return;
  }
  const auto* failed = std::get_if<BatchFailed>(&outcome);
  for (const Member& member : batch.members) {
    if (failed != nullptr) refuse_member(member, failed->error, send_again_later());
    else refuse_member(member, round_is_closed(), send_again_soon());
  }
}

void IngestMachine::accept_member(const RoundKey& key, Lane& lane, const Member& member) {
  lane.accepted.insert(member.device);
  effects_.push_back(NoteAccepted{key, member.device, member.contribution});
  for (UploadId id : member.uploads) {
    effects_.push_back(AcceptUpload{id, key, member.device});
    forget(id);
  }
}

void IngestMachine::refuse_member(const Member& member, const Error& error, RetryWindow window) {
  for (UploadId id : member.uploads) refuse(id, error, window);
}

void IngestMachine::refuse(UploadId id, Error error, RetryWindow window) {
  effects_.push_back(RefuseUpload{id, std::move(error), std::move(window)});
  if (uploads_.contains(id)) forget(id);
}

// ---- Book-keeping

void IngestMachine::move_to(Upload& upload, Stage stage) {
  const bool was_arriving = upload.stage <= Stage::receiving;
  const bool is_arriving = stage <= Stage::receiving;
  if (was_arriving && !is_arriving) --lane_of(upload.key).arriving;
  upload.stage = stage;
}

void IngestMachine::release_bytes(Upload& upload) {
  if (upload.reserved) bytes_in_flight_ -= upload.bytes;
  upload.reserved = false;
}

void IngestMachine::forget(UploadId id) {
  Upload& upload = upload_of(id);
  move_to(upload, Stage::added);
  release_bytes(upload);
  uploads_.erase(id);
}

// ---- Rounds and time

void IngestMachine::handle(const RoundPublished& event) {
  for (auto& [key, lane] : lanes_) {
    if (lane.notice.job == event.notice.job && key != event.notice.key) close_lane(lane);
  }
  if (event.notice.state == RoundState::collecting) {
    Lane& lane = lanes_[event.notice.key];
    lane.notice = event.notice;
    lane.batch_updates_max = batch_updates_max(event.notice);
    lane.closed = false;  // a round may be published again after a board was read late
    // Added, not replaced: this node may have accepted devices since the list was read.
    lane.accepted.insert(event.accepted.begin(), event.accepted.end());
  } else if (const auto lane = lanes_.find(event.notice.key); lane != lanes_.end()) {
    close_lane(lane->second);
  }
  forget_finished_lanes();
}

void IngestMachine::handle(const UpdatesDue& event) {
  Lane* lane = open_lane(event.key);
  if (lane == nullptr) return;
  lane->due = event.total;
  consider_seal(*lane);
}

void IngestMachine::handle(const RoundWithdrawn& event) {
  if (const auto lane = lanes_.find(event.key); lane != lanes_.end()) close_lane(lane->second);
  forget_finished_lanes();
}

// Nothing that is not yet on its way to the store can count any more.
void IngestMachine::close_lane(Lane& lane) {
  if (lane.closed) return;
  lane.closed = true;
  std::vector<UploadId> refused(lane.ready.begin(), lane.ready.end());
  for (const auto& [id, upload] : uploads_) {
    if (upload.key == lane.notice.key && upload.stage <= Stage::receiving) refused.push_back(id);
  }
  std::sort(refused.begin(), refused.end());  // the map's order is not the same on every machine
  lane.ready.clear();
  std::erase_if(queue_, [&](UploadId id) { return std::binary_search(refused.begin(), refused.end(), id); });
  for (UploadId id : refused) refuse(id, round_is_closed(), send_again_soon());
  consider_seal(lane);
  admit_queued();
}

void IngestMachine::forget_finished_lanes() {
  std::set<RoundKey> used;
  for (const auto& [id, upload] : uploads_) used.insert(upload.key);
  for (const auto& [id, batch] : batches_) used.insert(batch.key);
  std::erase_if(lanes_, [&](const auto& entry) { return entry.second.closed && !used.contains(entry.first); });
}

void IngestMachine::handle(const IngestTime&) {
  while (!queue_.empty() && now_ >= upload_of(queue_.front()).queued_until) {
    const UploadId id = queue_.front();
    queue_.pop_front();
    refuse(id, Error(ErrorCode::overloaded, "the server could not receive this update in time; come back later"),
           send_again_later());
  }
  admit_queued();  // what waited behind a large update may fit
  std::vector<BatchId> retry;
  for (auto& [id, batch] : batches_) {
    if (batch.retry_at && now_ >= *batch.retry_at) retry.push_back(id);
  }
  for (BatchId id : retry) commit(id);  // the same id and rows: the store knows whether it has them
  for (auto& [key, lane] : lanes_) consider_seal(lane);
}

}  // namespace coterie
