// A script of the ingest machine, run again for each of its steps with a failure in the step's place. From there on the
// world is good: bodies come, disks write, a store answers truthfully. Every upload must be answered once, nobody gets
// a receipt that the store does not know of, and the machine ends idle and takes the next round's updates.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fl_server/core/ingest_machine.h"

namespace coterie {

struct IngestStep {
  IngestEvent event;
  Instant at;
};

class IngestReplay {
 public:
  explicit IngestReplay(IngestMachine fresh) : machine_(std::move(fresh)) {}

  void tell(const IngestEvent& event, Instant at) {
    now_ = std::max(now_, at);
    std::visit([this](const auto& e) { note(e); }, event);
    const IngestEffects effects = machine_.step(event, now_);
    machine_.check();
    for (const IngestEffect& effect : effects) std::visit([this](const auto& e) { perform(e); }, effect);
  }

  // A commit whose answer is lost, although it was carried out.
  void write_without_an_answer(BatchId batch) {
    if (const auto commit = commits_.find(batch); commit != commits_.end()) write(commit->second);
  }
  const std::map<UploadId, std::pair<RoundKey, DeviceId>>& uploads() const { return uploads_; }

  void come_to_an_end() {
    settle();
    RoundNotice next;
    next.job = JobId("j");
    next.key = {RoundId(999), Attempt(1)};
    next.state = RoundState::collecting;
    next.goal_count = 1;
    next.plan.update.fixed_point.contributors_max = 10;
    tell(RoundPublished{next, {}}, now_);
    tell(UploadOffered{UploadId(999'999), next.key, DeviceId{}, 1}, now_);
    settle();
    EXPECT_TRUE(store_[next.key].contains(DeviceId{})) << "the next round's update is not taken";
    EXPECT_TRUE(machine_.idle());
    EXPECT_EQ(machine_.bytes_in_flight(), 0u);
    for (const auto& [id, upload] : uploads_) {
      EXPECT_LE(answers_[id], 1) << "upload " << id.value();
      if (!lost_.contains(id)) EXPECT_EQ(answers_[id], 1) << "upload " << id.value() << " waits for ever";
    }
  }

 private:
  // ---- What an event says about the world
  void note(const UploadOffered& e) { uploads_[e.upload] = {e.key, e.device}; }
  void note(const AcceptedLookedUp& e) {
    lookups_.erase(e.upload);
    if (e.accepted && *e.accepted) store_[e.key].insert(e.device);
  }
  void note(const UploadReceived& e) { bodies_.erase(e.upload); }
  void note(const UploadLost& e) {
    bodies_.erase(e.upload);
    lost_.insert(e.upload);
  }
  void note(const UpdateAdded& e) { adding_.erase(e.upload); }
  void note(const BufferReleased&) {}
  void note(const BatchSpilled& e) { spilling_.erase(e.batch); }
  void note(const BatchAnswered& e) {
    const auto commit = commits_.find(e.batch);
    if (commit == commits_.end()) return;
    if (std::holds_alternative<BatchDone>(e.outcome)) write(commit->second);
    if (const auto* conflict = std::get_if<BatchConflict>(&e.outcome)) {
      store_[commit->second.key].insert(conflict->accepted_before.begin(), conflict->accepted_before.end());
    }
    asked_.erase(e.batch);
  }
  void note(const RoundPublished& e) { store_[e.notice.key].insert(e.accepted.begin(), e.accepted.end()); }
  void note(const UpdatesDue&) {}
  void note(const RoundWithdrawn&) {}
  void note(const IngestTime&) {}

  // ---- What the machine does
  void perform(const LookUpAccepted& e) { lookups_[e.upload] = e; }
  void perform(const AdmitUpload& e) { bodies_.insert(e.upload); }
  void perform(const RefuseUpload& e) {
    bodies_.erase(e.upload);
    ++answers_[e.upload];
  }
  void perform(const AcceptUpload& e) {
    ++answers_[e.upload];
    EXPECT_TRUE(store_[e.key].contains(e.device)) << "a receipt for what the store does not have";
  }
  void perform(const AddUpdate& e) { adding_.insert(e.upload); }
  void perform(const ReleaseBody&) {}
  void perform(const SpillBatch& e) { spilling_.insert(e.batch); }
  void perform(const CommitBatch& e) {
    commits_[e.batch] = e;
    asked_.insert(e.batch);
  }
  void perform(const DropBatch& e) { EXPECT_FALSE(written_.contains(e.batch)) << "a batch that counts is forgotten"; }
  void perform(const ReportAccepted& e) { EXPECT_LE(e.total, store_[e.key].size()); }
  void perform(const NoteAccepted& e) { EXPECT_TRUE(store_[e.key].contains(e.device)); }

  // ---- The good world
  void write(const CommitBatch& commit) {
    written_.insert(commit.batch);
    for (const AcceptRow& row : commit.rows) store_[commit.key].insert(row.device);
  }

  BatchOutcome answer(const CommitBatch& commit) const {
    if (written_.contains(commit.batch)) return BatchDone{};
    BatchConflict conflict;
    const auto rows = store_.find(commit.key);
    for (const AcceptRow& row : commit.rows) {
      if (rows != store_.end() && rows->second.contains(row.device)) conflict.accepted_before.push_back(row.device);
    }
    if (conflict.accepted_before.empty()) return BatchDone{};
    return conflict;
  }

  bool answer_one() {
    if (!lookups_.empty()) {
      const LookUpAccepted e = lookups_.begin()->second;
      tell(AcceptedLookedUp{e.upload, e.key, e.device, store_[e.key].contains(e.device)}, now_);
    } else if (!bodies_.empty()) {
      tell(UploadReceived{*bodies_.begin(), {.updates = 1, .weight = 1}}, now_);
    } else if (!adding_.empty()) {
      tell(UpdateAdded{*adding_.begin(), {}}, now_);
    } else if (!spilling_.empty()) {
      const BatchId batch = *spilling_.begin();
      tell(BufferReleased{batch}, now_);
      tell(BatchSpilled{batch, {}}, now_);
    } else if (!asked_.empty()) {
      const CommitBatch commit = commits_.at(*asked_.begin());
      tell(BatchAnswered{commit.batch, answer(commit)}, now_);
    } else if (const auto wake = machine_.next_deadline()) {
      tell(IngestTime{}, *wake);
    } else {
      return false;
    }
    return true;
  }

  void settle() {
    for (int i = 0; i < 10'000; ++i) {
      if (!answer_one()) return;
    }
    ADD_FAILURE() << "the machine never comes to rest";
  }

  IngestMachine machine_;
  Instant now_{};
  std::map<UploadId, std::pair<RoundKey, DeviceId>> uploads_;
  std::map<UploadId, int> answers_;
  std::set<UploadId> lost_, bodies_, adding_;
  std::map<UploadId, LookUpAccepted> lookups_;
  std::set<BatchId> spilling_, written_;
  std::map<BatchId, CommitBatch> commits_;
  std::set<BatchId> asked_;  // of commits_: the store owes an answer
  std::map<RoundKey, std::set<DeviceId>> store_;
};

// What may come in the place of `step`: each is a list of events.
inline std::vector<std::vector<IngestEvent>> failures_of(const IngestStep& step, const IngestReplay& before) {
  const Error away(ErrorCode::unavailable, "the store is away");
  const Error full(ErrorCode::storage_full, "the disk is full");
  std::vector<std::vector<IngestEvent>> failures;
  std::vector<IngestEvent> all_lost, all_withdrawn;
  for (const auto& [id, upload] : before.uploads()) {
    all_lost.push_back(UploadLost{id});
    all_withdrawn.push_back(RoundWithdrawn{upload.first});
  }
  failures.push_back({});  // it never comes: what is awaited comes later
  failures.push_back(all_lost);
  failures.push_back(all_withdrawn);
  if (const auto* e = std::get_if<AcceptedLookedUp>(&step.event)) {
    failures.push_back({AcceptedLookedUp{e->upload, e->key, e->device, away}});
  } else if (const auto* received = std::get_if<UploadReceived>(&step.event)) {
    failures.push_back({UploadLost{received->upload}});
  } else if (const auto* added = std::get_if<UpdateAdded>(&step.event)) {
    failures.push_back({UpdateAdded{added->upload, Error(ErrorCode::malformed, "value 3 is not a number")}});
  } else if (const auto* spilled = std::get_if<BatchSpilled>(&step.event)) {
    failures.push_back({BatchSpilled{spilled->batch, full}});
  } else if (const auto* answered = std::get_if<BatchAnswered>(&step.event)) {
    failures.push_back({BatchAnswered{answered->batch, BatchUnknown{away}}});
    failures.push_back({BatchAnswered{answered->batch, BatchFailed{full}}});
    failures.push_back({BatchAnswered{answered->batch, BatchClosed{}}});
    DeviceId some;
    some.bytes[0] = 1;
    failures.push_back({BatchAnswered{answered->batch, BatchConflict{{some}}}});
    failures.push_back({step.event, step.event});
  } else {
    failures.push_back({step.event, UploadLost{UploadId(888'888)}});  // somebody whom nobody knows
  }
  return failures;
}

// How many times the script was run again.
inline int replay_with_failures(const IngestMachine& fresh, const std::vector<IngestStep>& steps) {
  int replays = 0;
  const auto begin = [&](size_t step) {
    IngestReplay replay(fresh);
    for (size_t i = 0; i < step; ++i) replay.tell(steps[i].event, steps[i].at);
    return replay;
  };
  for (size_t step = 0; step < steps.size(); ++step) {
    const IngestReplay before = begin(step);
    for (const std::vector<IngestEvent>& failure : failures_of(steps[step], before)) {
      SCOPED_TRACE("step " + std::to_string(step) + ", failure " + std::to_string(replays));
      IngestReplay replay = before;
      for (const IngestEvent& event : failure) replay.tell(event, steps[step].at);
      replay.come_to_an_end();
      ++replays;
    }
    const auto* answered = std::get_if<BatchAnswered>(&steps[step].event);
    if (answered == nullptr || !std::holds_alternative<BatchDone>(answered->outcome)) continue;
    IngestReplay replay = before;
    replay.write_without_an_answer(answered->batch);
    replay.tell(BatchAnswered{answered->batch, BatchUnknown{Error(ErrorCode::unavailable, "")}}, steps[step].at);
    replay.come_to_an_end();
    ++replays;
  }
  return replays;
}

}  // namespace coterie
