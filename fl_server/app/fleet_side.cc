#include "fl_server/app/fleet_side.h"

#include <utility>

#include "base/assert.h"
#include "fl_server/app/device_side.h"
#include "fl_server/app/observers.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/endpoints.h"
#include "fl_server/config/server_config.h"
#include "fl_server/events/event_reader.h"
#include "fl_server/fleet/cohort_router.h"
#include "fl_server/fleet/fleet_member.h"
#include "fl_server/fleet/peer_client.h"
#include "fl_server/fleet/peer_service.h"
#include "fl_server/fleet/remote_cohorts.h"
#include "fl_server/fleet/remote_events.h"
#include "fl_server/net/http_server.h"
#include "fl_server/runtime/round_scheduler.h"

namespace coterie {

FleetSide::FleetSide(std::unique_ptr<PeerClient> client, RoundScheduler& scheduler, Observers& observers)
    : client_(std::move(client)),
      events_(std::make_unique<PeerEvents>(
          observers.events,
          [&scheduler](const JobId& job, const Population& population) { return scheduler.now_of(job, population); })),
      service_(std::make_unique<PeerService>(scheduler.cohorts(), events_.get())),
      remote_cohorts_(std::make_unique<RemoteCohorts>(*client_, [this] { return member_->owner_url(); })),
      cohorts_(std::make_unique<CohortRouter>(scheduler.cohorts(), *remote_cohorts_)) {}

FleetSide::~FleetSide() = default;

CohortOwner& FleetSide::cohorts() { return *cohorts_; }
void FleetSide::stop_asking() { client_->stop(); }

Result<std::unique_ptr<FleetSide>> FleetSide::open(const ServerConfig& config, const std::string& incarnation,
                                                   FleetSideParts parts) {
  if (!config.store.is_shared()) return std::unique_ptr<FleetSide>();
  COT_ASSERT(parts.keys.peer && parts.stores.fleet() != nullptr);
  const ServerKeys::Peer& peer = *parts.keys.peer;
  COT_ASSIGN(std::unique_ptr<PeerClient> client,
             PeerClient::start({peer.files.certificate, peer.files.key, peer.files.ca}));
  std::unique_ptr<FleetSide> side(new FleetSide(std::move(client), parts.scheduler, parts.observers));
  std::string url;
  if (config.may_lead()) {
    const ListenConfig& listen = config.peer.listen;
    COT_ASSIGN(const uint16_t port,
               parts.http.listen({"peer", listen.address, listen.port, listen.limits}, peer.tls, *side->service_));
    url = config.peer.url.empty() ? url_of(listen.address, port) : config.peer.url;
  }
  COT_ASSIGN(std::string former, parts.keys.data.incarnation_before(incarnation));
  const FleetIdentity identity{.node = config.node,
                               .incarnation = incarnation,
                               .former = std::move(former),
                               .url = std::move(url),
                               .serves = config.serves_devices()};
  const auto load = [&devices = parts.devices, &metrics = parts.observers.metrics](uint64_t waiting) {
    const NodeLoad now = devices.load(waiting);
    metrics.set_node_load(now);
    return now;
  };
  side->member_ =
      std::make_unique<FleetMember>(config.fleet, identity, *parts.stores.fleet(), parts.stores.blobs(), load);
  return side;
}

void FleetSide::set_owning() {
  cohorts_->set_owning(true);
  service_->set_owning(true);
}

Result<std::shared_ptr<EventSource>> FleetSide::events_of_leader(EventReader reader) {
  const std::string owner = member_->owner_url();
  if (owner.empty())
    return Error(ErrorCode::unavailable, "nobody leads now, as far as is known: ask again in a moment");
  return std::shared_ptr<EventSource>(std::make_shared<RemoteEvents>(*client_, owner, std::move(reader)));
}

}  // namespace coterie
