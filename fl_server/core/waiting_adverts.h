// WaitingAdverts: adverts of devices that are in no cohort yet, as all of a round are placed at once (cohort_draw.h).
// Each is checked when it comes, so that its device hears then what is wrong with it. Pure.
#pragma once

#include <map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "secure/secagg/advert.h"

namespace coterie {

class WaitingAdverts {
 public:
  struct Entry {
    Bytes public_key;
    KeyAdvert advert;
  };

  WaitingAdverts(const secagg::SessionParameters& parameters, secagg::CertificateCheck certificate_is_good)
      : parameters_(parameters), certificate_is_good_(std::move(certificate_is_good)) {}

  // `device` and its key are who signed the request. The same again is fine. Errors: permission_denied (the advert, or
  // one before, is of another key); another advert of one device; those of secagg::check_advert.
  Status receive(const DeviceId& device, const Bytes& public_key, const KeyAdvert& advert);

  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  bool contains(const DeviceId& device) const { return entries_.contains(device); }
  const Entry& of(const DeviceId& device) const { return entries_.at(device); }
  std::vector<DeviceId> devices() const;

 private:
  secagg::SessionParameters parameters_;
  secagg::CertificateCheck certificate_is_good_;
  std::map<DeviceId, Entry> entries_;
};

}  // namespace coterie
