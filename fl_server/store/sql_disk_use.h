// SqlDiskUse: how many rows there are of each kind, what the files of models come to, and what the database takes.
// Counting reads whole tables: an answer is given again for a minute. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "fl_server/records/disk_use.h"
#include "fl_server/store/sql/database.h"

namespace coterie {

class SqlDiskUse {
 public:
  // Prepares the schema.
  static Result<std::unique_ptr<SqlDiskUse>> open(Result<Database> database);

  // Errors as in job_store.h.
  Result<DiskUse> read(Instant now);
  // What was answered last; asks no database.
  std::optional<DiskUse> last() const;

 private:
  explicit SqlDiskUse(Database database) : database_(std::move(database)) {}
  Result<DiskUse> count();

  std::mutex mutex_;
  Database database_;
  mutable std::mutex last_mutex_;  // taken inside the other, and never held while the database is asked
  std::optional<DiskUse> last_;
  Instant counted_at_;
};

}  // namespace coterie
