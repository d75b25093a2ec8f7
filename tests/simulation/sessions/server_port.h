// ServerPort: a server as devices see it, honest or not. Requests come authenticated: `who` has signed them.
#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "fl_server/core/cohort_machine.h"
#include "proto/messages/secagg.h"

namespace coterie::simulation {

struct MaskedUpdate {
  MaskedInput head;
  std::vector<uint64_t> lanes;  // each in a word of its own, whatever the session's width
};

using DeviceMessage = std::variant<KeyAdvert, HolderChoice, SealedShares, MaskedUpdate, Confirmation, Unmasking>;
using ServerMessage = std::variant<RosterSlot, RosterView, ShareInbox, ConfirmRequest, UnmaskRequest>;

struct Heard {};  // what was told is known
using Answer = std::variant<Heard, NotYet, ServerMessage, Error>;
using Reply = std::function<void(Answer)>;

class ServerPort {
 public:
  virtual ~ServerPort() = default;

  virtual void start() = 0;
  // What the device is told at its check-in.
  virtual Digest context_for(uint32_t who) const = 0;
  virtual void tell(uint32_t who, const DeviceMessage& message, Reply reply) = 0;
  virtual void ask(uint32_t who, CohortQuestion question, Reply reply) = 0;
  // Whether the session has come to an end here.
  virtual bool is_over() const = 0;
};

}  // namespace coterie::simulation
