// AdminStore on SQLite. Its own connection to the server's file.
#pragma once

#include <memory>
#include <mutex>

#include "fl_server/store/admin_store.h"
#include "fl_server/store/database.h"

namespace coterie {

class SqliteAdminStore : public AdminStore {
 public:
  // The same file as the round store's.
  static Result<std::unique_ptr<SqliteAdminStore>> open(const std::string& path);

  Status create_admin_token(const AdminTokenRecord& token) override;
  Result<AdminTokenRecord> get_admin_token(const std::string& id) override;
  Result<std::vector<AdminTokenRecord>> list_admin_tokens() override;
  Status remove_admin_token(const std::string& id) override;
  Result<AuditHead> append_audit(AuditEntry entry) override;
  Result<AuditHead> audit_head() override;
  Result<std::vector<AuditRecord>> list_audit(const AuditQuery& query) override;
  Result<KeyClaim> claim_key(const IdempotencyKey& key, WallTime now) override;
  Status keep_answer(const IdempotencyKey& key, const KeptAnswer& answer) override;
  Status release_key(const IdempotencyKey& key) override;

 private:
  explicit SqliteAdminStore(Database database) : database_(std::move(database)) {}
  Result<AuditHead> read_head();

  std::mutex mutex_;
  Database database_;
};

}  // namespace coterie
