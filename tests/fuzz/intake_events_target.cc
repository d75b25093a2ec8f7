// Any order of rounds, early uploads and answers of a store that a node may bring its intake: its invariants hold after
// each step, and once all is answered every upload has been handed to the ingest machine, once.
#include <vector>

#include "base/assert.h"
#include "fl_server/core/round_intake.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes), intake_(IntakeSettings{.can_look = true}) {}

  void run() {
    while (!bytes_.is_over()) choose();
    // Behind the end all is answered, so that nothing waits any more.
    now_ += Millis(10'000);
    step(IntakeTime{});
    while (!asked_.empty()) answer();
    while (looks_ > 0) look();
    COT_ASSERT(offered_ == passed_on_);
  }

 private:
  void choose() {
    switch (bytes_.below(8)) {
      case 0: return step(LearnRound{some_notice()});
      case 1: return step(LearnDue{some_key(), bytes_.below(6)});
      case 2: return step(ForgetRound{some_key()});
      case 3: return answer();
      case 4:
        if (looks_ > 0) look();
        return;
      case 5: now_ += Millis(int64_t{bytes_.next()} * 4); return step(IntakeTime{});
      default: ++offered_; return step(OfferUpload{{UploadId(offered_), some_key(), DeviceId{}, 1}});
    }
  }

  RoundKey some_key() { return {RoundId(1 + bytes_.below(4)), Attempt(1 + bytes_.below(2))}; }
  RoundNotice some_notice() {
    RoundNotice notice;
    notice.key = some_key();
    notice.job = JobId(notice.key.round.value() % 2 == 0 ? "j" : "k");
    notice.state = bytes_.one_in(3) ? RoundState::frozen : RoundState::collecting;
    notice.goal_count = 1 + bytes_.below(4);
    return notice;
  }

  void answer() {
    if (asked_.empty()) return;
    const RoundKey key = asked_.back();
    asked_.pop_back();
    const bool fails = bytes_.one_in(3);
    step(AcceptedListed{key, fails ? Result<Listed>(Error(ErrorCode::unavailable, "")) : Listed{}});
  }
  void look() {
    --looks_;
    step(RoundsLookedAt{});
  }

  void step(const IntakeEvent& event) {
    const IntakeEffects effects = intake_.step(event, now_);
    intake_.check();
    for (const IntakeEffect& effect : effects) {
      if (const auto* asks = std::get_if<AskAccepted>(&effect)) asked_.push_back(asks->key);
      if (std::holds_alternative<LookForRounds>(effect)) ++looks_;
      if (const auto* ingest = std::get_if<StepIngest>(&effect)) {
        passed_on_ += std::holds_alternative<UploadOffered>(ingest->event) ? 1 : 0;
      }
    }
  }

  test::EventBytes bytes_;
  RoundIntake intake_;
  Instant now_{};
  std::vector<RoundKey> asked_;
  uint64_t offered_ = 0, passed_on_ = 0, looks_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(coterie::test::EventBytes(data, size)).run();
  return 0;
}
