// RoundPublisher: the shell around what decides how rounds are served (served_rounds.h): looks into the store before
// devices are asked, signs what they are given, and has the nodes serve it.
//
// Threading: the core's thread.
#pragma once

#include <functional>

#include "base/os/clock.h"
#include "fl_server/core/clock_watch.h"
#include "fl_server/core/served_rounds.h"
#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/round_scheduler_parts.h"
#include "fl_server/runtime/work_loops.h"

namespace coterie {

class RoundPublisher {
 public:
  struct Calls {                                        // on the core
    std::function<void(const TellJob&)> tell;           // must not step a round's machine in this call
    std::function<void(const ServePublished&)> serves;  // before the nodes hear of it
    std::function<void()> served;
    std::function<void(const StopServing&)> stopped;
  };
  // `parts` and `loops` outlive this.
  RoundPublisher(Millis ticket_leeway, const RoundSchedulerParts& parts, WorkLoops& loops, Calls calls)
      : ticket_leeway_(ticket_leeway), parts_(parts), loops_(loops), calls_(std::move(calls)) {}
  // Before anything else; `board` outlives this.
  void start(RoundBoard& board) { board_ = &board; }

  void step(const ServingEvent& event);
  // Tells of a round that moves, as it is published: before anything is done for it.
  void tell_moved(const RoundNotice& notice) const;
  // Assignments end by the wall clock. When that was set, those of rounds under way are signed anew.
  void time_passed();
  std::optional<Instant> next_deadline() const;

  const ServedRounds& rounds() const { return rounds_; }

 private:
  void perform(const TellJob& effect) { calls_.tell(effect); }
  void perform(const AskBeforeServing& effect);
  void perform(const ServePublished& effect);
  void perform(const SignAgain& effect);
  void perform(const StopServing& effect);
  void perform(const NoteUpdates& effect);
  Result<ReadyRound> ready(const RoundNotice& notice) const;
  bool sign(RoundNotice& notice, Instant deadline) const;

  const Millis ticket_leeway_;
  const RoundSchedulerParts parts_;
  WorkLoops& loops_;
  const Calls calls_;
  RoundBoard* board_ = nullptr;
  ServedRounds rounds_;
  ClockWatch clock_{os::now()};
};

}  // namespace coterie
