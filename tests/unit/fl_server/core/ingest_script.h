// An ingest machine whose effects are lines of text, so that a test reads as a script.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fl_server/core/ingest_machine.h"
#include "tests/unit/fl_server/core/ingest_replay.h"

namespace coterie {

using Lines = std::vector<std::string>;

inline const RoundKey kRound{RoundId(7), Attempt(1)};

inline DeviceId device(uint64_t index) {
  DeviceId id;
  id.bytes[0] = static_cast<uint8_t>(index);
  return id;
}

// Does what no event can do.
struct IngestTamperer {
  static void lose_count_of_bytes(IngestMachine& machine) { ++machine.bytes_in_flight_; }
  static void forget_a_member(IngestMachine& machine) { machine.batches_.begin()->second.members.clear(); }
  static void give_the_buffer_to_a_commit(IngestMachine& machine) {
    machine.lanes_.begin()->second.buffer = machine.batches_.begin()->first;
  }
  static void lose_the_first_upload(IngestMachine& machine) { machine.uploads_.erase(machine.queue_.front()); }
  // As if many flushes had just been made, of which the last cost nothing.
  static void spend_all_credit(IngestMachine& machine) {
    machine.flushes_ = FlushBudget(Millis(1'000'000), Millis(100'000'000));
    machine.flushes_.began(Instant{});
    machine.flushes_.began(Instant{});
    machine.flushes_.ended(Millis(0), Millis(0), Instant{});
  }
};

enum class Credit : uint8_t { spent, fresh };

// A script begins without credit for flushes unless it asks for it: a batch waits for those who are arriving. When it
// ends it is run again with a failure at each of its steps (ingest_replay.h).
//
// Devices and uploads have the same number unless a test says otherwise.
class Ingest {
 public:
  explicit Ingest(IngestLimits limits = {}, Credit credit = Credit::spent) : machine_(limits) {
    if (credit == Credit::spent) IngestTamperer::spend_all_credit(machine_);
    fresh_ = machine_;
  }
  ~Ingest() { replay_with_failures(fresh_, steps_); }
  Ingest(const Ingest&) = delete;
  Ingest& operator=(const Ingest&) = delete;

  Lines publish(uint32_t goal = 100, RoundState state = RoundState::collecting, RoundKey key = kRound,
                std::vector<DeviceId> accepted = {}) {
    RoundNotice notice;
    notice.job = JobId("j");
    notice.key = key;
    notice.state = state;
    notice.goal_count = goal;
    notice.plan.update.fixed_point.contributors_max = contributors_max_;
    if (value_count_ > 0) notice.plan.update.value_count = value_count_;
    notice.keeps_updates = keeps_updates_;
    notice.plan.privacy.level = level_;
    if (quantized_values_ > 0) {
      notice.plan.update.encoding = UpdateEncoding::quantized;
      notice.plan.update.value_count = quantized_values_;
    }
    return step(RoundPublished{notice, std::move(accepted)});
  }
  Lines offer(uint64_t upload, uint64_t who, uint64_t bytes = 100, RoundKey key = kRound) {
    return step(UploadOffered{UploadId(upload), key, device(who), bytes});
  }
  Lines offer(uint64_t upload) { return offer(upload, upload); }
  Lines received(uint64_t upload, uint64_t weight = 1) {
    return step(UploadReceived{UploadId(upload), {.updates = 1, .weight = weight, .examples = 10}});
  }
  Lines lost(uint64_t upload) { return step(UploadLost{UploadId(upload)}); }
  Lines added(uint64_t upload) { return step(UpdateAdded{UploadId(upload), {}}); }
  Lines bad(uint64_t upload) {
    return step(UpdateAdded{UploadId(upload), Error(ErrorCode::malformed, "value 3 is not a number")});
  }
  Lines released(uint64_t batch) { return step(BufferReleased{BatchId(batch)}); }
  Lines spilled(uint64_t batch) { return step(BatchSpilled{BatchId(batch), {}}); }
  Lines answered(uint64_t batch, BatchOutcome outcome = BatchDone{}) {
    return step(BatchAnswered{BatchId(batch), std::move(outcome)});
  }
  Lines due(uint64_t total) { return step(UpdatesDue{kRound, total}); }
  Lines withdraw(RoundKey key = kRound) { return step(RoundWithdrawn{key}); }
  Lines looked_up(uint64_t upload, Result<bool> accepted, bool is_over = false) {
    return step(AcceptedLookedUp{UploadId(upload), kRound, device(upload), std::move(accepted), is_over});
  }
  Lines at(int64_t ms) {
    now_ = Instant(Millis(ms));
    return step(IngestTime{});
  }
  void clock(int64_t ms) { now_ = Instant(Millis(ms)); }
  // Offers, admits, receives and adds one update.
  void add(uint64_t upload) {
    offer(upload);
    received(upload);
    added(upload);
  }
  Lines step(const IngestEvent& event) {
    steps_.push_back({event, now_});
    const IngestEffects effects = machine_.step(event, now_);
    machine_.check();
    return text(effects);
  }

  const IngestMachine& machine() const { return machine_; }
  std::optional<int64_t> wake() const {
    const auto at = machine_.next_deadline();
    return at ? std::optional<int64_t>(at->time_since_epoch().count()) : std::nullopt;
  }
  uint32_t contributors_max_ = 1'000;
  uint64_t value_count_ = 0;
  bool keeps_updates_ = false;
  SecurityLevel level_ = SecurityLevel::none;
  uint64_t quantized_values_ = 0;  // of an update; 0: updates are as they are

 private:
  static std::string number(uint64_t value) { return std::to_string(value); }

  static Lines text(const IngestEffects& effects) {
    Lines lines;
    struct Visitor {
      std::string operator()(const LookUpAccepted& e) { return "look up " + number(e.upload.value()); }
      std::string operator()(const AdmitUpload& e) { return "admit " + number(e.upload.value()); }
      std::string operator()(const RefuseUpload& e) {
        return "refuse " + number(e.upload.value()) + ": " + std::string(e.error.name()) + " " +
               number(e.window.min_ms) + "-" + number(e.window.max_ms);
      }
      std::string operator()(const AcceptUpload& e) {
        return "accept " + number(e.upload.value()) + " of " + number(e.device.bytes[0]);
      }
      std::string operator()(const AddUpdate& e) {
        return "add " + number(e.upload.value()) + " to " + number(e.batch.value());
      }
      std::string operator()(const ReleaseBody& e) { return "release " + number(e.upload.value()); }
      std::string operator()(const SpillBatch& e) {
        return "spill " + number(e.batch.value()) + " of " + number(e.totals.updates);
      }
      std::string operator()(const CommitBatch& e) {
        std::string line = "commit " + number(e.batch.value()) + ":";
        for (const AcceptRow& row : e.rows) line += " " + number(row.device.bytes[0]);
        return line;
      }
      std::string operator()(const DropBatch& e) { return "drop " + number(e.batch.value()); }
      std::string operator()(const ReportAccepted& e) { return "report " + number(e.total); }
      std::string operator()(const NoteAccepted& e) {
        const std::string said = e.contribution.updates == 1 ? "" : " which said nothing";
        return "note " + number(e.device.bytes[0]) + said;
      }
    };
    for (const IngestEffect& effect : effects) lines.push_back(std::visit(Visitor{}, effect));
    return lines;
  }

  IngestMachine machine_;
  IngestMachine fresh_{IngestLimits{}};
  std::vector<IngestStep> steps_;
  Instant now_{};
};

inline IngestLimits batches_of(uint32_t updates) {
  IngestLimits limits;
  limits.batch_updates_max = updates;
  return limits;
}

}  // namespace coterie
