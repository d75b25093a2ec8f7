// What all of the store's files share: how it is opened, and what a transaction locks before it decides.
#include "fl_server/store/sql_training_store.h"

#include "fl_server/store/schema.h"

namespace coterie {

Result<std::unique_ptr<SqlTrainingStore>> SqlTrainingStore::open(Result<Database> opened) {
  COT_ASSIGN(Database database, std::move(opened));
  COT_TRY(prepare_schema(database));
  auto store = std::unique_ptr<SqlTrainingStore>(new SqlTrainingStore(std::move(database)));
  COT_TRY(store->refresh_ledger());
  return store;
}

void SqlTrainingStore::set_fence(const std::string& lease, LeaseEpoch epoch) {
  const std::lock_guard lock(mutex_);
  fence_ = Fence{lease, epoch};
}

// Shared: until this transaction is over the lease goes to nobody else.
Status SqlTrainingStore::check_fence() {
  if (!fence_) return {};
  Statement row = database_.prepare("SELECT epoch FROM lease WHERE name = ? /*! FOR SHARE */");
  row << fence_->lease;
  COT_ASSIGN(const bool found, row.step());
  if (found && row.u64(0) == fence_->epoch.value()) return {};
  return Error(ErrorCode::conflict, "this server does not lead any more: its epoch is " +
                                        std::to_string(fence_->epoch.value()) + ", the lease has " +
                                        (found ? std::to_string(row.u64(0)) : "none"));
}

Status SqlTrainingStore::lock_job(const JobId& id) {
  Statement row = database_.prepare("SELECT 1 FROM job WHERE id = ? /*! FOR UPDATE */");
  row << id.value();
  return row.lock_rows();
}

Status SqlTrainingStore::lock_round(const RoundKey& key) {
  Statement row = database_.prepare("SELECT 1 FROM round WHERE id = ? AND attempt = ? /*! FOR UPDATE */");
  row << key.round.value() << key.attempt.value();
  return row.lock_rows();
}

}  // namespace coterie
