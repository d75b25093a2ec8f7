// UploadSlot: where the connection that carries an update and the core that decides about it meet: one state, one
// answer. Shared by both. Thread-safe; callbacks run on the thread that moves the state, outside the lock, and must
// only hand the answer on.
//
//   offered --admit--> admitted --deliver--> delivered --decide--> decided
//      |                  | decide                                    ^
//      +-----decide-------+-------------------------------------------+      (also abandon and close)
//
// The core may decide at any time, as a round may end while a body is on its way: who sends it is told when it has
// come.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "aggregation/accumulate/accumulator.h"
#include "base/error.h"
#include "proto/messages/checkin.h"
#include "proto/messages/plan.h"
#include "proto/messages/update.h"
#include "secure/secagg/round_session.h"

namespace coterie {

// What makes values of an update's levels (secure/quantize/eden.h).
struct EdenHead {
  float scale = 0;
  uint64_t rotation_seed = 0;
};

// An update's body in memory: the frame as it came, and the values inside it; or of a masked one its header and lanes.
struct UploadBody {
  std::shared_ptr<const void> storage;
  std::span<const float> values;
  std::vector<float> decoded = {};  // the values, where the frame does not hold them as they are
  uint32_t weight = 0;
  std::optional<EdenHead> eden = {};  // there: what is decoded are levels yet
  std::optional<MaskedInput> masked = {};
  AnyLanes lanes = {};
  std::vector<uint32_t> unpacked = {};  // the lanes, where the frame has them packed
};

struct UploadAdmitted {
  UpdateRules rules;
  Digest model;
  std::optional<secagg::SessionParameters> session =
      {};  // what a masked update is due for; none: the update itself is due
};
// clang-format off
struct UploadAccepted { Receipt receipt; };
struct UploadRefused { Error error; RetryWindow window; };
// clang-format on
using UploadDecision = std::variant<UploadAccepted, UploadRefused>;
// A decision at once: that of a device that was accepted before, or a refusal.
using UploadAdmission = std::variant<UploadAdmitted, UploadDecision>;

class UploadSlot {
 public:
  enum class State : uint8_t { offered, admitted, delivered, decided };

  // `admission` is called once, by admit() or decide(). A slot that nobody answers never calls it.
  explicit UploadSlot(std::function<void(UploadAdmission)> admission) : admission_(std::move(admission)) {}

  // ---- The connection's side, after its admission
  // The body has come. `decision` is called once: now, if it was decided while the body was on its way, else by
  // decide(). Whether the core is to have the body: not if it has decided without it.
  bool deliver(std::function<void(UploadDecision)> decision);
  // The body will not come. Whether the core must hear of it: not if it has decided, or has the body.
  bool abandon();

  // ---- The core's side
  void admit(UploadAdmitted admitted);  // precondition: offered
  // The first decision counts; there is no second one but after abandon() or close().
  void decide(UploadDecision decision);
  // There is no core any more: nobody is told anything from now on, and the callbacks are gone.
  void close();

  State state() const;

 private:
  mutable std::mutex mutex_;
  State state_ = State::offered;
  std::function<void(UploadAdmission)> admission_;
  std::function<void(UploadDecision)> decision_;
  std::optional<UploadDecision> decided_;  // while the body was on its way
};

}  // namespace coterie
