// What is true of an ingest machine between two steps.
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "fl_server/core/ingest_machine.h"

namespace coterie {

void IngestMachine::check() const {
  check_uploads();
  check_batches();
  check_lanes();
}

// Each upload is where its stage says, and has the bytes reserved that its body takes.
void IngestMachine::check_uploads() const {
  uint64_t reserved = 0;
  size_t queued = 0;
  for (const auto& [id, upload] : uploads_) {
    COT_INVARIANT(lanes_.contains(upload.key), "every upload's attempt has a lane");
    const bool has_body = upload.stage != Stage::queued && upload.stage != Stage::added;
    COT_INVARIANT(upload.reserved == has_body, "bytes are reserved from the admission until the update is in the sum");
    if (upload.reserved) reserved += upload.bytes;
    if (upload.stage == Stage::queued) ++queued;
  }
  COT_INVARIANT(reserved == bytes_in_flight_, "the bytes in flight are those that uploads have reserved");
  COT_INVARIANT(bytes_in_flight_ <= limits_.bytes_in_flight_max, "no more bytes are in flight than the limit");
  COT_INVARIANT(queue_.size() == queued, "the queue holds each queued upload once and nothing else");
  COT_INVARIANT(queue_.size() <= limits_.uploads_queued_max, "no more uploads are queued than the limit");
  for (const UploadId id : queue_) {
    const Upload& upload = must_find(uploads_, id, "an upload in the queue is known");
    COT_INVARIANT(upload.stage == Stage::queued, "an upload in the queue is queued");
  }
  if (queue_.empty()) return;
  const Upload& first = must_find(uploads_, queue_.front(), "an upload in the queue is known");
  COT_INVARIANT(bytes_in_flight_ + first.bytes > limits_.bytes_in_flight_max,
                "an upload is queued only for want of room");
}

// Each update that is in a sum, or on its way there, is a member of exactly one live batch.
void IngestMachine::check_batches() const {
  std::unordered_set<UploadId> of_batches;
  for (const auto& [id, batch] : batches_) {
    const Lane& lane = must_find(lanes_, batch.key, "every batch's attempt has a lane");
    COT_INVARIANT(id.value() < next_batch_, "the number of a batch was given out");
    uint32_t adding = 0;
    for (const Member& member : batch.members) {
      const auto in_batch = lane.in_batch.find(member.device);
      COT_INVARIANT(in_batch != lane.in_batch.end() && in_batch->second == id,
                    "every member of a batch has that batch");
      COT_INVARIANT(!member.uploads.empty(), "every member of a batch came by an upload");
      for (const UploadId upload_id : member.uploads) {
        const Upload& upload = must_find(uploads_, upload_id, "every upload of a member is known");
        COT_INVARIANT(upload.stage >= Stage::adding, "an upload in a batch is being added, or was");
        COT_INVARIANT(upload.key == batch.key && upload.device == member.device, "an upload is its member's");
        COT_INVARIANT(of_batches.insert(upload_id).second, "an upload is in one batch, once");
        if (upload.stage == Stage::adding) ++adding;
      }
    }
    COT_INVARIANT(batch.adding == adding, "a batch knows how many of its updates are being added");
    COT_INVARIANT(batch.members.size() <= lane.batch_updates_max, "no batch has more members than the limit");
    const bool is_before_spill = batch.stage <= BatchStage::sealed;
    COT_INVARIANT(!is_before_spill || lane.buffer == id, "a batch that is not spilled has its lane's buffer");
    COT_INVARIANT(batch.stage != BatchStage::sealed || adding > 0, "a sealed batch waits for an addition");
    COT_INVARIANT(is_before_spill || (adding == 0 && !batch.members.empty()), "a spilled batch is complete");
    COT_INVARIANT(!batch.retry_at || batch.stage == BatchStage::committing, "only a commit is asked again");
  }
  size_t in_sums = 0;
  for (const auto& [id, upload] : uploads_) in_sums += upload.stage >= Stage::adding ? 1 : 0;
  COT_INVARIANT(in_sums == of_batches.size(), "every update that is being added, or was, is in a live batch");
}

void IngestMachine::check_lanes() const {
  std::map<RoundKey, uint32_t> arriving, ready, members;
  for (const auto& [id, upload] : uploads_) {
    arriving[upload.key] += upload.stage <= Stage::receiving ? 1 : 0;
    ready[upload.key] += upload.stage == Stage::ready ? 1 : 0;
  }
  for (const auto& [id, batch] : batches_) members[batch.key] += static_cast<uint32_t>(batch.members.size());
  for (const auto& [key, lane] : lanes_) {
    COT_INVARIANT(lane.notice.key == key, "a lane is kept under its own attempt");
    COT_INVARIANT(lane.arriving == arriving[key], "a lane knows how many of its uploads are arriving");
    COT_INVARIANT(lane.ready.size() == ready[key], "each upload that is ready waits in its lane once");
    for (const UploadId id : lane.ready) {
      const Upload& upload = must_find(uploads_, id, "an upload that is ready is known");
      COT_INVARIANT(upload.stage == Stage::ready && upload.key == key, "an upload waits for its own lane's buffer");
    }
    // With "every member of a batch has that batch", and as many of one as of the other, the two say the same.
    COT_INVARIANT(lane.in_batch.size() == members[key], "every device in a batch is a member of a live one");
    COT_INVARIANT(!lane.closed || (lane.arriving == 0 && lane.ready.empty()), "nobody waits for a closed attempt");
    COT_INVARIANT(lane.ready.empty() || lane.buffer, "an update is kept waiting only by a batch that has the buffer");
    if (!lane.buffer) continue;
    const Batch& batch = must_find(batches_, *lane.buffer, "the batch that has the buffer is live");
    COT_INVARIANT(batch.key == key, "the batch that has the buffer is of its lane");
    COT_INVARIANT(batch.stage != BatchStage::committing, "a committing batch does not have the buffer");
    const bool takes_more = batch.stage == BatchStage::open;
    COT_INVARIANT(!takes_more || lane.ready.empty(), "an update does not wait for a batch that would take it");
    COT_INVARIANT(!takes_more || !lane.closed, "a closed attempt's batch is not open");
    COT_INVARIANT(!takes_more || batch.members.size() < lane.batch_updates_max, "a full batch is sealed");
  }
}

}  // namespace coterie
