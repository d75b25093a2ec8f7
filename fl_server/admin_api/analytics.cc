// What a job with analytics has counted, on the admin plane.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/json/analytics_json.h"
#include "fl_server/net/entity_tag.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"
#include "fl_server/store/round_store.h"
#include "proto/codec/analytics_table.h"
#include "scheduler/job/analytics_rules.h"

namespace coterie::admin_handlers {
namespace {

constexpr size_t kRoundsReadMax = 10'000;

struct CountedRounds {
  std::optional<uint64_t> updates = 0;  // none: it is not known of all
  double noise_variance = 0;            // of a lane that every round adds to
  double noise_largest = 0;             // deviation, of a round's own
};

// All rounds up to the version. One whose row retention has taken counts as the largest there may have been, so that
// an interval is not too narrow.
Result<CountedRounds> add_rounds(AdminContext& context, const JobRecord& job, uint64_t version) {
  const HorizontalSettings& settings = job.spec.horizontal();
  RoundQuery query;
  query.state = RoundState::done;
  query.limit = kRoundsReadMax;
  COT_ASSIGN(const std::vector<RoundRecord> rounds, context.rounds.list_rounds(job.id, query));
  CountedRounds counted;
  uint64_t known = 0;
  const auto add_noise = [&](uint64_t updates, uint64_t times) {
    const double noise = lane_noise_of(settings, updates);
    counted.noise_variance += noise * noise * static_cast<double>(times);
    counted.noise_largest = std::max(counted.noise_largest, noise);
  };
  for (const RoundRecord& round : rounds) {
    if (round.base.value() + 1 > version) continue;
    ++known;
    *counted.updates += round.totals.updates;
    add_noise(round.totals.updates, 1);
  }
  if (known < version) {
    counted.updates.reset();
    add_noise(counted_max(settings.rounds), version - known);
  }
  return counted;
}

Result<ModelRecord> table_of(AdminContext& context, const JobId& job, std::optional<ModelVersion> version) {
  if (version) return context.models.get_model(job, *version);
  COT_ASSIGN(const std::vector<ModelRecord> newest,
             context.models.list_models(job, {.limit = 1, .newest_first = true}));
  if (newest.empty()) return Error(ErrorCode::not_found, "job " + job.value() + " has no table");
  return newest[0];
}

// `version`: as many rounds are counted; none: all so far.
Result<nlohmann::json> result_in(AdminContext& context, const JobRecord& job, std::optional<ModelVersion> version) {
  const HorizontalSettings& settings = job.spec.horizontal();
  if (!settings.analytics) {
    return Error(ErrorCode::invalid_argument,
                 "job " + job.id.value() + " trains a model and counts nothing; its versions are under /models");
  }
  COT_ASSIGN(const ModelRecord table, table_of(context, job.id, version));
  COT_ASSIGN(const Bytes file, context.blobs.get(table.digest, kTableBytesMax));
  COT_ASSIGN(CountBlocks counts, read_blocks(rules_of(*settings.analytics), blocks_of(settings), file));
  COT_ASSIGN(const CountedRounds rounds, add_rounds(context, job, table.version.value()));
  if (counts.size() > table.version.value()) counts.resize(std::max<uint64_t>(1, table.version.value()));
  nlohmann::json json = analytics_answer(settings, counts, std::sqrt(rounds.noise_variance), rounds.noise_largest);
  json["job"] = job.id.value();
  json["state"] = to_string(job.state);
  json["rounds"] = table.version.value();
  json["updates"] = rounds.updates ? nlohmann::json(*rounds.updates) : nlohmann::json();
  json["table"] = table.digest.hex();
  return json;
}

}  // namespace

HttpResponse get_analytics_result(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  std::optional<ModelVersion> version;
  if (call.query.contains("version")) version = ModelVersion(reader.number("version", 0, 0, INT64_MAX));
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<JobRecord> job = context.jobs.get_job(JobId(call.path.at("job")));
  if (!job) return problem_response(job.error());
  const Result<nlohmann::json> result = result_in(context, *job, version);
  if (!result) return problem_response(result.error());
  return with_entity_tag(call.head, json_response(*result));
}

}  // namespace coterie::admin_handlers
