#include "fl_server/app/job_tenants.h"

#include <map>
#include <string>
#include <vector>

#include "fl_server/events/event_hub.h"
#include "fl_server/records/tenant.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/job_store.h"

namespace coterie {

Status tell_job_tenants(JobStore& jobs, AdminStore& admin, EventHub& events) {
  // The jobs first. A job is claimed for its tenant before it is stored, so that a job of this list without an owner is
  // the default tenant's, and not one whose claim is still to come.
  COT_ASSIGN(const std::vector<JobRecord> all, jobs.list_jobs());
  COT_ASSIGN(const auto owners, admin.list_owners(Owned::job));
  for (const JobRecord& job : all) {
    const auto owner = owners.find(job.id.value());
    events.belongs_to(job.id, owner == owners.end() ? std::string(kDefaultTenant) : owner->second);
  }
  return {};
}

}  // namespace coterie
