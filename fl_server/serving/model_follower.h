// ModelFollower: what a server's jobs have made, as what it answers with: the newest version of each job's model, and
// the one that was promoted. A job's model answers to the job's id, and to the numbers that the store knows it by.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fl_server/store/blob_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"

namespace coterie {

class ModelServer;

struct FollowedJobs {
  std::vector<std::string> jobs;  // by id; none: all
  size_t models_max = 8;          // of all jobs: those that were created last
  uint64_t model_bytes_max = 1ull << 30;
};

// One thread's.
class ModelFollower {
 public:
  // What is referred to outlives it.
  ModelFollower(FollowedJobs settings, JobStore& jobs, ModelStore& models, BlobStore& blobs, ModelServer& server)
      : settings_(std::move(settings)), jobs_(jobs), models_(models), blobs_(blobs), server_(server) {}

  // Looks into the stores, and has the server answer with what is new. A model that cannot be served is told in the
  // log, once, and the version before it goes on answering. Errors: the stores'.
  Status look();

 private:
  Status follow(const JobId& job);
  Status serve(const JobId& job, ModelVersion version, bool promotes);
  Status tell_promoted(const JobId& job, std::optional<uint64_t> promoted);
  bool is_followed(const JobId& job) const;

  const FollowedJobs settings_;
  JobStore& jobs_;
  ModelStore& models_;
  BlobStore& blobs_;
  ModelServer& server_;
  std::set<std::pair<JobId, ModelVersion>> refused_;  // that cannot be served
  std::map<JobId, std::optional<uint64_t>> told_promoted_;
};

}  // namespace coterie
