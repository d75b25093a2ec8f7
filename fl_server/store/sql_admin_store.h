// AdminStore on a database (store/sql/database.h). Its own connection.
#pragma once

#include <memory>
#include <mutex>

#include "fl_server/store/admin_store.h"
#include "fl_server/store/sql/database.h"

namespace coterie {

class SqlAdminStore : public AdminStore {
 public:
  // The same database as the round store's. Prepares the schema.
  static Result<std::unique_ptr<SqlAdminStore>> open(Result<Database> database);

  Status create_admin_token(const AdminTokenRecord& token, const AdminTokenRoom& room = {}) override;
  Result<AdminTokenRecord> get_admin_token(const std::string& id) override;
  Result<std::vector<AdminTokenRecord>> list_admin_tokens() override;
  Status remove_admin_token(const std::string& id) override;
  Result<std::string> claim_for_tenant(Owned kind, const std::string& name, const std::string& tenant) override;
  Result<std::string> owner_of(Owned kind, const std::string& name) override;
  Result<std::map<std::string, std::string>> list_owners(Owned kind) override;
  Status note_upload(const UploadRecord& upload, const UploadRoom& room) override;
  Result<uint64_t> forget_upload(const Digest& digest, WallTime put_before, const std::string& tenant = {}) override;
  Result<std::vector<std::string>> list_uploaders(const Digest& digest) override;
  Result<std::vector<Digest>> list_uploads(const Digest& after, size_t limit) override;
  Result<std::map<std::string, TenantUse>> list_use() override;
  Result<AuditHead> append_audit(AuditEntry entry) override;
  Result<AuditHead> audit_head() override;
  Result<std::vector<AuditRecord>> list_audit(const AuditQuery& query) override;
  Result<std::vector<AuditSegment>> list_audit_segments() override;
  Status seal_audit(const AuditSegment& segment) override;
  Result<uint64_t> forget_audit(size_t limit) override;
  Result<std::vector<AuditSegment>> drop_audit_segments(WallTime sealed_before) override;
  Result<KeyClaim> claim_key(const IdempotencyKey& key, WallTime now, uint64_t of_tenant_max = UINT64_MAX) override;
  Status keep_answer(const IdempotencyKey& key, const KeptAnswer& answer) override;
  Status release_key(const IdempotencyKey& key) override;
  Result<uint64_t> forget_keys(WallTime now) override;

 private:
  explicit SqlAdminStore(Database database) : database_(std::move(database)) {}
  Result<AuditHead> read_head();
  Result<std::vector<AuditSegment>> read_segments();
  Result<std::string> read_owner(Owned kind, const std::string& name);
  Result<uint64_t> count_of(const char* sql, const std::string& tenant);

  std::mutex mutex_;
  Database database_;
};

}  // namespace coterie
