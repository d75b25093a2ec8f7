// FleetStore on a database. Its own connection: nodes are heard of though a round's commit takes long.
#pragma once

#include <memory>
#include <mutex>

#include "fl_server/store/fleet_store.h"
#include "fl_server/store/sql/database.h"

namespace coterie {

class SqlFleetStore : public FleetStore {
 public:
  // The same database as the round store's. Prepares the schema.
  static Result<std::unique_ptr<SqlFleetStore>> open(Result<Database> database);

  Status say(const FleetNodeRow& row, const std::string& former, Millis silence_max) override;
  Status leave(const std::string& node, const std::string& incarnation) override;
  Result<std::vector<FleetNodeRow>> nodes() override;
  Status forget_nodes(Millis age_min) override;
  Result<std::string> lease_holder(const std::string& lease) override;
  Result<std::optional<FleetBoard>> read_board(uint64_t known_revision) override;
  Result<uint64_t> write_board(const std::string& lease, LeaseEpoch epoch, const std::string& text) override;

 private:
  explicit SqlFleetStore(Database database) : database_(std::move(database)) {}
  bool is_sqlite() const { return database_.engine() == SqlEngine::sqlite; }

  std::mutex mutex_;
  Database database_;
};

}  // namespace coterie
