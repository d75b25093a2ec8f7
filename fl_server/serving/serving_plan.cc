#include "fl_server/serving/serving_plan.h"

#include <algorithm>

namespace coterie {
namespace {

bool is_loaded(const LoadedModels& loaded, const std::string& job, uint64_t version) {
  const auto found = loaded.find(job);
  return found != loaded.end() && found->second.versions.contains(version);
}

bool has(const RegisteredModel& model, uint64_t version) { return std::ranges::binary_search(model.versions, version); }

}  // namespace

std::vector<std::string> models_to_remove(std::span<const RegisteredModel> registered, const LoadedModels& loaded) {
  std::vector<std::string> gone;
  for (const auto& [job, model] : loaded) {
    const bool is_followed = std::ranges::find(registered, job, &RegisteredModel::job) != registered.end();
    if (!is_followed) gone.push_back(job);
  }
  return gone;
}

std::vector<VersionToLoad> versions_to_load(std::span<const RegisteredModel> registered, const LoadedModels& loaded,
                                            const RefusedVersions& refused) {
  std::vector<VersionToLoad> promoted, newest;
  const auto want = [&](std::vector<VersionToLoad>& list, const std::string& job, uint64_t version, bool promotes) {
    if (!is_loaded(loaded, job, version) && !refused.contains({job, version})) list.push_back({job, version, promotes});
  };
  for (const RegisteredModel& model : registered) {
    if (model.promoted && has(model, *model.promoted)) want(promoted, model.job, *model.promoted, true);
    if (model.versions.empty() || model.versions.back() == model.promoted) continue;
    want(newest, model.job, model.versions.back(), false);
  }
  promoted.insert(promoted.end(), newest.begin(), newest.end());
  return promoted;
}

ServingNames names_to_answer_to(std::span<const RegisteredModel> registered, const LoadedModels& loaded) {
  ServingNames names;
  std::map<std::string, const RegisteredModel*, std::less<>> speaks;  // for a population
  for (const RegisteredModel& model : registered) {
    const auto found = loaded.find(model.job);
    if (found == loaded.end()) continue;
    const LoadedModel& now = found->second;
    const bool answers = model.promoted && now.versions.contains(*model.promoted);
    // Where the promoted one cannot be loaded, the one before it goes on: so not until it is there.
    if (now.promoted != model.promoted && (answers || !model.promoted))
      names.promotions.push_back({model.job, model.promoted});
    for (const uint64_t version : now.versions) {
      if (!has(model, version)) names.withdrawn.push_back({model.job, version});
    }
    if (!model.promoted || (!answers && !now.promoted)) continue;
    const RegisteredModel*& spoken = speaks.try_emplace(model.population, &model).first->second;
    if (model.promoted_at > spoken->promoted_at) spoken = &model;
  }
  for (const auto& [population, model] : speaks) names.aliases.emplace(population, model->job);
  return names;
}

}  // namespace coterie
