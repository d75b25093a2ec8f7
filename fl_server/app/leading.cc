#include "fl_server/app/leading.h"

#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/os/crash_point.h"
#include "fl_server/app/fleet_side.h"
#include "fl_server/app/job_tenants.h"
#include "fl_server/app/node_list.h"
#include "fl_server/app/observers.h"
#include "fl_server/app/retention_side.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/server_config.h"
#include "fl_server/fleet/fleet_lead.h"
#include "fl_server/fleet/fleet_member.h"
#include "fl_server/retention/retention_loop.h"
#include "fl_server/runtime/leadership.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/sql_training_store.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

LeaseStore& leases_of(ServerStores& stores) {
  COT_ASSERT(stores.leases() != nullptr && stores.fleet() != nullptr);
  return *stores.leases();
}

}  // namespace

Leading::Leading(const ServerConfig& config, LeadingParts parts, Calls calls)
    : config_(config),
      parts_(parts),
      calls_(std::move(calls)),
      leadership_(std::make_unique<Leadership>(config.lease, leases_of(parts.stores), kLeadLease,
                                               lead_holder(config.node, to_hex(random_bytes(8))))) {
  begin_.start();
  leadership_->start([this](LeaseEpoch epoch) { begin_.post([this, epoch] { begin(epoch); }); },
                     [this](const std::string& why) { calls_.on_lost("the lead is lost: " + why); });
}

void Leading::begin(LeaseEpoch epoch) {
  // First the fence: whatever is read or written from here on is so only while nobody else has the lease.
  parts_.stores.training().set_fence(kLeadLease, epoch);
  os::crash_point(os::CrashPoint::lead_fenced);
  const Status told = tell_job_tenants(parts_.stores.training(), parts_.stores.admin(), parts_.observers.events);
  if (!told) return calls_.on_lost("cannot lead: " + told.error().message());
  lead_ = std::make_unique<FleetLead>(config_.fleet, *parts_.stores.fleet(), parts_.fleet.member().url());
  if (const Status leads = parts_.scheduler.start(*lead_); !leads)
    return calls_.on_lost("cannot lead: " + leads.error().message());
  os::crash_point(os::CrashPoint::lead_begun);
  lead_->start(kLeadLease, epoch, parts_.scheduler);
  retention_ = begin_retention(config_, parts_.stores);
  parts_.fleet.set_owning();
  calls_.on_led();
  parts_.observers.events.add(event::ServerLeads{epoch.value()});
}

Leading::~Leading() = default;

void Leading::give_lease_back() { leadership_->stop(); }

void Leading::stop_lead() {
  if (retention_) retention_->stop();
  if (lead_) lead_->stop();
}

}  // namespace coterie
