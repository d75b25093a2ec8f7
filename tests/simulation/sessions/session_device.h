// SessionDevice: a device's shell around the real client machine, on virtual time. It may be killed between any two
// steps, and between saving a message and acting on it; what it saved, it goes on with. A hostile one changes what is
// said.
#pragma once

#include <optional>
#include <vector>

#include "secure/secagg/client.h"
#include "tests/simulation/sessions/mischief.h"
#include "tests/simulation/sessions/session_world.h"

namespace coterie::simulation {

class SessionDevice {
 public:
  SessionDevice(SessionWorld& world, uint32_t who, Mischief mischief);

  void start();
  void crash();
  // A message that it did not ask for.
  void push(const ServerMessage& message);

  bool is_over() const { return is_over_; }
  uint32_t who() const { return who_; }
  const Bytes& public_key() const { return world_.signer(who_).public_key(); }
  const std::vector<uint64_t>& update() const { return update_; }  // without check lanes
  // All zeros before it shared.
  Digest session() const { return client_ ? client_->session() : Digest(); }

 private:
  struct Saved {
    Bytes seed;
    std::vector<ServerMessage> messages;
  };

  bool is_honest() const { return mischief_ == Mischief::none; }
  void boot();
  void send();
  void send_answer(uint64_t request);
  void answered(uint64_t request, Answer answer);
  void take(const ServerMessage& message);
  bool is_awaited(const ServerMessage& message) const;
  // Makes the answer to a message of the server.
  Status act(const ServerMessage& message);
  Status act_on(const RosterSlot& slot);
  Status act_on(const RosterView& view);
  Status act_on(const ShareInbox& inbox);
  Status act_on(const ConfirmRequest& request);
  Status act_on(const UnmaskRequest& request);
  Result<Unmasking> unmask(const UnmaskRequest& request);
  void finish(const Error* error);

  SessionWorld& world_;
  uint32_t who_;
  Mischief mischief_;
  secagg::SessionParameters parameters_;
  std::vector<uint64_t> update_;
  Saved saved_;                           // on the device's disk
  std::optional<ServerMessage> unsaved_;  // of a device that acts before it saves
  std::optional<secagg::Client> client_;
  std::optional<DeviceMessage> answer_;  // to be told; else something is to be asked
  std::optional<CohortQuestion> next_;   // nothing: then it is done
  std::optional<RosterSlot> slot_;
  std::optional<RosterView> view_;
  std::optional<ShareInbox> inbox_;
  std::vector<DeviceMessage> told_;  // by a hostile one
  uint64_t life_ = 0, request_ = 0, requests_ = 0;
  bool is_started_ = false, is_over_ = false;
};

}  // namespace coterie::simulation
