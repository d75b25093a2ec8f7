// VirtualBuffers: the buffered rounds (ADR 114) of a virtual fleet, one after the other: who is asked when, whose
// update comes when, and which buffer counts it, before anybody trains. Pure. All of it follows from seed, fleet and
// job, so that whoever goes on from a checkpoint calls next() as often as rounds are done (ADR 138).
//
// A round begins when the one before has closed. It has RoundPolicy's tickets: they go to devices that are not at work,
// each set of them as likely as any other, and those that are left to whoever becomes free while the round collects. A
// device that is asked trains for training_seconds(); its update is then in the buffer that is open, or too late for
// any. A buffer closes with goal_count updates, at level masked with a full roster (adverts_goal), or at its deadline
// with goal_count_min; the deadline of a thinner one moves, and more devices are asked, as RoundPolicy says.
//
// A device is in a buffer once, and is asked by the next round at the earliest; where the job has separation_min, as
// much later as it says. One that is lost is free again when it would have been done, in a later round.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "tools/simulate/virtual_round.h"

namespace coterie {

// Sums over the buffers so far.
struct BufferedTotals {
  uint64_t counted = 0;
  uint64_t joined = 0;         // of these: in a later buffer than the one whose round had asked
  uint64_t versions_late = 0;  // of these, added up
  uint64_t staleness_max = 0;  // of one of them
  uint64_t too_late = 0;       // trained for nothing
  uint64_t at_work = 0;        // devices that train now: what they train is lost if this was the last round
  double staleness_mean() const {
    return counted > 0 ? static_cast<double>(versions_late) / static_cast<double>(counted) : 0;
  }
};

class VirtualBuffers {
 public:
  // Keeps copies. Precondition: the job is buffered and valid.
  VirtualBuffers(const VirtualFleet& fleet, const HorizontalSettings& job) : fleet_(fleet), job_(job) {}

  // One more buffer. is_failed: it waits for ever, as everybody who was asked is lost or counted, and nobody is left to
  // ask; then next() is not called again.
  VirtualRound next();
  // The versions of the model that devices have who train now, and whose updates may still count, ascending. The model
  // before the first round is version 0.
  std::vector<uint64_t> versions_at_work() const;
  BufferedTotals totals() const;

 private:
  struct AtWork {
    double done;  // when
    uint32_t device;
    uint64_t version;
    bool is_lost;
    auto operator<=>(const AtWork&) const = default;
  };
  uint64_t version() const { return number_ - 1; }
  void begin();
  void hand_out(VirtualRound& round);
  void take_first(VirtualRound& round);
  // The deadline moves. False: nothing would come of it.
  bool extend(VirtualRound& round);
  void close(VirtualRound& round, double when);

  VirtualFleet fleet_;
  HorizontalSettings job_;
  uint64_t number_ = 0;  // of the round that collects, or did last
  double now_ = 0, opened_ = 0, deadline_ = 0;
  uint32_t extensions_ = 0, draws_ = 0;  // of this round
  uint32_t tickets_given_ = 0;           // likewise
  std::set<AtWork> at_work_;
  std::set<uint32_t> busy_;  // devices that are asked nothing: at work, or resting
  // The devices that each of the last rounds has counted, this one's first; free again separation_min rounds later.
  std::deque<std::vector<uint32_t>> resting_;
  std::vector<uint32_t> returned_;  // lost ones of this round that are back
  BufferedTotals totals_;
};

}  // namespace coterie
