#include "fl_server/admin_api/round_models.h"

#include <algorithm>

#include "fl_server/store/model_store.h"

namespace coterie {

Result<std::map<ModelVersion, ModelRecord>> models_of(ModelStore& models, const JobId& job,
                                                      const std::vector<RoundRecord>& rounds) {
  std::map<ModelVersion, ModelRecord> made;
  const auto is_done = [](const RoundRecord& round) { return round.state == RoundState::done; };
  const auto newest = std::ranges::find_if(rounds, is_done);
  if (newest == rounds.end()) return made;
  const auto oldest = std::ranges::find_if(rounds.rbegin(), rounds.rend(), is_done);
  const ModelQuery query{.after = oldest->base, .limit = newest->base.value() - oldest->base.value() + 1};
  COT_ASSIGN(std::vector<ModelRecord> listed, models.list_models(job, query));
  for (ModelRecord& model : listed) made.emplace(model.version, std::move(model));
  return made;
}

const ModelRecord* model_of(const std::map<ModelVersion, ModelRecord>& models, const RoundRecord& round) {
  if (round.state != RoundState::done) return nullptr;
  const auto found = models.find(ModelVersion(round.base.value() + 1));
  return found == models.end() ? nullptr : &found->second;
}

}  // namespace coterie
