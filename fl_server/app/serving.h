// Serving: the machines at work. They call each other from threads of their own, so that none may end before all have
// stopped: this is what is made after all of them, and stops them when it goes.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

class DevicePlane;
class FleetMember;
class RoundScheduler;

class Serving {
 public:
  // One process does everything. Jobs go on where the store says they are. Both outlive this.
  static Result<std::unique_ptr<Serving>> alone(RoundScheduler& scheduler, DevicePlane& plane);
  // One of several: of rounds it hears through the board, whoever leads. All outlive this. `serves_devices`: this one
  // talks to devices; one that does not only has its place on the board.
  static std::unique_ptr<Serving> in_fleet(RoundScheduler& scheduler, DevicePlane& plane, FleetMember& member,
                                           WallTime started, bool serves_devices);
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  // Devices that wait are sent away, and whoever waits for a session's next step is told that there is none yet.
  void send_away();
  // Uploads under way are finished and flushed, for at most so long; then the machines stop.
  void stop_rounds(Millis patience);
  // The board hears no more of this node.
  void leave_fleet();

 private:
  Serving(RoundScheduler& scheduler, DevicePlane& plane, FleetMember* member)
      : scheduler_(scheduler), plane_(plane), member_(member) {}

  RoundScheduler& scheduler_;
  DevicePlane& plane_;
  FleetMember* const member_;  // null: alone
};

}  // namespace coterie
