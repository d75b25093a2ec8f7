// CanaryStore: canaries, what was heard of them, and which version of which model a device of a population is to use.
// Errors and threads: job_store.h. Each call that writes is one transaction, so that a canary has heard an observation
// and come to its end, or neither.
//
// At most one canary of a population runs. While it runs, its job's models and those that other devices have cannot be
// promoted past it: ModelStore::promote_model of its own version ends it as promoted, any other promotion in its
// population and ModelStore::roll_back_model are conflicts that name it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "fl_server/records/canary.h"

namespace coterie {

inline constexpr size_t kCanariesKept = 100;             // of a population; older ones that are over go with a new one
inline constexpr size_t kCanarySourceCharsMax = 64;      // letters, digits, '-', '_' and '.'
inline constexpr size_t kCanaryObservationsMax = 1'000;  // of one call

struct OpenCanary {
  std::string id;
  NamedVersion canary;
  Digest salt;
  CanarySettings settings;
  JobId evaluation_job = {};  // empty: none
};

// What a source says: a device, by its id, or a batch, by a name of its own. A source counts once a canary, whatever it
// says later.
struct CanaryObservation {
  std::string source;
  CanaryCounts counts;
};

struct ObservedCanary {
  CanaryRecord canary;     // as it is now
  uint64_t counted = 0;    // of these observations
  uint64_t repeated = 0;   // whose source was heard before, or stands twice here
  uint64_t late = 0;       // behind its end, or behind devices_max
  bool has_ended = false;  // by one of them
};

// Which version of which model a device is to use.
struct GivenModel {
  NamedVersion version;
  Digest digest;
  uint64_t bytes = 0;
  friend bool operator==(const GivenModel&, const GivenModel&) = default;
};

class CanaryStore {
 public:
  virtual ~CanaryStore() = default;

  // not_found: no such job or version, or no job of the population to hear. conflict: the job's revision, another
  // canary of the population, nothing is promoted in the population, this version is what its job has promoted last, or
  // the job to hear does not compare it with what other devices have, asks devices again, or cuts differences later
  // than the canary.
  virtual Result<CanaryRecord> open_canary(const OpenCanary& request, WallTime now,
                                           std::optional<uint64_t> revision_expected = {}) = 0;
  // In their order, until the canary ends. An end that promotes is a release of the job, too. Whoever judges models on
  // devices, an operator's program or a job of this server, says here what it has seen. If the version that other
  // devices have is no longer the one that the canary began beside, the canary ends and hears nothing.
  virtual Result<ObservedCanary> observe_canary(const JobId& job, const std::string& id,
                                                std::span<const CanaryObservation> observations, WallTime now) = 0;
  // The version before is everybody's again. A canary that is over stays as it ended.
  virtual Result<CanaryRecord> end_canary(const JobId& job, const std::string& id, const std::string& reason,
                                          WallTime now) = 0;
  virtual Result<CanaryRecord> get_canary(const JobId& job, const std::string& id) = 0;
  // A job's, newest first, at most kCanariesKept.
  virtual Result<std::vector<CanaryRecord>> list_canaries(const JobId& job) = 0;
  // Those that run and name a job to be fed by.
  virtual Result<std::vector<CanaryRecord>> list_fed_canaries() = 0;
  // What was promoted last of the population's jobs; for those in the share of a canary that runs, its version.
  // not_found: nothing was.
  virtual Result<GivenModel> model_for(const Population& population, const DeviceId& device) = 0;
};

}  // namespace coterie
