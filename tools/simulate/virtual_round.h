// VirtualRound: who is drawn in an attempt of a round, whose update comes when, and which are counted: before anybody
// trains, so that only what is counted is computed. Pure.
//
// The draw: ticket_count() of the devices that do not rest (all, if there are no more), by the job's selection rule, as
// the desk draws.
// Uniform: each set of them as likely as any other (virtual_chance.h). A device's time is its examples times the epochs
// times kExampleSeconds times its speed, which is lognormal, the same in every round. Everything but what rules
// remember of devices follows from the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/selection/trained_report.h"
#include "tools/simulate/drop_trace.h"

namespace coterie {

inline constexpr double kExampleSeconds = 0.001;  // of virtual time, for one example once, at speed 1

struct VirtualFleet {
  uint32_t devices = 0;
  uint64_t seed = 1;
  double speed_spread = 0;  // standard deviation of the logarithm of a device's time; 0: all are alike
  double dropout = 0;       // probability that a drawn device is lost
  DropTrace trace = {};     // who is lost besides
  std::function<uint64_t(uint32_t)> examples_of = {};
};

struct VirtualRound {
  std::vector<uint32_t> asked;    // all that were drawn, devices from 0, ascending
  std::vector<uint32_t> counted;  // those whose update is in the sum, ascending
  // What became of the others that were drawn: drawn = counted + lost + late + surplus.
  uint64_t drawn = 0, lost = 0;
  uint64_t late = 0;     // after the deadline
  uint64_t surplus = 0;  // in time, when the round had all it wanted
  double seconds = 0;    // of virtual time
  // Buffered rounds (virtual_buffers.h) count updates of whichever round has asked for them. Over all of them, drawn =
  // counted + lost + too_late + those who train when the last one closes; late and surplus are 0.
  bool is_buffered = false;
  std::vector<uint64_t> versions;  // of the model, that each of `counted` was trained from
  uint64_t joined = 0;             // of `counted`: from an older one than the round's
  uint64_t too_late = 0;           // that came, and no round may count
  // Updates that were trained for nothing.
  uint64_t wasted() const { return late + surplus + too_late; }
  bool is_failed = false;  // fewer than goal_count_min came at all: nothing is counted
};

// What is known of a device before the round, for rules that read it; null: nothing.
using ReportOf = std::function<const TrainedReport*(uint32_t device)>;

// Virtual, of a training of this device.
double training_seconds(const VirtualFleet& fleet, const HorizontalSettings& job, uint32_t device);

// A round takes the first goal_count updates that come before collecting_max; a thin one waits beyond it until it has
// goal_count_min (docs/adr/0004).
// Without `report_of`, nothing is known of anybody. `resting`: those who may not be drawn, ascending
// (resting_devices.h).
VirtualRound draw_round(const VirtualFleet& fleet, const HorizontalSettings& job, uint64_t round, uint32_t attempt,
                        const ReportOf& report_of = {}, const std::vector<uint32_t>& resting = {});

// The same of the round's first attempt that does not fail; of its last one, if all do. Nothing is known of anybody.
VirtualRound draw_attempts(const VirtualFleet& fleet, const HorizontalSettings& job, uint64_t round,
                           const std::vector<uint32_t>& resting);

}  // namespace coterie
