// AdminSide: what operators may ask, who they are, and the listener they ask at.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct AdminCaller;
class AdminService;
struct AdminServiceParts;
class AlarmBell;
class BearerVerifier;
class CancellableSignIn;
class CoordinatorJobs;
class DeviceSide;
class FleetSide;
class HttpServer;
struct Observers;
class RoundScheduler;
struct ServerConfig;
struct ServerKeys;
class ServerStores;
class VerticalJobFollower;

// What the admin plane looks at and acts on; all of it outlives the plane.
struct AdminSideParts {
  const ServerKeys& keys;
  ServerStores& stores;
  RoundScheduler& scheduler;
  DeviceSide& devices;
  FleetSide* fleet;  // null: this server is alone
  Observers& observers;
  HttpServer& http;
};

class AdminSide {
 public:
  // unavailable, naming address and port, if they cannot be listened on. Not ready, and not leading, until it is told.
  static Result<std::unique_ptr<AdminSide>> open(const ServerConfig& config, WallTime started, AdminSideParts parts);

  ~AdminSide();

  AdminService& service() { return *service_; }
  const std::string& url() const { return url_; }
  // Says who an identity provider's token is; empty: no provider's tokens are taken. Not after this is gone.
  using VerifyForeign = std::function<Result<AdminCaller>(std::string_view token, WallTime now)>;
  const VerifyForeign& verify_foreign() const { return verify_foreign_; }

 private:
  AdminSide();
  AdminServiceParts service_parts(const ServerConfig& config, WallTime started, AdminSideParts parts);

  std::unique_ptr<BearerVerifier> oidc_;
  std::unique_ptr<CancellableSignIn> sign_in_;
  VerifyForeign verify_foreign_;
  std::unique_ptr<CoordinatorJobs> vertical_;
  std::unique_ptr<VerticalJobFollower> vertical_follower_;
  std::unique_ptr<AlarmBell> alarms_;
  std::unique_ptr<AdminService> service_;
  std::string url_;
};

}  // namespace coterie
