// EventFilter: which events a reader is told. Pure.
#pragma once

#include <string>
#include <variant>

#include "base/ids.h"
#include "fl_server/events/event.h"

namespace coterie {

// The events of all jobs of one tenant; of kEveryTenant those of all jobs, and those of the server itself.
struct OfTenant {
  std::string tenant;
};

using EventFilter = std::variant<JobId, OfTenant>;

// No event of a job whose tenant is not known is told to a tenant.
bool shows(const EventFilter& filter, const Event& event);

}  // namespace coterie
