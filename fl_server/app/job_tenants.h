// The tenants of the jobs that there were before this server: so that the log of events can tell each tenant of its
// own.
#pragma once

#include "base/result.h"

namespace coterie {

class AdminStore;
class EventHub;
class JobStore;

// To be called before anything happens to a job here. From then on whoever creates a job says whose it is.
Status tell_job_tenants(JobStore& jobs, AdminStore& admin, EventHub& events);

}  // namespace coterie
