#include "fl_server/telemetry/refusals.h"

#include "fl_server/telemetry/collected_metrics.h"

namespace coterie {
namespace {

// What is no refusal: an update that is taken, and a check-in that ends with a ticket.
constexpr const char* kAccepted = "accepted";
constexpr const char* kWithTicket[] = {"ticket", "ticket_again", "joined"};

}  // namespace

Refusals refusals_of(const CollectedMetrics& metrics) {
  Refusals refusals{.plans = metrics.counts("coterie_plans_refused_total", "reason"),
                    .held = metrics.counts("coterie_devices_held_total", "reason"),
                    .requests = metrics.counts("coterie_requests_refused_total", "reason"),
                    .checkins = metrics.counts("coterie_checkin_reasons_total", "reason"),
                    .updates = metrics.counts("coterie_updates_total", "outcome")};
  refusals.updates.erase(kAccepted);
  for (const char* gate : kWithTicket) refusals.checkins.erase(gate);
  return refusals;
}

}  // namespace coterie
