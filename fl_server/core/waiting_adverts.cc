#include "fl_server/core/waiting_adverts.h"

#include <algorithm>

#include "secure/secagg/fault.h"

namespace coterie {

Status WaitingAdverts::receive(const DeviceId& device, const Bytes& public_key, const KeyAdvert& advert) {
  if (advert.identity.public_key != public_key) {
    return Error(ErrorCode::permission_denied, "secure aggregation: an advert with the key of another device");
  }
  if (const auto known = entries_.find(device); known != entries_.end()) {
    if (known->second.public_key != public_key) {
      return Error(ErrorCode::permission_denied, "secure aggregation: a second advert of one device, with another key");
    }
    if (known->second.advert == advert) return {};
    return fault(secagg::Fault::equivocation, "a second advert of one identity, with other content");
  }
  COT_TRY(secagg::check_advert(parameters_, advert, certificate_is_good_));
  entries_.emplace(device, Entry{public_key, advert});
  return {};
}

std::vector<DeviceId> WaitingAdverts::devices() const {
  std::vector<DeviceId> devices;
  for (const auto& [device, entry] : entries_) devices.push_back(device);
  return devices;
}

}  // namespace coterie
