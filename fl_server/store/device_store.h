// DeviceStore: who may take part: enrollment tokens and device keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/records/quota.h"
#include "proto/messages/checkin.h"

namespace coterie {

// The right to enroll `uses_left` devices into a population. Only the digest of the token is kept.
struct TokenRecord {
  Digest digest;
  Population population;
  std::string label;
  uint32_t uses_left = 1;
  WallTime expires;
  WallTime created;
};

struct DeviceRecord {
  DeviceId id;
  Population population;
  KeyAlgorithm algorithm = KeyAlgorithm::ed25519;
  Bytes public_key;
  std::string sdk_version;
  WallTime enrolled;
  std::optional<WallTime> revoked;
};

// Which devices: those of this population, if it is not empty, that are revoked or not, if that is said; by id, `limit`
// of those behind `after` (all zero: from the start).
struct DeviceQuery {
  DeviceId after = {};
  size_t limit = 100;
  std::string population = {};
  std::optional<bool> revoked = {};
  std::string tenant = {};  // only devices of its populations; empty: of all
};

// A check-in, as its device signed it.
struct CheckinClaim {
  DeviceId device;
  WallTime signed_at;
};

class DeviceStore {
 public:
  virtual ~DeviceStore() = default;

  // If an owner is given: whose population it is, over_quota if he has no room for one more.
  virtual Status create_token(const TokenRecord& token, const std::optional<QuotaClaim>& owner = {}) = 0;
  virtual Result<std::vector<TokenRecord>> list_tokens() = 0;
  virtual Status remove_token(const Digest& digest) = 0;  // not_found if there is none

  // One transaction: a use of the token and the device's row; the population is the token's. Enrolling a device that
  // exists with the same key is fine and costs no use (its reply was lost). unauthenticated: unknown, used up or
  // expired token. permission_denied: the device was revoked.
  virtual Result<DeviceRecord> enroll(const Digest& token, DeviceRecord device, WallTime now) = 0;
  virtual Result<DeviceRecord> get_device(const DeviceId& id) = 0;
  virtual Result<std::vector<DeviceRecord>> list_devices(const DeviceQuery& query) = 0;
  // All of the query, whatever its `after` and `limit`.
  virtual Result<uint64_t> count_devices(const DeviceQuery& query = {}) = 0;
  virtual Status revoke_device(const DeviceId& id, WallTime now) = 0;

  // Takes each of these that was signed later than all of its device that were taken before, by whichever server; in
  // their order, in one transaction. Whether it was taken, of each; one of an unknown device is not. What was taken
  // with a time after `latest` counts as never: a server's clock was ahead then, and keeps no device away when it is
  // put back.
  virtual Result<std::vector<bool>> take_checkins(const std::vector<CheckinClaim>& claims, WallTime latest) = 0;

  // These are there today (fl_server/records/device_day.h). Returns those of them that are not enrolled.
  virtual Result<std::vector<DeviceId>> mark_seen(const std::vector<DeviceId>& devices) = 0;
  // Removes devices that were not seen for more than so many days, `limit` at most; never a revoked one, which could
  // enroll again, nor one that an accept row names. Who was never marked counts as seen on the day of the first call
  // that finds it. One transaction, and no harm if two servers do it at once. Returns how many.
  virtual Result<uint64_t> forget_devices(uint32_t unseen_days, WallTime now, size_t limit) = 0;
};

}  // namespace coterie
