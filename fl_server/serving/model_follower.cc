#include "fl_server/serving/model_follower.h"

#include <algorithm>

#include "base/log.h"
#include "fl_server/serving/model_server.h"

namespace coterie {
namespace {

std::string shown(std::optional<uint64_t> version) { return version ? std::to_string(*version) : "none"; }

}  // namespace

bool ModelFollower::is_followed(const JobRecord& job) const {
  if (settings_.jobs.empty() && settings_.populations.empty()) return true;
  return std::ranges::find(settings_.jobs, job.id.value()) != settings_.jobs.end() ||
         std::ranges::find(settings_.populations, job.spec.common.population.value()) != settings_.populations.end();
}

Status ModelFollower::look() {
  COT_ASSIGN(const std::vector<RegisteredModel> models, registered());
  const LoadedModels before = server_.models().loaded();
  remove(models_to_remove(models, before));
  forget_refused(models);
  // At once what needs no loading. What the registry has no more goes when what comes in its place is there.
  ServingNames names = names_to_answer_to(models, server_.models().loaded());
  names.withdrawn.clear();
  answer_to(std::move(names));
  Status loaded;
  for (const VersionToLoad& wanted : versions_to_load(models, before, refused_)) {
    loaded = load(wanted);
    if (!loaded) break;
  }
  answer_to(names_to_answer_to(models, server_.models().loaded()));
  tell_promoted(before);
  return loaded;
}

// Those that were created last come first.
Result<std::vector<RegisteredModel>> ModelFollower::registered() {
  COT_ASSIGN(const std::vector<JobRecord> all, stores_.jobs.list_jobs());
  std::vector<RegisteredModel> registered;
  for (auto job = all.rbegin(); job != all.rend() && registered.size() < settings_.models_max; ++job) {
    if (!is_followed(*job)) continue;
    const Result<std::vector<ModelRecord>> versions = stores_.models.list_models(job->id);
    if (!versions && versions.error().code() == ErrorCode::not_found) continue;  // deleted meanwhile
    if (!versions) return versions.error();
    RegisteredModel model{.job = job->id.value(), .population = job->spec.common.population.value()};
    for (const ModelRecord& version : *versions) model.versions.push_back(version.version.value());
    COT_ASSIGN(const std::optional<ModelRelease> release, stores_.models.released_model(job->id));
    if (release) {
      model.promoted = release->version.value();
      model.promoted_at = release->time;
    }
    registered.push_back(std::move(model));
  }
  return registered;
}

void ModelFollower::remove(const std::vector<std::string>& models) {
  for (const std::string& model : models) {
    server_.models().remove(model);
    server_.metrics().model_removed(model);
    log(LogLevel::info, "model_served_no_more", {{"model", model}});
  }
  if (!models.empty()) refused_.clear();  // what found no room may find it now
}

void ModelFollower::forget_refused(const std::vector<RegisteredModel>& models) {
  std::erase_if(refused_, [&](const auto& refused) {
    const auto model = std::ranges::find(models, refused.first, &RegisteredModel::job);
    return model == models.end() || !std::ranges::binary_search(model->versions, refused.second);
  });
}

Status ModelFollower::load(const VersionToLoad& wanted) {
  const JobId job(wanted.job);
  const Result<ModelRecord> record = stores_.models.get_model(job, ModelVersion(wanted.version));
  if (!record && record.error().code() == ErrorCode::not_found) return {};  // retention was here first
  if (!record) return record.error();
  const Status served = publish(wanted, *record);
  if (served) return {};
  const ErrorCode code = served.error().code();
  if (code == ErrorCode::unavailable || code == ErrorCode::timed_out) return served;
  refused_.emplace(wanted.job, wanted.version);
  log(LogLevel::warning, "model_not_served",
      {{"model", wanted.job}, {"version", wanted.version}, {"error", served.error().message()}});
  return {};
}

Status ModelFollower::publish(const VersionToLoad& wanted, const ModelRecord& record) {
  COT_ASSIGN(const std::string owner, stores_.admin.owner_of(Owned::job, wanted.job));
  COT_ASSIGN(Bytes file, stores_.blobs.get(record.digest, settings_.model_bytes_max));
  return server_.publish(wanted.job, std::move(file), wanted.version, wanted.promotes,
                         owner.empty() ? kDefaultTenant : std::string_view(owner));
}

void ModelFollower::answer_to(ServingNames names) {
  for (const Promotion& promotion : names.promotions) {
    if (const Status promoted = server_.models().promote(promotion.job, promotion.version); !promoted)
      log(LogLevel::warning, "served_model_not_promoted",
          {{"model", promotion.job}, {"error", promoted.error().message()}});
  }
  server_.models().set_aliases(std::move(names.aliases));
  for (const auto& [job, version] : names.withdrawn) {
    server_.models().withdraw(job, version);
    log(LogLevel::info, "model_version_served_no_more", {{"model", job}, {"version", version}});
  }
  server_.tell_loaded();
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
