#include "fl_server/serving/serving_plan.h"

#include <algorithm>
#include <tuple>

namespace coterie {
namespace {

bool is_loaded(const LoadedModels& loaded, const std::string& job, uint64_t version) {
  const auto found = loaded.find(job);
  return found != loaded.end() && found->second.versions.contains(version);
}

bool has(const RegisteredModel& model, uint64_t version) { return std::ranges::binary_search(model.versions, version); }

bool has_promoted(const RegisteredModel& model) { return model.promoted && has(model, *model.promoted); }

// By population, whose name its job answers to that was promoted last.
class Speakers {
 public:
  void hear(const RegisteredModel& model) {
    const RegisteredModel*& speaker = by_population_.try_emplace(model.population, &model).first->second;
    if (model.promoted_at > speaker->promoted_at) speaker = &model;
  }
  bool is_one(const RegisteredModel& model) const {
    const auto found = by_population_.find(model.population);
    return found != by_population_.end() && found->second == &model;
  }
  ModelAliases aliases() const {
    ModelAliases aliases;
    for (const auto& [population, model] : by_population_) aliases.emplace(population, model->job);
    return aliases;
  }

 private:
  std::map<std::string, const RegisteredModel*, std::less<>> by_population_;
};

}  // namespace

std::vector<RegisteredModel> jobs_to_serve(std::vector<RegisteredModel> by_creation, size_t models_max) {
  std::ranges::reverse(by_creation);
  Speakers speakers;
  for (const RegisteredModel& model : by_creation) {
    if (model.promoted) speakers.hear(model);
  }
  std::vector<std::pair<std::tuple<bool, bool, WallTime>, size_t>> order;  // what comes first is the largest
  for (size_t i = 0; i < by_creation.size(); ++i) {
    const RegisteredModel& model = by_creation[i];
    const WallTime promoted_at = model.promoted ? model.promoted_at : WallTime();
    order.push_back({{model.promoted.has_value(), speakers.is_one(model), promoted_at}, i});
  }
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), models_max));
  std::vector<RegisteredModel> served;
  for (const auto& [rank, i] : order) served.push_back(std::move(by_creation[i]));
  return served;
}

std::vector<std::string> models_to_remove(std::span<const RegisteredModel> registered, const LoadedModels& loaded) {
  std::vector<std::string> gone;
  for (const auto& [job, model] : loaded) {
    const bool is_followed = std::ranges::find(registered, job, &RegisteredModel::job) != registered.end();
    if (!is_followed) gone.push_back(job);
  }
  return gone;
}

std::vector<VersionToLoad> versions_to_load(std::span<const RegisteredModel> registered, const LoadedModels& loaded,
                                            const RestingVersions& resting) {
  std::vector<VersionToLoad> promoted, newest;
  const auto want = [&](std::vector<VersionToLoad>& list, const std::string& job, uint64_t version, bool promotes) {
    if (!is_loaded(loaded, job, version) && !resting.contains({job, version})) list.push_back({job, version, promotes});
  };
  for (const RegisteredModel& model : registered) {
    if (has_promoted(model)) want(promoted, model.job, *model.promoted, true);
    if (model.versions.empty() || model.versions.back() == model.promoted) continue;
    want(newest, model.job, model.versions.back(), false);
  }
  promoted.insert(promoted.end(), newest.begin(), newest.end());
  return promoted;
}

ServingNames names_to_answer_to(std::span<const RegisteredModel> registered, const LoadedModels& loaded,
                                const RestingVersions& resting) {
  ServingNames names;
  Speakers speakers;
  for (const RegisteredModel& model : registered) {
    const auto found = loaded.find(model.job);
    if (found == loaded.end()) continue;
    const LoadedModel& now = found->second;
    const auto comes = [&](uint64_t version) {
      return has(model, version) && !now.versions.contains(version) && !resting.contains({model.job, version});
    };
    const bool answers = model.promoted && now.versions.contains(*model.promoted);
    const bool promoted_comes = model.promoted && comes(*model.promoted);
    // Where the promoted one cannot be loaded, the one before it goes on: so not until it is there.
    if (answers && now.promoted != model.promoted) names.promotions.push_back({model.job, model.promoted});
    if (!model.promoted && (now.promoted || now.is_released)) names.promotions.push_back({model.job, std::nullopt});
    // While it is on its way, what applications had goes on; after that they get nothing that nobody has released.
    if (model.promoted && !answers && !promoted_comes && !now.promoted && !now.is_released)
      names.withheld.push_back(model.job);
    const bool newest_comes = !model.versions.empty() && comes(model.versions.back());
    for (const uint64_t version : now.versions) {
      if (has(model, version)) continue;
      const bool has_successor = (version == now.promoted && promoted_comes) ||
                                 (version == *now.versions.rbegin() && (promoted_comes || newest_comes));
      if (!has_successor) names.withdrawn.push_back({model.job, version});
    }
    if (model.promoted && (answers || now.promoted)) speakers.hear(model);
  }
  names.aliases = speakers.aliases();
  return names;
}

}  // namespace coterie
