// ModelStore: the versions of a job's model, and which of them applications should use. Errors and threads:
// job_store.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "scheduler/job/records.h"

namespace coterie {

// A version that applications should use.
struct ModelRelease {
  uint64_t seq = 0;  // 1, 2, ... of a job; a rollback takes the last one away
  ModelVersion version;
  WallTime time;
  friend bool operator==(const ModelRelease&, const ModelRelease&) = default;
};

// Some versions of a job.
struct ModelQuery {
  std::optional<ModelVersion> after = {};  // only those behind it
  std::optional<size_t> limit = {};
  bool newest_first = false;
};

class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // By version.
  virtual Result<std::vector<ModelRecord>> list_models(const JobId& job, const ModelQuery& query = {}) = 0;
  virtual Result<ModelRecord> get_model(const JobId& job, ModelVersion version) = 0;
  // Which version applications should use: the one that was promoted last and not rolled back; none before the first.
  virtual Result<std::optional<ModelRelease>> released_model(const JobId& job) = 0;
  // The same of every job that has one and is not deleted, by one question.
  virtual Result<std::map<JobId, ModelRelease>> released_models() = 0;
  // One transaction each; the job's revision grows, but for what is so already. conflict as in set_job_state.
  // not_found: no such job or version.
  virtual Result<ModelRelease> promote_model(const JobId& job, ModelVersion version, WallTime now,
                                             std::optional<uint64_t> revision_expected = {}) = 0;
  // To the version that was promoted before the present one; conflict if there is none.
  virtual Result<ModelRelease> roll_back_model(const JobId& job, std::optional<uint64_t> revision_expected = {}) = 0;
};

}  // namespace coterie
