// FleetSide: this server as one of several: its place on the board (the member), the plane on which servers ask each
// other (service, client), and the way to the sessions of secure aggregation and to the events, wherever they are kept.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace coterie {

class CohortOwner;
class CohortRouter;
class DeviceSide;
struct EventReader;
class EventSource;
class FleetMember;
class HttpServer;
struct Observers;
class PeerClient;
class PeerEvents;
class PeerService;
class RemoteCohorts;
class RoundScheduler;
struct ServerConfig;
struct ServerKeys;
class ServerStores;

// What it works on; outlives it.
struct FleetSideParts {
  const ServerKeys& keys;
  ServerStores& stores;
  RoundScheduler& scheduler;
  DeviceSide& devices;
  Observers& observers;
  HttpServer& http;  // that has not started
};

class FleetSide {
 public:
  // Null where the store is not shared: this server is alone. One that may lead listens on the peer plane before it is
  // on the board, so that the others can be told where; unavailable, naming address and port, if it cannot.
  // `incarnation` names this life of the process.
  static Result<std::unique_ptr<FleetSide>> open(const ServerConfig& config, const std::string& incarnation,
                                                 FleetSideParts parts);

  ~FleetSide();

  FleetMember& member() { return *member_; }
  CohortOwner& cohorts();
  // The sessions of secure aggregation are kept here from now on, and events are told from here.
  void set_owning();
  // Events that the one that leads has; unavailable if nobody leads, as far as is known. Does not block.
  Result<std::shared_ptr<EventSource>> events_of_leader(EventReader reader);
  // Every question that is out to another server ends.
  void stop_asking();

 private:
  FleetSide(std::unique_ptr<PeerClient> client, RoundScheduler& scheduler, Observers& observers);

  std::unique_ptr<PeerClient> client_;
  std::unique_ptr<PeerEvents> events_;
  std::unique_ptr<PeerService> service_;
  std::unique_ptr<FleetMember> member_;  // from open() on
  std::unique_ptr<RemoteCohorts> remote_cohorts_;
  std::unique_ptr<CohortRouter> cohorts_;
};

}  // namespace coterie
