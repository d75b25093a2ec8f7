#include "fl_server/app/device_door.h"

#include "fl_server/app/device_side.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/endpoints.h"
#include "fl_server/config/server_config.h"
#include "fl_server/device_api/device_service.h"
#include "fl_server/net/http_server.h"
#include "fl_server/store/sql_training_store.h"

namespace coterie {

DeviceDoor::DeviceDoor() = default;
DeviceDoor::~DeviceDoor() = default;

Result<std::unique_ptr<DeviceDoor>> DeviceDoor::open(const ServerConfig& config, const ServerKeys& keys,
                                                     ServerStores& stores, DeviceSide& devices, CohortOwner& cohorts,
                                                     HttpServer& http) {
  std::unique_ptr<DeviceDoor> door(new DeviceDoor());
  const DeviceServiceSettings settings{.clock_skew_max = config.clock_skew_max,
                                       .idle_body_bytes_max = config.ingest.bytes_in_flight_max};
  if (config.store.is_shared())
    door->checkins_ = std::make_unique<CheckinOrder>(stores.devices(), config.clock_skew_max);
  door->service_ = std::make_unique<DeviceService>(
      settings,
      DeviceServiceParts{devices.plane(), cohorts, stores.devices(), stores.directory(), stores.blobs(), keys.ticket,
                         *keys.signer, devices.guard(), *keys.revocations, stores.training(), door->checkins_.get()});
  door->service_->take_old_tickets(keys.old_ticket);
  door->service_->take_key_statements(keys.key_statements);
  if (config.serves_devices()) {
    const ListenConfig& listen = config.device;
    COT_ASSIGN(const uint16_t port,
               http.listen({std::string(DeviceSide::kPlane), listen.address, listen.port, listen.limits}, keys.tls,
                           *door->service_));
    door->url_ = url_of(listen.address, port);
  }
  return door;
}

}  // namespace coterie
