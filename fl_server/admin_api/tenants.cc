#include "fl_server/admin_api/tenants.h"

#include <algorithm>

#include "fl_server/store/admin_store.h"
#include "fl_server/store/device_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/vertical_jobs/vertical_jobs.h"

namespace coterie {
namespace {

std::string or_default(const std::string& owner) { return owner.empty() ? std::string(kDefaultTenant) : owner; }

}  // namespace

Result<std::string> owner_of(AdminContext& context, Owned kind, const std::string& name) {
  COT_ASSIGN(const std::string owner, context.admin.owner_of(kind, name));
  return or_default(owner);
}

Result<TenantView> view_of(AdminContext& context, const AdminCall& call, Owned kind) {
  TenantView view{call.caller.tenant, {}};
  if (call.caller.tenant != kEveryTenant) {
    COT_ASSIGN(view.owners, context.admin.list_owners(kind));
  }
  return view;
}

bool TenantView::sees(const std::string& name) const {
  if (tenant == kEveryTenant) return true;
  const auto owner = owners.find(name);
  return tenant_sees(tenant, owner == owners.end() ? kDefaultTenant : std::string_view(owner->second));
}

Status check_tenant(AdminContext& context, const AdminRoute& route, const AdminCall& call) {
  const std::string& tenant = call.caller.tenant;
  if (const auto job = call.path.find("vertical_job"); job != call.path.end()) {
    if (context.vertical == nullptr) {
      return Error(ErrorCode::not_found, "no such vertical job: this server has no coordinator of any");
    }
    // The words of a coordinator that does not have it.
    if (!tenant_sees(tenant, context.vertical->tenant())) {
      return vertical::refusal_error(vertical::Refusal::unknown_job);
    }
  }
  if (tenant == kEveryTenant || route.is_open()) return {};
  if (route.traits.whole_server) {
    return Error(ErrorCode::permission_denied,
                 std::string(route.operation) + " tells of all tenants; this token is of " + tenant);
  }
  if (const auto job = call.path.find("job"); job != call.path.end()) {
    COT_ASSIGN(const std::string owner, owner_of(context, Owned::job, job->second));
    if (!tenant_sees(tenant, owner))
      return Error(ErrorCode::not_found, "no such job: " + job->second);  // the stores' words
  }
  if (const auto device = call.path.find("device"); device != call.path.end()) {
    COT_ASSIGN(const DeviceId id, DeviceId::from_hex(device->second));
    COT_ASSIGN(const DeviceRecord record, context.devices.get_device(id));
    COT_ASSIGN(const std::string owner, owner_of(context, Owned::population, record.population.value()));
    if (!tenant_sees(tenant, owner)) return Error(ErrorCode::not_found, "no such device");
  }
  return {};
}

Result<std::string> tenant_for(const AdminCall& call, const std::string& wanted, Problems& problems,
                               const std::string& pointer) {
  const std::string& own = call.caller.tenant;
  if (wanted.empty()) return own == kEveryTenant ? std::string(kDefaultTenant) : own;
  if (!is_tenant_name(wanted)) {
    problems.push_back(
        {pointer, "must have 1 to " + std::to_string(kTenantCharsMax) + " of a-z, 0-9, '-', '_' and '.'"});
  } else if (!tenant_sees(own, wanted)) {
    problems.push_back({pointer, "must be " + own + ", whose this token is"});
  }
  return wanted;
}

Status claim_population(AdminContext& context, const Population& population, const std::string& tenant) {
  const std::string& name = population.value();
  COT_ASSIGN(std::string owner, context.admin.owner_of(Owned::population, name));
  if (owner.empty() && tenant != kDefaultTenant) {
    // What is there without an owner is the default tenant's, also from before there were tenants.
    COT_ASSIGN(const uint64_t devices, context.devices.count_devices({.population = name}));
    COT_ASSIGN(const std::vector<TokenRecord> tokens, context.devices.list_tokens());
    COT_ASSIGN(const std::vector<JobRecord> jobs, context.jobs.list_jobs());
    const bool in_use =
        devices > 0 || std::ranges::count(tokens, population, &TokenRecord::population) > 0 ||
        std::ranges::count(jobs, population, [](const JobRecord& job) { return job.spec.common.population; }) > 0;
    if (in_use) {
      COT_ASSIGN(owner, context.admin.claim_for_tenant(Owned::population, name, std::string(kDefaultTenant)));
    }
  }
  if (owner.empty()) {
    COT_ASSIGN(owner, context.admin.claim_for_tenant(Owned::population, name, tenant));
  }
  if (owner == tenant) return {};
  return Error(ErrorCode::not_found,
               "tenant " + tenant + " has no population " + name + ", and cannot have one of this name");
}

}  // namespace coterie
