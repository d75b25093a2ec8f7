// RetentionWorld: rounds as a server leaves them, on a real database and a real directory of blobs, in virtual time.
// What trains and adds up is not here: a round is its rows and its files.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "fl_server/retention/retention_job.h"
#include "fl_server/store/directory_blob_store.h"
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "fl_server/store/sql_training_store.h"

namespace coterie::test {

// A store of blobs whose clock is the world's. When one was put is known to this object alone.
class VirtualTimeBlobs : public BlobStore {
 public:
  VirtualTimeBlobs(std::unique_ptr<BlobStore> files, const WallTime& now) : files_(std::move(files)), now_(now) {}
  Result<std::unique_ptr<BlobWriter>> create() override;
  Result<std::shared_ptr<const BlobReader>> open(const Digest& digest) override { return files_->open(digest); }
  Status remove(const Digest& digest) override;
  Result<WallTime> now() override { return now_; }
  Result<bool> remove_put_before(const Digest& digest, WallTime put_min) override;
  Result<std::vector<Digest>> list(Millis age_min) override;

 private:
  class Writer;
  std::unique_ptr<BlobStore> files_;
  const WallTime& now_;
  std::map<Digest, WallTime> put_;
};

// What must not grow.
struct WorldUse {
  uint64_t rows = 0;   // of the database, all tables
  uint64_t files = 0;  // blobs
  uint64_t disk_bytes = 0;
  uint64_t resident_bytes = 0;  // of this process
  uint64_t descriptors = 0;
};

class RetentionWorld {
 public:
  // In `directory`, which may have one of an earlier process.
  RetentionWorld(std::string directory, RetentionSettings settings, size_t rows_max = 500);

  // A job of many rounds, if there is none yet.
  Status create_job();
  // Deletes it, as an operator does who has ended it.
  Status delete_job();
  // The next round, of so many devices; then so much time passes.
  Status play_round(uint32_t devices, Millis took);
  // A device of this number, which is never seen.
  Status enroll(uint8_t number);
  Status write_audit(size_t count);
  // A whole pass of retention, and in how many steps.
  Result<uint64_t> pass();
  void pass_time(Millis time) { now_ += time; }

  // "no row without its blob", and the job can go on.
  Status check();
  Result<WorldUse> use();
  SqlTrainingStore& store() { return *store_; }
  const RetentionCounts& counts() const { return job_->counts(); }

 private:
  Result<Digest> put(const std::string& what);

  std::string directory_;
  WallTime now_ = wall_time_from_unix_ms(1'750'000'000'000);
  std::unique_ptr<SqlTrainingStore> store_;
  std::unique_ptr<SqlAdminStore> admin_;
  std::unique_ptr<SqlDeviceStore> devices_;
  std::unique_ptr<VirtualTimeBlobs> blobs_;
  UnnamedBlobs unnamed_;
  std::unique_ptr<RetentionJob> job_;
};

}  // namespace coterie::test
