// ProcessKeeper: which of the processes that share one serving port is started when, and which version each is sent
// next. Pure: the shell starts processes, passes files on and tells what became of them.
//
// The first process alone comes first: what it cannot serve nobody can, and its error is the one that the user reads.
// One that ends is started again, after a delay that doubles while processes in its place live for a short time only.
// A version is tried by one process, and sent to the others once that one answers with it. A version that processes die
// of is given up, so that the others go on with what they have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/time.h"

namespace coterie {

struct ProcessKeeperSettings {
  size_t processes = 1;
  size_t versions_kept = 2;     // for who starts later: the newest that are trusted, beside the promoted one
  uint32_t trial_ends_max = 2;  // so many processes may end while they try a version; then it is given up
  Millis delay_first{100};      // from an end to the next start
  Millis delay_max{30'000};
  Millis steady_after{60'000};  // who has served so long was no short life
};

struct ProcessStep {
  enum class Kind : uint8_t {
    start,  // a process that has nothing yet
    send,   // `version`: it answers served() or refused()
    open,   // it has what there is: it answers opened()
  };
  Kind kind = Kind::start;
  size_t process = 0;    // 0 is the first
  uint64_t version = 0;  // its number
  friend bool operator==(const ProcessStep&, const ProcessStep&) = default;
};

class ProcessKeeper {
 public:
  explicit ProcessKeeper(ProcessKeeperSettings settings);

  // ---- What happened
  // The source has a version. False: it is held already.
  bool version_came(uint64_t number);
  // Which version applications are answered with; it is kept, wherever it stands.
  void promoted(std::optional<uint64_t> number);
  // The process answers with what it was sent last. Precondition of both: sent(process).
  void served(size_t process);
  // It cannot, and says so. A version that was on trial goes to nobody else.
  void refused(size_t process);
  void opened(size_t process, Instant now);
  // The process is no more. Gives the version that is given up for it, if one is.
  std::optional<uint64_t> ended(size_t process, Instant now);
  // The system started none, so that nobody has tried what it was to be sent; else as ended().
  void not_started(size_t process, Instant now);
  // Nothing is started or sent from now on.
  void stop() { is_stopped_ = true; }

  // ---- What to do, each step once; then again after each event, and at next_due().
  std::vector<ProcessStep> steps(Instant now);
  // Instant::max(): nothing comes by time alone.
  Instant next_due() const;

  // ---- What is
  // The first process ended before it served: nothing will come of the others.
  bool has_failed() const { return has_failed_; }
  // The version that the process was sent and has not answered to.
  std::optional<uint64_t> sent(size_t process) const;
  bool runs(size_t process) const { return processes_[process].state != State::resting; }
  bool opens(size_t process) const { return processes_[process].state == State::opening; }
  bool serves(size_t process) const { return processes_[process].state == State::serving; }
  // Until the next start of one that has ended.
  Millis delay(size_t process, Instant now) const;
  // Some process may still be sent this version.
  bool holds(uint64_t number) const;
  // A trusted one that every running process has.
  bool is_everywhere(uint64_t number) const;

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  enum class State : uint8_t { resting, loading, opening, serving };
  enum class Trust : uint8_t { untried, trusted, over };  // over: refused, given up, or needed by nobody
  struct Process {
    State state = State::resting;
    uint64_t next = 0;     // the first version, by its place, that it has not answered to
    bool is_sent = false;  // it was sent that one
    uint32_t short_lives = 0;
    Instant due;  // while it rests
    Instant opened;
  };
  struct Version {
    uint64_t number = 0;
    Trust trust = Trust::untried;
    uint32_t ends = 0;  // of processes that tried it
  };

  Version& sent_to(const Process& process);
  bool is_busy(uint64_t place) const;
  bool is_on_trial(uint64_t place, const Version& version) const;
  bool has_trusted() const;
  void retire();
  void answered(size_t process, Trust outcome);
  void rest(size_t process, Instant now);
  std::optional<ProcessStep> next_of(size_t process);
  void check_if_due();

  const ProcessKeeperSettings settings_;
  std::vector<Process> processes_;
  std::map<uint64_t, Version> versions_;  // by the place at which they came, counted from the first that ever did
  uint64_t next_place_ = 0;
  std::optional<uint64_t> promoted_;
  bool has_served_ = false;  // some process, ever
  bool has_failed_ = false;
  bool is_stopped_ = false;
  StepCheck step_check_;
};

}  // namespace coterie
