// DeviceStore on SQLite. Its own connection: looking up a key never waits for a round's commit.
#pragma once

#include <memory>
#include <mutex>

#include "fl_server/store/database.h"
#include "fl_server/store/device_store.h"

namespace coterie {

class SqliteDeviceStore : public DeviceStore {
 public:
  // The same file as the round store's.
  static Result<std::unique_ptr<SqliteDeviceStore>> open(const std::string& path);

  Status create_token(const TokenRecord& token) override;
  Result<std::vector<TokenRecord>> list_tokens() override;
  Status remove_token(const Digest& digest) override;
  Result<DeviceRecord> enroll(const Digest& token, DeviceRecord device, WallTime now) override;
  Result<DeviceRecord> get_device(const DeviceId& id) override;
  Result<std::vector<DeviceRecord>> list_devices(const DeviceId& after, size_t limit) override;
  Result<uint64_t> count_devices() override;
  Status revoke_device(const DeviceId& id, WallTime now) override;

 private:
  explicit SqliteDeviceStore(Database database) : database_(std::move(database)) {}
  Result<std::optional<DeviceRecord>> read_device(const DeviceId& id);
  Status use_token(const Digest& token, DeviceRecord& device, WallTime now);

  std::mutex mutex_;
  Database database_;
};

}  // namespace coterie
