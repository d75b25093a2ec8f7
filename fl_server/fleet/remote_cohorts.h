// RemoteCohorts: the sessions of secure aggregation that another server keeps, as this one's device plane sees them.
// The other side: fl_server/fleet/peer_service.h.
#pragma once

#include <functional>
#include <string>

#include "fl_server/fleet/peer_client.h"
#include "fl_server/runtime/fleet_link.h"

namespace coterie {

class RemoteCohorts final : public CohortOwner {
 public:
  // `owner_url`: where the owner is now, empty if nobody knows. `client` outlives this.
  RemoteCohorts(PeerClient& client, std::function<std::string()> owner_url)
      : client_(client), owner_url_(std::move(owner_url)) {}

  void cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                      std::function<void(Status)> answer) override;
  void cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                  std::function<void(Result<CohortReply>)> answer) override;
  void cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                            std::function<void(Status)> answer) override;

 private:
  void send(const RoundKey& key, const std::string& what, PeerRequest request,
            std::function<void(Result<PeerAnswer>)> done);

  PeerClient& client_;
  std::function<std::string()> owner_url_;
};

}  // namespace coterie
