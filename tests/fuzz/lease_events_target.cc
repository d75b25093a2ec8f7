// Any order of answers, failures and times that a store may bring somebody who wants a lease, among others who take it:
// its invariants hold after each step, whoever acts has the row and its time, and with a store that answers again the
// lease is held in the end.
#include <string>
#include <vector>

#include "base/assert.h"
#include "scheduler/lease/lease_keeper.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes) { take(keeper_.start(now_)); }

  void run() {
    while (!bytes_.is_over()) choose();
    // Behind the end the others are gone and the store answers at once.
    for (int turn = 0; turn < 100 && !keeper_.holds(now_); ++turn) {
      while (!questions_.empty()) ask_row();
      while (!answers_.empty()) hear();
      if (!keeper_.holds(now_)) pass(Millis(500));
    }
    COT_ASSERT(keeper_.holds(now_));
  }

 private:
  struct Answer {
    uint64_t serial;
    Result<LeaseAnswer> answer;
  };

  void choose() {
    switch (bytes_.below(10)) {
      case 0:
      case 1: return pass(Millis(int64_t{bytes_.next()} * 10));
      case 2: return pass(Millis(int64_t{bytes_.next()} * 100));  // it was stopped meanwhile
      case 3: return another_asks();
      case 4: return fail();
      case 5:
        if (!answers_.empty()) answers_.push_back(answers_.front());  // the network repeats it
        return;
      case 6:
      case 7: return ask_row();
      default: return hear();
    }
  }

  void pass(Millis time) {
    now_ += time;
    if (const auto due = keeper_.next_deadline(); due && *due <= now_) take(keeper_.time_passed(now_));
    look();
  }

  // ---- The store's row, on the same clock

  void ask_row() {
    if (questions_.empty()) return;
    const uint64_t serial = questions_.front();
    questions_.erase(questions_.begin());
    answers_.push_back({serial, grant(name_)});
  }
  void another_asks() { (void)grant("another"); }
  LeaseAnswer grant(const std::string& who) {
    if (who == holder_ || now_ >= expires_) {
      if (who != holder_) epoch_ = LeaseEpoch(epoch_.value() + 1);
      holder_ = who;
      expires_ = now_ + settings_.ttl;
    }
    return {who == holder_, epoch_, holder_, expires_ - now_};
  }

  // The question is lost, or its answer is.
  void fail() {
    if (questions_.empty()) return;
    const uint64_t serial = questions_.front();
    if (bytes_.one_in(2)) ask_row();
    else questions_.erase(questions_.begin());
    if (bytes_.one_in(2)) answers_.push_back({serial, Error(ErrorCode::unavailable, "no answer")});
  }

  void hear() {
    if (answers_.empty()) return;
    const size_t which = bytes_.below(answers_.size());
    const Answer heard = answers_[which];
    answers_.erase(answers_.begin() + static_cast<ptrdiff_t>(which));
    take(keeper_.answered(heard.serial, heard.answer, now_));
    look();
  }

  // ---- The keeper

  void take(const LeaseEffects& effects) {
    keeper_.check();
    for (const LeaseEffect& effect : effects) {
      if (const auto* asked = std::get_if<AskLease>(&effect)) questions_.push_back(asked->serial);
      if (std::holds_alternative<LeaseHeld>(effect)) COT_ASSERT(!std::exchange(was_told_, true));
      if (std::holds_alternative<LeaseLost>(effect)) {
        COT_ASSERT(std::exchange(was_told_, false));
        return start_anew();
      }
    }
  }

  // With a new name: what was asked under the old one is nobody's any more.
  void start_anew() {
    COT_ASSERT(!keeper_.holds(now_) && keeper_.next_deadline() == std::nullopt);
    name_ += "'";
    questions_.clear();
    answers_.clear();
    keeper_ = LeaseKeeper(settings_);
    take(keeper_.start(now_));
  }

  void look() const {
    if (!keeper_.holds(now_)) return;
    COT_ASSERT(was_told_ && holder_ == name_ && now_ < expires_);
  }

  test::EventBytes bytes_;
  LeaseSettings settings_;
  Instant now_{};
  LeaseKeeper keeper_{settings_};
  std::string name_ = "own";
  bool was_told_ = false;
  std::vector<uint64_t> questions_;
  std::vector<Answer> answers_;
  std::string holder_;
  LeaseEpoch epoch_;
  Instant expires_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(test::EventBytes(data, size)).run();
  return 0;
}
