// DeviceSide: the device plane's machines, the guard in front of them, and how much they have to do. What devices may
// ask is the door's (device_door.h).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "scheduler/fleet/node_report.h"

namespace coterie {

class DevicePlane;
class HttpServer;
struct Observers;
class OverloadGuard;
struct ServerConfig;
struct ServerKeys;
class ServerStores;

class DeviceSide {
 public:
  static constexpr std::string_view kPlane = "device";  // of the listener

  // All but `config` outlive this. `incarnation` names this life of the process. `http` has not started.
  DeviceSide(const ServerConfig& config, const std::string& incarnation, const ServerKeys& keys, ServerStores& stores,
             Observers& observers, HttpServer& http);
  ~DeviceSide();

  DevicePlane& plane() { return *plane_; }
  OverloadGuard& guard() { return *guard_; }

  // How much of each limit is in use, as the other nodes and operators see it. `waiting`: devices that wait here.
  NodeLoad load(uint64_t waiting) const;

  // Whether operators are told that this server is about to go.
  bool is_leaving() const { return is_leaving_; }
  void set_leaving() { is_leaving_ = true; }

 private:
  const HttpServer& http_;
  const uint64_t bytes_max_;
  const uint64_t connections_max_;
  const uint64_t waiters_max_;
  std::unique_ptr<DevicePlane> plane_;
  std::unique_ptr<OverloadGuard> guard_;
  std::atomic<bool> is_leaving_{false};
};

}  // namespace coterie
