#include "fl_server/serving/model_follower.h"

#include <algorithm>

#include "base/log.h"
#include "fl_server/serving/model_server.h"

namespace coterie {
namespace {

std::string shown(std::optional<uint64_t> version) { return version ? std::to_string(*version) : "none"; }

// Whether any version is there no more.
bool has_gone(const LoadedModels& before, const LoadedModels& now) {
  return std::ranges::any_of(before, [&](const auto& entry) {
    const auto& [job, model] = entry;
    const auto found = now.find(job);
    return found == now.end() || !std::ranges::includes(found->second.versions, model.versions);
  });
}

// Whether one that was promoted is: no other has to make way for as much.
bool has_promoted_gone(const LoadedModels& before, const LoadedModels& now) {
  return std::ranges::any_of(before, [&](const auto& entry) {
    const auto& [job, model] = entry;
    const auto found = now.find(job);
    return model.promoted && (found == now.end() || !found->second.versions.contains(*model.promoted));
  });
}

}  // namespace

bool ModelFollower::is_followed(const JobRecord& job) const {
  // A table of counts is no model to ask, and whoever may ask models may not see it.
  if (job.spec.horizontal().analytics) return false;
  if (settings_.jobs.empty() && settings_.populations.empty()) return true;
  return std::ranges::find(settings_.jobs, job.id.value()) != settings_.jobs.end() ||
         std::ranges::find(settings_.populations, job.spec.common.population.value()) != settings_.populations.end();
}

Status ModelFollower::look(Instant now) {
  COT_ASSIGN(registered_, registered());
  failed_.keep(registered_);
  COT_TRY(go_on(now));
  has_looked_ = true;
  return {};
}

Status ModelFollower::go_on(Instant now) {
  const LoadedModels before = server_.models().loaded();
  take_loaded(now);
  remove(models_to_remove(registered_, server_.models().loaded()));
  answer_to(names_to_answer_to(registered_, server_.models().loaded(), failed_.resting(now)));
  tell_promoted(before);
  const LoadedModels left = server_.models().loaded();
  if (has_gone(before, left)) failed_.room_came(has_promoted_gone(before, left), now);
  return begin_next(now);
}

Result<std::vector<RegisteredModel>> ModelFollower::registered() {
  COT_ASSIGN(const std::vector<JobRecord> jobs, stores_.jobs.list_jobs());
  COT_ASSIGN(const auto released, stores_.models.released_models());
  std::vector<RegisteredModel> all;
  for (const JobRecord& job : jobs) {
    if (!is_followed(job)) continue;
    RegisteredModel model{.job = job.id.value(), .population = job.spec.common.population.value()};
    if (const auto release = released.find(job.id); release != released.end()) {
      model.promoted = release->second.version.value();
      model.promoted_at = release->second.time;
    }
    all.push_back(std::move(model));
  }
  std::vector<RegisteredModel> served = jobs_to_serve(all, settings_.models_max);
  tell_left_out(all, served);
  std::vector<RegisteredModel> registered;
  for (RegisteredModel& model : served) {
    const Result<std::vector<ModelRecord>> versions = stores_.models.list_models(JobId(model.job));
    if (!versions && versions.error().code() == ErrorCode::not_found) continue;  // deleted meanwhile
    if (!versions) return versions.error();
    for (const ModelRecord& version : *versions) model.versions.push_back(version.version.value());
    registered.push_back(std::move(model));
  }
  return registered;
}

// Each once, as long as there is no place for it.
void ModelFollower::tell_left_out(const std::vector<RegisteredModel>& all, const std::vector<RegisteredModel>& served) {
  std::set<std::string> left_out;
  for (const RegisteredModel& model : all) {
    if (model.promoted && std::ranges::find(served, model.job, &RegisteredModel::job) == served.end())
      left_out.insert(model.job);
  }
  for (const std::string& job : left_out) {
    if (left_out_.contains(job)) continue;
    log(LogLevel::warning, "released_model_left_out", {{"model", job}, {"models_max", settings_.models_max}});
  }
  left_out_ = std::move(left_out);
}

void ModelFollower::take_loaded(Instant now) {
  if (!loading_) return;
  auto version = loader_.take();
  if (!version) return;
  const Loading loading = *std::exchange(loading_, std::nullopt);
  const auto& [job, number, promotes] = loading.wanted;
  const auto model = std::ranges::find(registered_, job, &RegisteredModel::job);
  const bool is_registered = model != registered_.end() && std::ranges::binary_search(model->versions, number);
  if (!is_registered) return;  // nobody asks for it any more
  const Status served = publish(loading, *model, *std::move(version));
  if (served) return failed_.loaded(job, number);
  const std::optional<Millis> again_in = failed_.failed(job, number, served.error().code(), now);
  log(LogLevel::warning, "model_not_served",
      {{"model", job},
       {"version", number},
       {"error", served.error().message()},
       {"again_in_ms", again_in ? std::to_string(again_in->count()) : "never"}});
}

Status ModelFollower::publish(const Loading& loading, const RegisteredModel& model,
                              Result<std::shared_ptr<ServedVersion>> version) {
  if (!version) return version.error();
  const Standing standing = model.promoted == loading.wanted.version ? Standing::promoted
                            : model.promoted                         ? Standing::candidate
                                                                     : Standing::latest;
  return server_.publish(loading.wanted.job, *std::move(version), standing, loading.tenant);
}

void ModelFollower::remove(const std::vector<std::string>& models) {
  for (const std::string& model : models) {
    server_.models().remove(model);
    server_.metrics().model_removed(model);
    log(LogLevel::info, "model_served_no_more", {{"model", model}});
  }
}

void ModelFollower::answer_to(ServingNames names) {
  for (const Promotion& promotion : names.promotions) {
    if (const Status promoted = server_.models().promote(promotion.job, promotion.version); !promoted)
      log(LogLevel::warning, "served_model_not_promoted",
          {{"model", promotion.job}, {"error", promoted.error().message()}});
  }
  for (const std::string& job : names.withheld) {
    server_.models().withhold(job);
    log(LogLevel::warning, "promoted_model_not_served", {{"model", job}});
  }
  server_.models().set_aliases(std::move(names.aliases));
  for (const auto& [job, version] : names.withdrawn) {
    server_.models().withdraw(job, version);
    log(LogLevel::info, "model_version_served_no_more", {{"model", job}, {"version", version}});
  }
  server_.tell_loaded();
}

std::shared_ptr<const ServingSteps> ModelFollower::steps_of(const std::string& job) const {
  const auto model = std::ranges::find(registered_, job, &RegisteredModel::job);
  auto found = settings_.steps.find(job);
  if (found == settings_.steps.end() && model != registered_.end()) found = settings_.steps.find(model->population);
  return found == settings_.steps.end() ? nullptr : found->second;
}

Status ModelFollower::begin_next(Instant now) {
  if (loading_) return {};
  for (VersionToLoad& wanted : versions_to_load(registered_, server_.models().loaded(), failed_.resting(now))) {
    const Result<ModelRecord> record = stores_.models.get_model(JobId(wanted.job), ModelVersion(wanted.version));
    if (!record && record.error().code() == ErrorCode::not_found) continue;  // retention was here first
    if (!record) return record.error();
    COT_ASSIGN(std::string owner, stores_.admin.owner_of(Owned::job, wanted.job));
    if (owner.empty()) owner = kDefaultTenant;
    // Whoever has sent others away for nothing does so no more: they come back, and would go each time.
    if (failed_.lacks_room(wanted.job, wanted.version)) wanted.promotes = false;
    loader_.begin(wanted, record->digest, steps_of(wanted.job));
    loading_ = Loading{std::move(wanted), std::move(owner)};
    return {};
  }
  return {};
}

void ModelFollower::tell_promoted(const LoadedModels& before) {
  for (const auto& [job, model] : server_.models().loaded()) {
    const auto was = before.find(job);
    if (model.promoted == (was == before.end() ? std::nullopt : was->second.promoted)) continue;
    server_.metrics().promotion_changed();
    log(LogLevel::info, "served_model_promoted", {{"model", job}, {"version", shown(model.promoted)}});
  }
}

}  // namespace coterie
