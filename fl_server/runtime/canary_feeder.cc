#include "fl_server/runtime/canary_feeder.h"

#include <algorithm>
#include <span>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/canary_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"
#include "proto/codec/analytics_table.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/rollout/evaluation_feed.h"

namespace coterie {
namespace {

// An order for each round that whoever asks devices cannot know beforehand: of the canary's salt.
uint64_t seed_of(const CanaryRecord& canary, ModelVersion table) {
  uint64_t seed = table.value();
  for (const uint8_t byte : canary.salt.bytes) seed = seed * 1099511628211u ^ byte;
  return seed;
}

}  // namespace

void CanaryFeeder::feed_all() {
  const Result<std::vector<CanaryRecord>> canaries = parts_.canaries.list_fed_canaries();
  if (!canaries) return log(LogLevel::warning, "canaries_not_fed", {{"reason", canaries.error().message()}});
  std::erase_if(heard_, [&](const auto& entry) {
    return std::ranges::none_of(*canaries, [&](const CanaryRecord& canary) { return canary.id == entry.first; });
  });
  for (const CanaryRecord& canary : *canaries) {
    const Status fed = feed(canary);
    if (fed) continue;
    log(LogLevel::warning, "canary_not_fed",
        {{"canary", canary.id}, {"job", canary.evaluation_job.value()}, {"reason", fed.error().message()}});
  }
}

void CanaryFeeder::feed(const JobId& job) {
  const Result<std::vector<CanaryRecord>> canaries = parts_.canaries.list_fed_canaries();
  const bool is_named = !canaries || std::ranges::any_of(*canaries, [&](const CanaryRecord& canary) {
    return canary.evaluation_job == job;
  });
  if (is_named) feed_all();
}

Status CanaryFeeder::feed(const CanaryRecord& canary) {
  COT_ASSIGN(const JobRecord job, parts_.jobs.get_job(canary.evaluation_job));
  COT_ASSIGN(const std::vector<ModelRecord> newest,
             parts_.models.list_models(job.id, {.limit = 1, .newest_first = true}));
  if (newest.empty()) return {};
  uint64_t& heard = heard_[canary.id];
  while (heard < newest.front().version.value()) {
    COT_ASSIGN(const bool goes_on, feed_round(canary, job, ModelVersion(heard + 1)));
    ++heard;
    if (!goes_on) break;
  }
  return {};
}

Result<bool> CanaryFeeder::feed_round(const CanaryRecord& canary, const JobRecord& job, ModelVersion table) {
  const AnalyticsRules rules = rules_of(*job.spec.horizontal().analytics);
  std::vector<float> tables[2];
  for (const uint64_t behind : {0, 1}) {
    const auto model = parts_.models.get_model(job.id, ModelVersion(table.value() - 1 + behind));
    if (!model && model.error().code() == ErrorCode::not_found) {
      log(LogLevel::warning, "canary_round_missed",
          {{"canary", canary.id}, {"job", job.id.value()}, {"model_version", table.value()}});
      return true;
    }
    COT_TRY(model);
    COT_ASSIGN(const Bytes file, parts_.blobs.get(model->digest, kTableBytesMax));
    COT_ASSIGN(tables[behind], read_table(rules, file));
  }
  COT_ASSIGN(const std::vector<CanaryCounts> counts,
             observations_of(rules, tables[0], tables[1], seed_of(canary, table)));
  for (size_t place = 0; place < counts.size(); place += kCanaryObservationsMax) {
    std::vector<CanaryObservation> some;
    const size_t end = std::min(counts.size(), place + kCanaryObservationsMax);
    for (size_t i = place; i < end; ++i) some.push_back({fed_source(job.id, table, i), counts[i]});
    COT_ASSIGN(const ObservedCanary observed,
               parts_.canaries.observe_canary(canary.canary.job, canary.id, some, os::wall_now()));
    if (observed.has_ended) tell_end(observed.canary);
    if (observed.canary.state != CanaryState::running) return false;
  }
  return true;
}

void CanaryFeeder::tell_end(const CanaryRecord& canary) {
  parts_.events.add(canary.canary.job,
                    event::CanaryChanged{canary.id, canary.canary.version, canary.state, canary.heard.heard});
  if (canary.state != CanaryState::promoted) return;
  parts_.events.add(canary.canary.job, event::ModelReleased{canary.canary.version, false});
}

}  // namespace coterie
