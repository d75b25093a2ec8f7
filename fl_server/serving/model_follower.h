// ModelFollower: what a server's jobs have made, as what it answers with: the newest version of each job's model, and
// the one that was promoted (serving_plan.h decides). A job's model answers to the job's id, and to the numbers that
// the store knows it by; the one that was promoted last of a population answers to the population's name, too.
//
// It waits for nobody: versions are compiled elsewhere, one at a time, and names change meanwhile. What has been
// compiled takes the names that the registry gives it then, not those that it was begun for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fl_server/serving/failed_loads.h"
#include "fl_server/serving/serving_plan.h"
#include "fl_server/serving/version_loader.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"

namespace coterie {

class ModelServer;

struct FollowedJobs {
  std::vector<std::string> jobs;         // by id; with the next none: all
  std::vector<std::string> populations;  // all of their jobs
  size_t models_max = 8;                 // of those jobs: jobs_to_serve says which
  // Around the model of a job, by its id or else its population's name.
  std::map<std::string, std::shared_ptr<const ServingSteps>> steps = {};
};

struct FollowedStores {
  JobStore& jobs;
  ModelStore& models;
  AdminStore& admin;  // whose a job is
};

// One thread's.
class ModelFollower {
 public:
  // What is referred to outlives it.
  ModelFollower(FollowedJobs settings, FollowedStores stores, VersionLoader& loader, ModelServer& server)
      : settings_(std::move(settings)), stores_(stores), loader_(loader), server_(server) {}

  // Looks into the stores, and has the server answer with what is new. A model that cannot be served is told in the
  // log, and the version before it goes on answering. Errors: the stores'.
  Status look(Instant now);
  // The same with what the last look saw: for when the loader has ended.
  Status go_on(Instant now);
  // A look has succeeded, and all that it saw is loaded, or cannot be at present.
  bool is_settled() const { return has_looked_ && !loading_; }

 private:
  struct Loading {
    VersionToLoad wanted;
    std::string tenant;
  };
  Result<std::vector<RegisteredModel>> registered();
  std::shared_ptr<const ServingSteps> steps_of(const std::string& job) const;
  void tell_left_out(const std::vector<RegisteredModel>& all, const std::vector<RegisteredModel>& served);
  void take_loaded(Instant now);
  Status publish(const Loading& loading, const RegisteredModel& model, Result<std::shared_ptr<ServedVersion>> version);
  void remove(const std::vector<std::string>& models);
  void answer_to(ServingNames names);
  Status begin_next(Instant now);
  void tell_promoted(const LoadedModels& before);
  bool is_followed(const JobRecord& job) const;

  const FollowedJobs settings_;
  const FollowedStores stores_;
  VersionLoader& loader_;
  ModelServer& server_;
  std::vector<RegisteredModel> registered_;  // by the last look
  bool has_looked_ = false;
  std::optional<Loading> loading_;
  FailedLoads failed_;
  std::set<std::string> left_out_;  // jobs with a promoted version for which there is no place
};

}  // namespace coterie
