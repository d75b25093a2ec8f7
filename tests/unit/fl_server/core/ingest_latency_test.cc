// How long one update among others waits for its receipt, on virtual time: a flush takes 5 ms, and a slow device is
// arriving all the time.
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <map>

#include "fl_server/core/ingest_machine.h"

namespace coterie {
namespace {

constexpr int64_t kFlush = 5;

struct Load {
  int64_t latency_max = 0;
  int64_t flushes = 0;
};

class Server {
 public:
  // An update comes every `gap` ms for ten seconds.
  Load run(int64_t gap) {
    RoundNotice notice;
    notice.key = {RoundId(1), Attempt(1)};
    notice.state = RoundState::collecting;
    notice.goal_count = 1'000'000;
    notice.plan.update.fixed_point.contributors_max = 1'000'000;
    step(RoundPublished{notice, {}});
    step(UploadOffered{UploadId(1'000'000), notice.key, DeviceId{}, 1});  // its body never ends
    for (; ms_ < 11'000; ++ms_) {
      for (; !commits_.empty() && commits_.front().first <= ms_; commits_.pop_front()) {
        step(BatchAnswered{commits_.front().second, BatchDone{}});
      }
      if (ms_ % gap == 0 && ms_ < 10'900) arrive(notice.key);
      if (const auto wake = machine_.next_deadline(); wake && *wake <= now()) step(IngestTime{});
    }
    return load_;
  }

 private:
  Instant now() const { return Instant(Millis(ms_)); }

  void arrive(const RoundKey& key) {
    const UploadId id(++uploads_);
    DeviceId device;
    for (int i = 0; i < 4; ++i) device.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(uploads_ >> (8 * i));
    came_[id] = ms_;
    step(UploadOffered{id, key, device, 1});
    step(UploadReceived{id, {.updates = 1, .weight = 1}});
  }

  void step(const IngestEvent& event) {
    for (const IngestEffect& effect : machine_.step(event, now())) {
      if (const auto* add = std::get_if<AddUpdate>(&effect)) step(UpdateAdded{add->upload, {}});
      if (const auto* spill = std::get_if<SpillBatch>(&effect)) {
        ++load_.flushes;
        step(BatchSpilled{spill->batch, {}});
      }
      if (const auto* commit = std::get_if<CommitBatch>(&effect)) commits_.emplace_back(ms_ + kFlush, commit->batch);
      if (const auto* accept = std::get_if<AcceptUpload>(&effect)) {
        load_.latency_max = std::max(load_.latency_max, ms_ - came_[accept->upload]);
      }
    }
  }

  IngestMachine machine_{IngestLimits{}};
  int64_t ms_ = 1'000;
  uint64_t uploads_ = 0;
  std::map<UploadId, int64_t> came_;
  std::deque<std::pair<int64_t, BatchId>> commits_;
  Load load_;
};

TEST(IngestLatency, OneUpdateAmongOthersWaitsForThreeFlushesAtMost) {
  for (const int64_t gap : {50, 100, 1'000}) {
    const Load load = Server().run(gap);
    std::printf("an update every %d ms: %d ms at most\n", static_cast<int>(gap), static_cast<int>(load.latency_max));
    EXPECT_LE(load.latency_max, 3 * kFlush) << "an update every " << gap << " ms";
  }
}

TEST(IngestLatency, FlushesTakeANinthOfTheTimeUnderLoad) {
  const Load load = Server().run(1);
  std::printf("an update every ms: %d ms at most, %d flushes in 10 s\n", static_cast<int>(load.latency_max),
              static_cast<int>(load.flushes));
  EXPECT_LE(load.flushes * kFlush, 10'000 / 9 + 3 * kFlush);
  EXPECT_LE(load.latency_max, 10 * kFlush) << "as long as nine flushes and its own";
}

}  // namespace
}  // namespace coterie
