// DeviceStore on a database (store/sql/database.h). Its own connection: looking up a key never waits for a round's
// commit.
#pragma once

#include <memory>
#include <mutex>

#include "fl_server/store/device_store.h"
#include "fl_server/store/sql/database.h"

namespace coterie {

class SqlDeviceStore : public DeviceStore {
 public:
  // The same database as the round store's. Prepares the schema.
  static Result<std::unique_ptr<SqlDeviceStore>> open(Result<Database> database);

  Status create_token(const TokenRecord& token, const std::optional<QuotaClaim>& owner = {}) override;
  Result<std::vector<TokenRecord>> list_tokens() override;
  Status remove_token(const Digest& digest) override;
  Result<DeviceRecord> enroll(const Digest& token, DeviceRecord device, WallTime now) override;
  Result<DeviceRecord> get_device(const DeviceId& id) override;
  Result<std::vector<DeviceRecord>> list_devices(const DeviceQuery& query) override;
  Result<uint64_t> count_devices(const DeviceQuery& query = {}) override;
  Status revoke_device(const DeviceId& id, WallTime now) override;
  Result<std::vector<bool>> take_checkins(const std::vector<CheckinClaim>& claims, WallTime latest) override;
  Result<std::vector<DeviceId>> mark_seen(const std::vector<DeviceId>& devices) override;
  Result<uint64_t> forget_devices(uint32_t unseen_days, WallTime now, size_t limit) override;

 private:
  explicit SqlDeviceStore(Database database) : database_(std::move(database)) {}
  Result<std::optional<DeviceRecord>> read_device(const DeviceId& id);
  Result<uint64_t> enter_day(WallTime now);
  Status use_token(const Digest& token, DeviceRecord& device, WallTime now);

  std::mutex mutex_;
  Database database_;
};

}  // namespace coterie
