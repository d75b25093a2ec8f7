#include "fl_server/events/event_filter.h"

#include "fl_server/records/tenant.h"

namespace coterie {
namespace {

struct Shows {
  const Event& event;

  bool operator()(const JobId& job) const { return event.job == job; }
  bool operator()(const OfTenant& of) const {
    if (of.tenant == kEveryTenant) return true;
    // An event of the server, and one of a job that nobody has named the tenant of, have none: "" is no tenant's name.
    return !event.tenant.empty() && tenant_sees(of.tenant, event.tenant);
  }
};

}  // namespace

bool shows(const EventFilter& filter, const Event& event) { return std::visit(Shows{event}, filter); }

}  // namespace coterie
