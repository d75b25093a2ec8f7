// DeviceDoor: what devices may ask, and the listener they ask at, if this server talks to devices.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace coterie {

class CheckinOrder;
class CohortOwner;
class DeviceService;
class DeviceSide;
class HttpServer;
struct ServerConfig;
struct ServerKeys;
class ServerStores;

class DeviceDoor {
 public:
  // All but `config` outlive this. `cohorts`: whoever keeps the sessions of secure aggregation. unavailable, naming
  // address and port, if they cannot be listened on. Nobody is answered before service().set_serving().
  static Result<std::unique_ptr<DeviceDoor>> open(const ServerConfig& config, const ServerKeys& keys,
                                                  ServerStores& stores, DeviceSide& devices, CohortOwner& cohorts,
                                                  HttpServer& http);

  ~DeviceDoor();

  DeviceService& service() { return *service_; }
  const std::string& url() const { return url_; }  // empty: this server does not talk to devices

 private:
  DeviceDoor();

  std::unique_ptr<CheckinOrder> checkins_;  // null: no other server is on the store
  std::unique_ptr<DeviceService> service_;
  std::string url_;
};

}  // namespace coterie
