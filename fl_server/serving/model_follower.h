// ModelFollower: what a server's jobs have made, as what it answers with: the newest version of each job's model, and
// the one that was promoted (serving_plan.h decides). A job's model answers to the job's id, and to the numbers that
// the store knows it by; the one that was promoted last of a population answers to the population's name, too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fl_server/serving/serving_plan.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"

namespace coterie {

class ModelServer;

struct FollowedJobs {
  std::vector<std::string> jobs;         // by id; with the next none: all
  std::vector<std::string> populations;  // all of their jobs
  size_t models_max = 8;                 // of those jobs: the ones that were created last
  uint64_t model_bytes_max = 1ull << 30;
};

struct FollowedStores {
  JobStore& jobs;
  ModelStore& models;
  BlobStore& blobs;
  AdminStore& admin;  // whose a job is
};

// One thread's.
class ModelFollower {
 public:
  // What is referred to outlives it.
  ModelFollower(FollowedJobs settings, FollowedStores stores, ModelServer& server)
      : settings_(std::move(settings)), stores_(stores), server_(server) {}

  // Looks into the stores, and has the server answer with what is new. A model that cannot be served is told in the
  // log, once, and the version before it goes on answering. Errors: the stores'.
  Status look();

 private:
  Result<std::vector<RegisteredModel>> registered();
  void remove(const std::vector<std::string>& models);
  void forget_refused(const std::vector<RegisteredModel>& models);
  Status load(const VersionToLoad& wanted);
  Status publish(const VersionToLoad& wanted, const ModelRecord& record);
  void answer_to(ServingNames names);
  void tell_promoted(const LoadedModels& before);
  bool is_followed(const JobRecord& job) const;

  const FollowedJobs settings_;
  const FollowedStores stores_;
  ModelServer& server_;
  RefusedVersions refused_;
};

}  // namespace coterie
