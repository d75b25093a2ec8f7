// CanaryFeeder: tells canaries what the evaluation job that they name has found, round by round. The canary hears each
// device of a round once (canary_store.h): a round may be told of again, after a kill or a change of the leader, and is
// heard once.
//
// Threading: one thread at a time; it blocks on the stores.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "fl_server/records/canary.h"

namespace coterie {

class BlobStore;
class CanaryStore;
class EventHub;
class JobStore;
class ModelStore;
struct JobRecord;

class CanaryFeeder {
 public:
  // All of it outlives this.
  struct Parts {
    CanaryStore& canaries;
    JobStore& jobs;
    ModelStore& models;
    BlobStore& blobs;
    EventHub& events;
  };
  explicit CanaryFeeder(Parts parts) : parts_(parts) {}

  // Canaries that run and name a job: all rounds of these that they have not heard. What cannot be read now is logged,
  // and told of the next time; a round whose tables retention has taken is not.
  void feed_all();
  // Those that name this job.
  void feed(const JobId& job);

 private:
  Status feed(const CanaryRecord& canary);
  // Whether the canary goes on.
  Result<bool> feed_round(const CanaryRecord& canary, const JobRecord& job, ModelVersion table);
  void tell_end(const CanaryRecord& canary);

  Parts parts_;
  std::map<std::string, uint64_t> heard_;  // by canary: tables up to which all were told in this life
};

}  // namespace coterie
