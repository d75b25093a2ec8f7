// Any order of answers, hints, commands and failures that a scheduler may bring a round machine: its invariants hold
// after each step, it asks for one thing at a time, and with a store that answers again the job comes to its end.
#include <optional>
#include <utility>

#include "base/assert.h"
#include "scheduler/round/round_machine.h"
#include "tests/fuzz/event_bytes.h"
#include "tests/unit/scheduler/round_store_model.h"

namespace {

using namespace coterie;

JobRecord some_job(test::EventBytes& bytes) {
  JobRecord job;
  job.id = JobId("j");
  HorizontalSettings& settings = job.spec.horizontal();
  settings.rounds.count = 1 + bytes.below(3);
  settings.rounds.goal_count = 2 + bytes.below(4);
  settings.rounds.goal_count_min = 2;
  settings.rounds.attempts_max = 1 + bytes.below(4);
  settings.privacy.level = bytes.one_in(2) ? SecurityLevel::active : SecurityLevel::none;
  return job;
}

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes), job_(some_job(bytes_)), store_(job_, std::nullopt, 0) {}

  void run() {
    perform(machine_.start());
    while (!bytes_.is_over()) choose();
    step(JobStateChanged{JobState::running});
    for (int turn = 0; turn < 2'000 && !machine_.ended(); ++turn) go_on();
    COT_ASSERT(machine_.ended());
  }

 private:
  void choose() {
    switch (bytes_.below(12)) {
      case 0: return step(PoolChanged{bytes_.below(12), bytes_.below(3)});
      case 1: return step(TicketsIssued{some_key(), bytes_.below(12)});
      case 2: return step(UpdatesAccepted{some_key(), bytes_.below(12)});
      case 3: return step(UpdatesExpected{some_key(), bytes_.below(12)});
      case 4: return step(AttemptLost{some_key(), "the sessions are lost"});
      case 5: return step(JobStateChanged{bytes_.one_in(2) ? JobState::paused : JobState::running});
      case 6: now_ += Millis(int64_t{bytes_.next()} * 500); return step(TimePassed{});
      case 7: return fail();
      case 8:
        machine_ = RoundMachine(job_.id);
        asked_.reset();
        return perform(machine_.start());
      default: return answer();
    }
  }

  RoundKey some_key() {
    if (!machine_.round()) return {RoundId(bytes_.below(3)), Attempt(1)};
    RoundKey key = machine_.round()->key;
    if (bytes_.one_in(4)) key.attempt = Attempt(key.attempt.value() + 1);
    return key;
  }

  // The truth; sometimes to an older question, or again.
  void answer() {
    if (!asked_) return;
    const auto [serial, request] = *asked_;
    const RoundEvent event = store_.answer(serial, request);
    if (bytes_.one_in(6)) return;  // the answer is lost
    step(event);
    if (bytes_.one_in(6)) step(event);
  }

  // The store does not answer, whether or not it did what it was asked.
  void fail() {
    if (!asked_) return;
    const auto [serial, request] = *asked_;
    if (bytes_.one_in(2)) (void)store_.answer(serial, request);
    const Error error(bytes_.one_in(3) ? ErrorCode::conflict : ErrorCode::unavailable, "no answer");
    step(std::visit([&, serial = serial](const auto& asked) { return failure_of(serial, asked, error); }, request));
  }
  static RoundEvent failure_of(uint64_t serial, const LoadProgress&, const Error& e) {
    return ProgressLoaded{serial, e};
  }
  static RoundEvent failure_of(uint64_t serial, const OpenRound&, const Error& e) { return RoundOpened{serial, e}; }
  static RoundEvent failure_of(uint64_t serial, const CountAccepted&, const Error& e) {
    return AcceptedCounted{serial, e};
  }
  static RoundEvent failure_of(uint64_t serial, const MoveRound&, const Error& e) { return RoundMoved{serial, e}; }
  static RoundEvent failure_of(uint64_t serial, const FinalizeRound&, const Error& e) {
    return RoundFinalized{serial, e};
  }
  static RoundEvent failure_of(uint64_t serial, const CommitRound&, const Error& e) {
    return RoundCommitted{serial, e};
  }
  static RoundEvent failure_of(uint64_t serial, const FailJob&, const Error& e) { return JobFailed{serial, e}; }

  // From here on everything goes well.
  void go_on() {
    if (const auto asked = std::exchange(asked_, std::nullopt)) return step(store_.answer(asked->first, asked->second));
    step(PoolChanged{1'000, 1});
    if (asked_ || machine_.ended()) return;
    if (const auto wake = machine_.next_deadline()) now_ = std::max(now_, *wake);
    step(TimePassed{});
  }

  void step(const RoundEvent& event) {
    if (machine_.ended()) return;
    perform(machine_.step(event, now_));
  }

  void perform(const RoundEffects& effects) {
    machine_.check();
    int asked = 0;
    for (const RoundEffect& effect : effects) {
      const auto* ask = std::get_if<AskRound>(&effect);
      if (ask == nullptr) continue;
      ++asked;
      asked_.emplace(ask->serial, ask->request);
    }
    COT_ASSERT(asked <= 1);
  }

  test::EventBytes bytes_;
  JobRecord job_;
  test::RoundStoreModel store_;
  RoundMachine machine_{job_.id};
  Instant now_{};
  std::optional<std::pair<uint64_t, RoundRequest>> asked_;  // the newest
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(coterie::test::EventBytes(data, size)).run();
  return 0;
}
