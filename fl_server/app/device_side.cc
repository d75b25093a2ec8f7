#include "fl_server/app/device_side.h"

#include "fl_server/app/observers.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/server_config.h"
#include "fl_server/net/http_server.h"
#include "fl_server/runtime/device_plane.h"
#include "fl_server/runtime/overload_guard.h"
#include "fl_server/store/sql_training_store.h"
#include "secure/crypto/random.h"

namespace coterie {

DeviceSide::DeviceSide(const ServerConfig& config, const std::string& incarnation, const ServerKeys& keys,
                       ServerStores& stores, Observers& observers, HttpServer& http)
    : http_(http),
      bytes_max_(config.ingest.bytes_in_flight_max),
      connections_max_(config.device.limits.connections_max),
      waiters_max_(config.desk.waiters_max) {
  const DevicePlaneSettings settings{.node = config.node,
                                     .ingest = config.ingest,
                                     .desk = config.desk,
                                     .pace = config.pace,
                                     .pool_threads = config.threads,
                                     .draw_seed = config.draw_seed};
  plane_ = std::make_unique<DevicePlane>(
      settings, incarnation,
      DevicePlaneParts{stores.accepts(), stores.gates(), stores.training(), stores.partials(), keys.ticket,
                       observers.metrics, &observers.probes});
  guard_ = std::make_unique<OverloadGuard>(
      config.overload, config.pace, config.threads, observers.metrics,
      [this] { return Delays{.core = plane_->core_delay(), .store = plane_->store_delay()}; },
      [this] { return plane_->devices_steered(); }, random_u64());
  if (config.serves_devices()) {
    http.observe_delays([this](size_t thread, Millis late) { guard_->observe(thread, late); });
  }
}

DeviceSide::~DeviceSide() = default;

NodeLoad DeviceSide::load(uint64_t waiting) const {
  const auto share = [](uint64_t part, uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  return {.bytes = share(plane_->bytes_in_flight(), bytes_max_),
          .connections = share(http_.connections(kPlane), connections_max_),
          .waiters = share(waiting, waiters_max_),
          .queue_delay = guard_->load()};
}

}  // namespace coterie
