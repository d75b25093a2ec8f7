// Any order of uploads, answers and ends of rounds that a shell may bring an ingest machine: its invariants hold after
// each step, each upload has one answer at most, and once all is answered nothing is left; nor is there in the records
// that the shell keeps of its batches.
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "fl_server/core/batch_records.h"
#include "fl_server/core/ingest_machine.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

constexpr uint64_t kBytesMax = 300;

IngestLimits small_limits() {
  IngestLimits limits;
  limits.bytes_in_flight_max = kBytesMax;
  limits.uploads_queued_max = 4;
  limits.queued_max = Millis(400);
  limits.batch_updates_max = 3;
  return limits;
}

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes), machine_(small_limits()) {}

  void run() {
    publish();
    while (!bytes_.is_over()) choose();
    step(RoundWithdrawn{round_});
    for (int turn = 0; turn < 100 && !(machine_.idle() && pending_.empty()); ++turn) {
      while (!pending_.empty()) answer(0);
      now_ += Millis(60'000);
      step(IngestTime{});
    }
    COT_ASSERT(machine_.idle() && machine_.bytes_in_flight() == 0 && records_.is_empty());
    for (const auto& [upload, is_answered] : answered_) COT_ASSERT(is_answered);
  }

 private:
  void choose() {
    switch (bytes_.below(8)) {
      case 0:
      case 1: return offer();
      case 2: return publish();
      case 3: return step(RoundWithdrawn{round_});
      case 4: return step(UpdatesDue{round_, bytes_.below(6)});
      case 5: now_ += Millis(bytes_.below(100)); return step(IngestTime{});
      default:
        if (!pending_.empty()) answer(bytes_.below(pending_.size()));
    }
  }

  void offer() {
    const UploadId upload(answered_.size() + 1);
    answered_[upload] = false;
    RoundKey key = round_;
    if (bytes_.one_in(8)) key.round = RoundId(key.round.value() - 1);
    DeviceId device;
    device.bytes[0] = static_cast<uint8_t>(bytes_.below(6));
    step(UploadOffered{upload, key, device, 1 + bytes_.below(100) * uint64_t{4}});
  }

  void publish() {
    if (bytes_.one_in(3)) round_.round = RoundId(round_.round.value() + 1);
    RoundNotice notice;
    notice.job = JobId("j");
    notice.key = round_;
    notice.state = bytes_.one_in(4) ? RoundState::frozen : RoundState::collecting;
    notice.goal_count = 1 + bytes_.below(6);
    notice.plan.update.fixed_point.contributors_max = 1 + bytes_.below(8);
    step(RoundPublished{notice, {}});
  }

  void answer(size_t which) {
    const std::function<void()> event = std::move(pending_[which]);
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(which));
    event();
  }

  void step(const IngestEvent& event) {
    const IngestEffects effects = machine_.step(event, now_);
    machine_.check();
    records_.check();
    COT_ASSERT(machine_.bytes_in_flight() <= kBytesMax);
    for (const IngestEffect& effect : effects) std::visit([this](const auto& e) { perform(e); }, effect);
  }

  // ---- What the machine asks for; the answer comes when the bytes say so

  template <typename F>
  void later(F event) {
    pending_.emplace_back(std::move(event));
  }
  void perform(const LookUpAccepted& e) {
    later([this, e] {
      const bool fails = bytes_.one_in(6);
      const Result<bool> accepted = fails ? Result<bool>(Error(ErrorCode::unavailable, "")) : bytes_.one_in(4);
      step(AcceptedLookedUp{e.upload, e.key, e.device, accepted});
    });
  }
  void perform(const AdmitUpload& e) {
    later([this, e] {
      if (!bytes_.one_in(6)) return step(UploadReceived{e.upload, {.updates = 1, .weight = 1}});
      answered_.at(e.upload) = true;  // nobody is there to be answered
      step(UploadLost{e.upload});
    });
  }
  void perform(const RefuseUpload& e) { note_answer(e.upload); }
  void perform(const AcceptUpload& e) { note_answer(e.upload); }
  void perform(const AddUpdate& e) {
    records_.add(e.batch);
    later([this, e] {
      step(UpdateAdded{e.upload, bytes_.one_in(6) ? Status(Error(ErrorCode::malformed, "")) : Status()});
    });
  }
  void perform(const ReleaseBody&) {}
  void perform(const SpillBatch& e) {
    records_.spill(e, now_);
    later([this, e] {
      later([this, e] {
        if (bytes_.one_in(6)) return step(BatchSpilled{e.batch, Error(ErrorCode::storage_full, "")});
        records_.spilled(e.batch, Digest{{1}});
        step(BatchSpilled{e.batch, {}});
      });
      step(BufferReleased{e.batch});
    });
  }
  void perform(const CommitBatch& e) {
    COT_ASSERT(records_.partial(e.batch).totals.updates == e.rows.size());
    later([this, e] {
      const BatchOutcome came = outcome(e);
      if (std::holds_alternative<BatchDone>(came)) COT_ASSERT(records_.done(e.batch, now_).has_value());
      step(BatchAnswered{e.batch, came});
    });
  }
  void perform(const DropBatch& e) { (void)records_.drop(e.batch); }
  void perform(const ReportAccepted&) {}
  void perform(const NoteAccepted&) {}

  BatchOutcome outcome(const CommitBatch& commit) {
    switch (bytes_.below(6)) {
      case 1: return BatchUnknown{Error(ErrorCode::unavailable, "")};
      case 2: return BatchClosed{};
      case 3: return BatchConflict{{commit.rows.front().device}};
      default: return BatchDone{};
    }
  }

  // A body that was refused on its way may still be lost: nobody is answered then.
  void note_answer(UploadId upload) { COT_ASSERT(!std::exchange(answered_.at(upload), true)); }

  test::EventBytes bytes_;
  IngestMachine machine_;
  BatchRecords records_{"life"};
  Instant now_{};
  RoundKey round_{RoundId(1), Attempt(1)};
  std::vector<std::function<void()>> pending_;
  std::map<UploadId, bool> answered_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(test::EventBytes(data, size)).run();
  return 0;
}
