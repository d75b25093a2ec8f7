// SimSession: a device's part of one session of secure aggregation: the client that ships, and what it says and asks
// next. It stands for AggregationSession of the SDK, without its disk and its network.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "secure/secagg/client.h"
#include "tests/simulation/sessions/server_port.h"

namespace coterie::simulation {

// What lies on the device's disk. A session that is opened again goes on from it.
struct SavedSession {
  Digest context;
  Bytes seed;
  std::vector<ServerMessage> messages;  // each is saved before it is acted on
  bool has_receipt = false;
};

class SimSession {
 public:
  // `update` holds the lanes without check lanes. `signer` and `saved` outlive the session.
  static Result<SimSession> open(const secagg::SessionParameters& parameters, const Signer& signer,
                                 std::vector<uint64_t> update, SavedSession& saved);

  // What is sent next: a message, a question, or both. A masked update goes alone.
  const std::optional<DeviceMessage>& to_tell() const { return to_tell_; }
  const std::optional<CohortQuestion>& to_ask() const { return to_ask_; }
  const MaskedUpdate* to_upload() const { return to_tell_ ? std::get_if<MaskedUpdate>(&*to_tell_) : nullptr; }
  bool has_receipt() const { return saved_->has_receipt; }
  // The masked update may have left.
  bool has_masked() const;

  // The server has what was to be told; of an update: this device has the receipt.
  void told();
  // Saves what the server said and acts on it. False: it is not what the device waits for, and nothing was done. An
  // error ends the session.
  Result<bool> take(const ServerMessage& message);

 private:
  SimSession(const secagg::SessionParameters& parameters, secagg::Client client, std::vector<uint64_t> update,
             SavedSession& saved)
      : parameters_(parameters), client_(std::move(client)), update_(std::move(update)), saved_(&saved) {}

  bool is_awaited(const ServerMessage& message) const;
  Status act(const ServerMessage& message);
  Status act_on(const RosterSlot& slot);
  Status act_on(const RosterView& view);
  Status act_on(const ShareInbox& inbox);
  Status act_on(const ConfirmRequest& request);
  Status act_on(const UnmaskRequest& request);

  secagg::SessionParameters parameters_;
  secagg::Client client_;
  std::vector<uint64_t> update_;
  SavedSession* saved_;
  std::optional<DeviceMessage> to_tell_;
  std::optional<CohortQuestion> to_ask_ = CohortQuestion::roster;  // none: the last message is the device's
  std::optional<RosterSlot> slot_;                                 // that its holders were drawn for
};

}  // namespace coterie::simulation
