#include "fl_server/retention/retention_plan.h"

#include <algorithm>

namespace coterie {

ModelVersion first_version_kept(const std::vector<ModelRecord>& newest) {
  return newest.empty() ? ModelVersion(0) : newest.back().version;
}

std::vector<ModelVersion> versions_to_forget(const ModelHistory& history, const RetentionSettings& settings,
                                             WallTime now) {
  std::vector<ModelVersion> going;
  const std::vector<ModelRecord>& models = history.models;
  for (size_t i = 0; i + 1 < models.size() && models[i].version < history.kept_from; ++i) {
    const ModelVersion version = models[i].version;
    const uint64_t every = settings.models_kept_every;
    const bool is_named =
        version == ModelVersion(0) || version == history.base || std::ranges::count(history.released, version) > 0;
    const bool is_kept = every != 0 && version.value() % every == 0;
    // A device that was told of it before the next one was made may be downloading it.
    const bool is_young = now - models[i + 1].created < settings.superseded_min;
    if (!is_named && !is_kept && !is_young) going.push_back(version);
  }
  return going;
}

uint64_t first_round_kept(uint64_t newest, const RetentionSettings& settings) {
  const uint64_t kept = std::max<uint64_t>(settings.rounds_kept, 1);
  return newest >= kept ? newest - kept + 1 : 0;
}

Millis age_to_go(const UnnamedBlob& blob, const UnderWay& under_way, const RetentionSettings& settings, WallTime now) {
  const auto since = [now](WallTime time) { return std::chrono::duration_cast<Millis>(now - time); };
  Millis age = kNamingMax;
  const std::optional<WallTime>& oldest = blob.made ? under_way.frozen : under_way.collecting;
  if (oldest) age = std::max(age, since(*oldest) + kBlobClockSkewMax);
  // Put again since its version was made: somebody uploaded it, and may want it.
  const Millis of_owner = blob.made ? since(*blob.made) - kNamingMax : settings.uploads_kept;
  return std::max(age, of_owner);
}

}  // namespace coterie
