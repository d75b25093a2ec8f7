// ServingPlan: which versions a server is to have loaded, and which names they answer to, from what the registry says.
// Pure; the ModelFollower asks it at each look and carries it out.
//
// The promoted version of each followed job and its newest one are loaded. The promoted one comes first: where memory
// ends, applications keep what they use. Whatever cannot be loaded leaves what was there before in its place. A
// population's name stands for its job whose version was promoted last, and for nothing while none is.
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

// A followed job's versions as the registry has them.
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
};
using LoadedModels = std::map<std::string, LoadedModel, std::less<>>;  // by job
using ModelAliases = std::map<std::string, std::string, std::less<>>;  // population to job
using RefusedVersions = std::set<std::pair<std::string, uint64_t>>;    // that cannot be loaded, by job

struct VersionToLoad {
  std::string job;
  uint64_t version = 0;
  bool promotes = false;  // applications are to use it as soon as it is there
  friend bool operator==(const VersionToLoad&, const VersionToLoad&) = default;
};

// ---- Before anything is loaded
// Jobs that are followed no more: nothing answers to their names.
std::vector<std::string> models_to_remove(std::span<const RegisteredModel> registered, const LoadedModels& loaded);
// What is missing, in the order to load it in.
std::vector<VersionToLoad> versions_to_load(std::span<const RegisteredModel> registered, const LoadedModels& loaded,
                                            const RefusedVersions& refused);

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
  ModelAliases aliases;                      // all of them
  std::vector<VersionToWithdraw> withdrawn;  // the registry has them no more
};
ServingNames names_to_answer_to(std::span<const RegisteredModel> registered, const LoadedModels& loaded);

}  // namespace coterie
