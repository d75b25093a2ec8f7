#include "fl_server/serving/model_follower.h"

#include <algorithm>

#include "base/log.h"
#include "fl_server/serving/model_server.h"

namespace coterie {

bool ModelFollower::is_followed(const JobId& job) const {
  return settings_.jobs.empty() || std::ranges::find(settings_.jobs, job.value()) != settings_.jobs.end();
}

Status ModelFollower::look() {
  COT_ASSIGN(const std::vector<JobRecord> all, jobs_.list_jobs());
  std::vector<JobId> followed;
  for (auto job = all.rbegin(); job != all.rend() && followed.size() < settings_.models_max; ++job) {
    if (is_followed(job->id)) followed.push_back(job->id);
  }
  for (const std::string& name : server_.models().names()) {
    if (std::ranges::find(followed, JobId(name)) == followed.end()) server_.models().remove(name);
  }
  std::erase_if(refused_, [&](const auto& one) { return std::ranges::find(followed, one.first) == followed.end(); });
  std::erase_if(told_promoted_,
                [&](const auto& one) { return std::ranges::find(followed, one.first) == followed.end(); });
  for (const JobId& job : followed) COT_TRY(follow(job));
  return {};
}

Status ModelFollower::follow(const JobId& job) {
  const Result<std::vector<ModelRecord>> versions = models_.list_models(job);
  if (!versions && versions.error().code() == ErrorCode::not_found) return {};  // deleted meanwhile
  if (!versions) return versions.error();
  COT_ASSIGN(const std::optional<ModelRelease> release, models_.released_model(job));
  if (!versions->empty()) COT_TRY(serve(job, versions->back().version, false));
  if (release) COT_TRY(serve(job, release->version, true));
  const std::optional<uint64_t> promoted = release ? std::optional(release->version.value()) : std::nullopt;
  return tell_promoted(job, promoted);
}

// Once for each change.
Status ModelFollower::tell_promoted(const JobId& job, std::optional<uint64_t> promoted) {
  const Result<ServedModels::Listing> served = server_.models().list(job.value());
  if (!served) return {};
  if (served->promoted != promoted && !server_.models().promote(job.value(), promoted)) return {};
  const auto [told, is_new] = told_promoted_.try_emplace(job);
  if (!is_new && told->second == promoted) return {};
  const bool is_news = told->second != promoted;
  told->second = promoted;
  if (is_news) {
    log(LogLevel::info, "served_model_promoted",
        {{"model", job.value()}, {"version", promoted ? std::to_string(*promoted) : std::string("none")}});
  }
  return {};
}

Status ModelFollower::serve(const JobId& job, ModelVersion version, bool promotes) {
  if (server_.models().find(job.value(), std::to_string(version.value()))) return {};
  if (refused_.contains({job, version})) return {};
  const Result<ModelRecord> record = models_.get_model(job, version);
  if (!record && record.error().code() == ErrorCode::not_found) return {};  // retention was here first
  if (!record) return record.error();
  Result<Bytes> file = blobs_.get(record->digest, settings_.model_bytes_max);
  const Status served =
      file ? server_.publish(job.value(), *std::move(file), version.value(), promotes) : Status(file.error());
  if (served) return {};
  const ErrorCode code = served.error().code();
  if (code == ErrorCode::unavailable || code == ErrorCode::timed_out) return served;
  refused_.emplace(job, version);
  log(LogLevel::warning, "model_not_served",
      {{"model", job.value()}, {"version", version.value()}, {"error", served.error().message()}});
  return {};
}

}  // namespace coterie
