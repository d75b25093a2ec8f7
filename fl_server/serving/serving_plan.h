// ServingPlan: which jobs a server is to answer for, which of their versions it is to have loaded, and which names they
// answer to, from what the registry says. Pure; the ModelFollower asks it at each look and carries it out.
//
// What was released comes first: a server that may not follow all jobs follows those with a promoted version, so that
// nobody's experiments take another's released model away. The promoted version of each followed job and its newest one
// are loaded, all the promoted ones first: where memory ends, applications keep what they use. Whatever cannot be
// loaded leaves what was there before in its place, but for one thing: while a version is promoted and no promoted one
// is loaded, nothing answers to the job's own name. A population's name stands for its job whose version was promoted
// last, and for nothing while none is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace coterie {

// A job's versions as the registry has them.
struct RegisteredModel {
  std::string job, population;
  std::vector<uint64_t> versions;  // ascending
  std::optional<uint64_t> promoted;
  WallTime promoted_at{};
};

// The same job's as they answer now.
struct LoadedModel {
  std::set<uint64_t> versions;  // at least one
  std::optional<uint64_t> promoted;
  bool is_released = false;  // VersionTable::is_released
};
using LoadedModels = std::map<std::string, LoadedModel, std::less<>>;  // by job
using ModelAliases = std::map<std::string, std::string, std::less<>>;  // population to job
using RestingVersions = std::set<std::pair<std::string, uint64_t>>;    // not to be tried now (failed_loads.h), by job

// ---- Before versions are asked for
// At most `models_max` of the jobs that a server may follow, whose `versions` nobody has asked for yet. The first ones
// are those that populations' names stand for: each population's that was promoted last. Then come the other promoted
// ones, then the rest. What was promoted last comes before what was promoted earlier, as does what was created last.
// `by_creation`: the first created comes first.
std::vector<RegisteredModel> jobs_to_serve(std::vector<RegisteredModel> by_creation, size_t models_max);

// ---- Before anything is loaded
// Jobs that are followed no more: nothing answers to their names.
std::vector<std::string> models_to_remove(std::span<const RegisteredModel> registered, const LoadedModels& loaded);

struct VersionToLoad {
  std::string job;
  uint64_t version = 0;
  bool promotes = false;  // applications are to use it as soon as it is there
  friend bool operator==(const VersionToLoad&, const VersionToLoad&) = default;
};
// What is missing, in the order to load it in.
std::vector<VersionToLoad> versions_to_load(std::span<const RegisteredModel> registered, const LoadedModels& loaded,
                                            const RestingVersions& resting);

// ---- With what is loaded now
struct Promotion {
  std::string job;
  std::optional<uint64_t> version;  // none: no version any more
  friend bool operator==(const Promotion&, const Promotion&) = default;
};
struct VersionToWithdraw {
  std::string job;
  uint64_t version = 0;
  friend bool operator==(const VersionToWithdraw&, const VersionToWithdraw&) = default;
};
struct ServingNames {
  std::vector<Promotion> promotions;
  std::vector<std::string> withheld;         // jobs whose promoted version cannot be loaded, nor was one before it
  ModelAliases aliases;                      // all of them
  std::vector<VersionToWithdraw> withdrawn;  // the registry has them no more, and what comes in their place is there
};
ServingNames names_to_answer_to(std::span<const RegisteredModel> registered, const LoadedModels& loaded,
                                const RestingVersions& resting);

}  // namespace coterie
