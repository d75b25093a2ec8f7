// SimDevice: a device's shell around the real participant machine, on virtual time. It may be killed between any two
// steps; what it saved, it goes on with.
#pragma once

#include <optional>

#include "device_sdk/client/participant_machine.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/sim_session.h"
#include "tests/simulation/world.h"

namespace coterie::simulation {

class SimNode;

class SimDevice {
 public:
  SimDevice(World& world, uint32_t index);

  const DeviceId& id() const { return id_; }
  void crash();
  void act();

 private:
  void finish(ParticipantEvent event);
  Training training() const { return {machine_->state().assignment->round, trainings_}; }
  void enroll();
  void check_in(const DoCheckIn& action);
  void fetch(bool plan, const Digest& digest);
  void upload(const DoUpload& action);
  void aggregate(const DoAggregate& action);
  Status open_session(const DoAggregate& action);
  void upload_masked(const Bytes& ticket);
  AggregationAnswered taken(const Answer& answer);
  AggregationAnswered failed(const Failure& failure) const;
  Millis patience() const;
  // A fresh request: its answers are told from those of older ones.
  uint64_t begin_request(Millis patience);
  // An answer to `request` arrives, perhaps twice, perhaps too late.
  void answered(uint64_t request, ParticipantEvent event);
  // Runs `arrive` at a node, or answers that there is none.
  void at_some_node(uint64_t request, std::function<void(SimNode&)> arrive);
  ParticipantEvent failure_event(const Failure& failure) const;

  World& world_;
  uint32_t index_;
  DeviceId id_;
  Bytes saved_;  // the state as it lies on the device's disk
  std::optional<ParticipantMachine> machine_;
  std::unique_ptr<Signer> signer_;  // where sessions ask who speaks
  SavedSession saved_session_;      // on the device's disk, too
  std::optional<SimSession> session_;
  uint64_t life_ = 0;
  uint64_t trainings_ = 0;  // ended, in all lives
  uint64_t request_ = 0;    // the one under way
  ParticipantAction action_;
};

}  // namespace coterie::simulation
