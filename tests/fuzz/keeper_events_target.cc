// Any order of versions, promotions, answers, deaths, failed starts and times that a serving master may bring its
// keeper of processes: its invariants hold after each step, nobody is sent what they have or while they load something,
// and once nothing goes wrong any more all serve the newest version.
#include <optional>
#include <set>
#include <vector>

#include "base/assert.h"
#include "fl_server/serving/process_keeper.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

constexpr size_t kProcesses = 3;

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes) {}

  void run() {
    while (!bytes_.is_over()) choose();
    if (keeper_.has_failed()) {
      COT_ASSERT(keeper_.steps(now_).empty() && keeper_.next_due() == Instant::max());
      for (size_t process = 0; process < kProcesses; ++process) COT_ASSERT(!keeper_.runs(process));
      return;
    }
    settle();
    for (size_t process = 0; process < kProcesses; ++process) COT_ASSERT(keeper_.serves(process));
    COT_ASSERT(!newest_ || !keeper_.holds(*newest_) || keeper_.is_everywhere(*newest_));
  }

 private:
  struct Process {
    bool runs = false, is_told_to_open = false;
    bool comes_again = false;  // what it was sent was offered once more meanwhile
    std::optional<uint64_t> sent;
    std::set<uint64_t> has;
  };

  void choose() {
    const size_t which = bytes_.below(kProcesses);
    switch (bytes_.below(9)) {
      case 0: offer(newest_.value_or(0) + 1); break;
      case 1: offer(1 + bytes_.below(6)); break;
      case 2: promote(); break;
      case 3:
      case 4: perform(); break;
      case 5: answer(which, !bytes_.one_in(3)); break;
      case 6: answer(which, true); break;
      case 7: end(which); break;
      default: now_ += Millis(int64_t{bytes_.next()} * 20); break;
    }
    keeper_.check();
  }

  void offer(uint64_t number) {
    const bool is_held = keeper_.holds(number);
    COT_ASSERT(keeper_.version_came(number) == !is_held);
    newest_ = std::max(newest_.value_or(0), number);
    if (is_held) return;
    // What comes again when nobody needed it any more may have gone where it was, or will, and is sent again.
    for (Process& process : processes_) {
      process.has.erase(number);
      process.comes_again = process.comes_again || process.sent == number;
    }
  }
  void promote() {
    const uint64_t number = bytes_.below(6);
    keeper_.promoted(number == 0 ? std::nullopt : std::optional(number));
  }

  bool perform() {
    const std::vector<ProcessStep> steps = keeper_.steps(now_);
    keeper_.check();
    std::set<size_t> not_started;
    for (const ProcessStep& step : steps) {
      Process& process = processes_[step.process];
      if (not_started.contains(step.process)) continue;
      COT_ASSERT(process.runs == (step.kind != ProcessStep::Kind::start));
      if (step.kind == ProcessStep::Kind::start) {
        process = {.runs = !bytes_.one_in(8)};
        if (!process.runs) {
          fail_to_start(step.process);
          not_started.insert(step.process);
        }
        continue;
      }
      COT_ASSERT(!process.sent);
      if (step.kind == ProcessStep::Kind::open) {
        COT_ASSERT(!process.is_told_to_open);
        process.is_told_to_open = true;
      } else {
        COT_ASSERT(keeper_.holds(step.version) && !process.has.contains(step.version));
        process.sent = step.version;
        process.comes_again = false;
      }
    }
    return !steps.empty();
  }

  // Whatever the process owes, an answer or its opening.
  bool answer(size_t which, bool is_good) {
    Process& process = processes_[which];
    COT_ASSERT(keeper_.sent(which) == process.sent && keeper_.runs(which) == process.runs);
    if (process.sent) {
      if (is_good) keeper_.served(which);
      else keeper_.refused(which);
      if (is_good && !process.comes_again) process.has.insert(*process.sent);
      process.sent.reset();
      return true;
    }
    if (!keeper_.opens(which)) return false;
    COT_ASSERT(process.is_told_to_open);
    keeper_.opened(which, now_);
    return true;
  }

  void end(size_t which) {
    if (!processes_[which].runs) return;
    const std::optional<uint64_t> sent = processes_[which].sent;
    const std::optional<uint64_t> given_up = keeper_.ended(which, now_);
    COT_ASSERT(!given_up || (given_up == sent && !keeper_.holds(*given_up)));
    COT_ASSERT(keeper_.delay(which, now_) <= Millis(800));
    processes_[which] = {};
  }

  void fail_to_start(size_t which) {
    const std::optional<uint64_t> version = keeper_.sent(which);
    const bool is_newest = version && version == newest_;
    keeper_.not_started(which, now_);
    COT_ASSERT(!is_newest || keeper_.holds(*version));
    COT_ASSERT(keeper_.delay(which, now_) <= Millis(800));
    keeper_.check();
  }

  void settle() {
    for (bool goes_on = true; goes_on;) {
      goes_on = perform();
      for (size_t process = 0; process < kProcesses; ++process) goes_on = answer(process, true) || goes_on;
      keeper_.check();
      if (goes_on || keeper_.next_due() == Instant::max()) continue;
      now_ = std::max(now_, keeper_.next_due());
      goes_on = true;
    }
  }

  test::EventBytes bytes_;
  ProcessKeeper keeper_{
      {.processes = kProcesses, .delay_first = Millis(100), .delay_max = Millis(800), .steady_after = Millis(2'000)}};
  Instant now_{};
  std::vector<Process> processes_{kProcesses};
  std::optional<uint64_t> newest_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(test::EventBytes(data, size)).run();
  return 0;
}
