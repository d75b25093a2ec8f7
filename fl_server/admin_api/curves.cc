// A job's curves on the admin plane: its rounds that are done by column, with as many points as a chart has room for.
#include <nlohmann/json.hpp>
#include <variant>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/round_models.h"
#include "fl_server/json/round_curves.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"
#include "fl_server/store/round_store.h"

namespace coterie::admin_handlers {
namespace {

// By pages, so that the store's other callers get their turns between them.
Result<RoundCurves> read_curves(AdminContext& context, const JobRecord& job) {
  RoundCurves curves;
  RoundQuery query{.state = RoundState::done, .limit = kPageMax};
  while (curves.rounds().size() < kCurveRoundsMax) {
    COT_ASSIGN(const std::vector<RoundRecord> rounds, context.rounds.list_rounds(job.id, query));
    COT_ASSIGN(const auto models, models_of(context.models, job.id, rounds));
    for (const RoundRecord& round : rounds) add_to(curves, round, job, model_of(models, round));
    if (rounds.size() < query.limit) break;
    query.before = {rounds.back().number, rounds.back().key.attempt};
  }
  curves.reverse();
  return curves;
}

}  // namespace

HttpResponse get_curves(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const uint64_t points = reader.number("points", kCurvePointsDefault, kCurvePointsMin, kCurvePointsMax);
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<JobRecord> job = context.jobs.get_job(JobId(call.path.at("job")));
  if (!job) return problem_response(job.error());
  const Result<RoundCurves> curves = read_curves(context, *job);
  if (!curves) return problem_response(curves.error());
  nlohmann::json json = to_json(*curves, points);
  json["job"] = job->id.value();
  return json_response(json);
}

}  // namespace coterie::admin_handlers
