// FleetMember: the shell around a node's MemberMachine, which decides. One thread reads the board and says reports; the
// device plane hears of rounds from here.
//
// Threading: every public method may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/work_loop.h"
#include "fl_server/settings/fleet_settings.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/fleet_store.h"
#include "scheduler/fleet/member_machine.h"

namespace coterie {

class DevicePlane;

class FleetMember final : public NodeEvents {
 public:
  // `store` and `blobs` outlive this. `load` is asked on a thread of this class.
  FleetMember(FleetSettings settings, FleetIdentity identity, FleetStore& store, BlobStore& blobs,
              std::function<NodeLoad(uint64_t waiting)> load);
  ~FleetMember() override { stop(); }

  // `plane` outlives this; none: this node talks to no devices. While another server has this node's name, it is not
  // heard.
  void start(WallTime started, DevicePlane* plane);
  // Reads the board now, and calls back when the plane has heard of what is on it.
  void refresh(std::function<void()> done);
  // The others give this node no more tickets.
  void drain();
  void stop();

  const std::string& url() const { return identity_.url; }
  // Where the sessions of secure aggregation are kept; empty: nowhere, as far as is known.
  std::string owner_url() const;
  // Whether the store has answered lately.
  bool is_in_touch() const;

  // ---- From the device plane
  void pool_changed(const Population& population, uint64_t waiting) override;
  void devices_steered(const Population& population, uint64_t count) override;
  void tickets_issued(const RoundKey& key, uint32_t total) override;
  void tickets_lacking(const RoundKey& key, uint64_t devices) override;
  void updates_accepted(const RoundKey& key, uint64_t total) override;
  void update_accepted(const RoundKey&, const DeviceId&) override {}  // the rows say it

 private:
  // All below run on the loop.
  void step(const MemberEvent& event);
  void perform(const MemberEffect& effect);
  void read_board(uint64_t known_revision);
  Result<BoardAnswered> board_after(uint64_t known_revision);
  Result<Plan> plan_of(const Assignment& assignment);
  void say(NodeReport report);

  FleetSettings settings_;
  FleetIdentity identity_;
  FleetStore& store_;
  BlobStore& blobs_;
  std::function<NodeLoad(uint64_t waiting)> load_;
  DevicePlane* plane_ = nullptr;
  WallTime started_{};

  std::optional<MemberMachine> machine_;
  bool board_was_bad_ = false;                  // and the log says so
  std::vector<std::function<void()>> lookers_;  // to be called when the board was looked at
  std::map<Digest, Plan> plans_;                // of boards that have none

  mutable std::mutex mutex_;
  std::string owner_url_;
  Instant in_touch_at_{};
  bool is_started_ = false;
  WorkLoop loop_;
};

}  // namespace coterie
