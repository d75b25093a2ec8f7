// Which tenant has what.
#include "fl_server/store/sql_admin_store.h"

namespace coterie {

Result<std::string> SqlAdminStore::read_owner(Owned kind, const std::string& name) {
  Statement row = database_.prepare("SELECT tenant FROM tenancy WHERE kind = ? AND name = ?");
  row << static_cast<uint64_t>(kind) << name;
  COT_ASSIGN(const bool found, row.step());
  return found ? row.text(0) : std::string();
}

Result<std::string> SqlAdminStore::claim_for_tenant(Owned kind, const std::string& name, const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  std::string owner;
  const auto claim_once = [&]() -> Status {
    COT_ASSIGN(owner, read_owner(kind, name));
    if (!owner.empty()) return {};
    owner = tenant;
    Statement insert = database_.prepare("INSERT INTO tenancy(kind, name, tenant) VALUES(?, ?, ?)");
    insert << static_cast<uint64_t>(kind) << name << tenant;
    return insert.run();
  };
  Status done = database_.transaction(os::crash::claim_for_tenant, claim_once);
  // Another server was faster: now it is there.
  if (!done && done.error().code() == ErrorCode::conflict)
    done = database_.transaction(os::crash::claim_for_tenant, claim_once);
  if (!done) return done.error();
  return owner;
}

Result<std::string> SqlAdminStore::owner_of(Owned kind, const std::string& name) {
  const std::lock_guard lock(mutex_);
  return read_owner(kind, name);
}

Result<std::map<std::string, std::string>> SqlAdminStore::list_owners(Owned kind) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT name, tenant FROM tenancy WHERE kind = ?");
  rows << static_cast<uint64_t>(kind);
  std::map<std::string, std::string> owners;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return owners;
    owners[rows.text(0)] = rows.text(1);
  }
}

}  // namespace coterie
