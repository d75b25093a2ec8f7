#include "fl_server/app/serving.h"

#include <functional>
#include <utility>

#include "fl_server/fleet/fleet_member.h"
#include "fl_server/runtime/device_plane.h"
#include "fl_server/runtime/round_scheduler.h"

namespace coterie {

Result<std::unique_ptr<Serving>> Serving::alone(RoundScheduler& scheduler, DevicePlane& plane) {
  std::unique_ptr<Serving> serving(new Serving(scheduler, plane, nullptr));
  // The plane first: the scheduler tells it of rounds that go on.
  plane.start(scheduler, [&scheduler](std::function<void()> done) { scheduler.when_settled(std::move(done)); });
  COT_TRY(scheduler.start(plane));
  scheduler.nodes_changed(1);
  return serving;
}

std::unique_ptr<Serving> Serving::in_fleet(RoundScheduler& scheduler, DevicePlane& plane, FleetMember& member,
                                           WallTime started, bool serves_devices) {
  std::unique_ptr<Serving> serving(new Serving(scheduler, plane, &member));
  if (serves_devices) {
    plane.start(member, [&member](std::function<void()> done) { member.refresh(std::move(done)); });
  }
  member.start(started, serves_devices ? &plane : nullptr);
  return serving;
}

Serving::~Serving() {
  stop_rounds(Millis(0));
  leave_fleet();
}

void Serving::send_away() {
  plane_.dismiss_waiters();
  scheduler_.answer_all_held();
}

void Serving::stop_rounds(Millis patience) {
  plane_.stop(patience);
  scheduler_.stop();
}

void Serving::leave_fleet() {
  if (member_ != nullptr) member_->stop();
}

}  // namespace coterie
