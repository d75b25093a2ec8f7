#include "fl_server/app/retention_side.h"

#include <utility>

#include "base/os/clock.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/server_config.h"
#include "fl_server/retention/retention_loop.h"
#include "fl_server/store/sql_disk_use.h"
#include "fl_server/store/sql_training_store.h"

namespace coterie {

std::unique_ptr<RetentionLoop> begin_retention(const ServerConfig& config, ServerStores& stores) {
  SqlTrainingStore& training = stores.training();
  RetentionParts parts{.jobs = training,
                       .rounds = training,
                       .models = training,
                       .rows = training,
                       .admin = stores.admin(),
                       .devices = stores.devices(),
                       .blobs = stores.blobs(),
                       .unnamed = stores.unnamed(),
                       .wall_now = &os::wall_now};
  // Counted for the metrics, which ask no database. A failure is told by the next pass, or by whoever asks.
  const auto count = [&use = stores.disk_use()] { (void)use.read(os::monotonic_now()); };
  return std::make_unique<RetentionLoop>(config.retention, std::move(parts), count);
}

}  // namespace coterie
