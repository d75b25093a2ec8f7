// Vertical jobs on the admin plane: those of the coordinator that this server is an operator of. Sizes, times, stages
// and rows of leakage; no party's data comes here.
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/json/rfc3339.h"
#include "fl_server/records/tenant.h"
#include "fl_server/vertical_jobs/vertical_jobs.h"
#include "vertical/coordinator/leakage_row.h"

namespace coterie::admin_handlers {
namespace {

using nlohmann::json;
using vertical::JobSurvey;
using vertical::JobView;
using vertical::kJobStages;
using vertical::LeakageRow;
using vertical::party_role;
using vertical::PartyIndex;
using vertical::StageRecord;
using vertical::SurveyedJob;
using vertical::VerticalJobId;

Result<VerticalJobId> vertical_id_from(const std::string& text) {
  VerticalJobId id;
  const Result<Bytes> bytes = from_hex(text);
  if (!bytes || bytes->size() != id.size() || to_hex(*bytes) != text) {
    return Error(ErrorCode::not_found, "no such vertical job: an id has " + std::to_string(2 * id.size()) +
                                           " hexadecimal digits in lower case");
  }
  std::ranges::copy(*bytes, id.begin());
  return id;
}

json to_json(const StageRecord& stage, const std::string& role) {
  json shown = {{"stage", vertical::job_stage_name(stage.last.stage)},
                {"role", role},
                {"begun", rfc3339(stage.begun)},
                {"heard", rfc3339(stage.heard)},
                {"over", stage.last.is_over},
                {"sent_bytes", stage.last.sent_bytes}};
  if (stage.last.units_all > 0) {
    shown["units"] = stage.last.units;
    shown["units_all"] = stage.last.units_all;
  }
  if (const std::optional<Millis> left = vertical::time_left(stage)) {
    shown["seconds_left"] = std::chrono::duration<double>(*left).count();
  }
  return shown;
}

json to_json(const LeakageRow& row) {
  json shown = {{"id", row.id},
                {"stage", row.stage},
                {"label_party_learns", row.label_party},
                {"feature_party_learns", row.feature_party}};
  if (!row.coordinator.empty()) shown["coordinator"] = row.coordinator;
  return shown;
}

json to_json(const SurveyedJob& job) {
  json parties = json::array(), stages = json::array(), leakage = json::array();
  for (PartyIndex i = 0; i < job.view.parties.size(); ++i) {
    const JobView::Party& party = job.view.parties[i];
    parties.push_back({{"role", party_role(i)},
                       {"name", party.name},
                       {"approved", party.is_approved},
                       {"paused", party.is_paused},
                       {"done", party.is_done},
                       {"relayed_bytes", party.relayed_bytes}});
  }
  for (size_t stage = 0; stage < kJobStages.size(); ++stage) {
    for (PartyIndex i = 0; i < job.stages.size(); ++i) {
      if (job.stages[i][stage]) stages.push_back(to_json(*job.stages[i][stage], party_role(i)));
    }
  }
  for (const std::string& id : job.leakage) leakage.push_back(to_json(*vertical::leakage_row(id)));
  json shown = {{"id", to_hex(job.view.job)},
                {"kind", "vertical"},
                {"manifest", job.view.manifest.hex()},
                {"state", vertical::job_state_name(job.view.state)},
                {"changed", rfc3339(job.changed)},
                {"submitted_by", party_role(job.submitted_by)},
                {"paused_by_operator", job.is_paused_by_operator},
                {"parties", std::move(parties)},
                {"stages", std::move(stages)},
                {"leakage", std::move(leakage)}};
  if (!job.kind.empty()) shown["manifest_kind"] = job.kind;
  if (!job.view.reason.empty()) shown["reason"] = job.view.reason;
  return shown;
}

HttpResponse vertical_answer(const Result<SurveyedJob>& job) {
  return job ? json_response(to_json(*job)) : problem_response(job.error());
}

HttpResponse steer_vertical_job(AdminContext& context, const AdminCall& call, VerticalStep step) {
  const Result<VerticalJobId> id = vertical_id_from(call.path.at("vertical_job"));
  if (!id) return problem_response(id.error());
  const Result<SurveyedJob> job = context.vertical->steer(*id, step);
  // Whoever reads events is to hear of it soon; what the event says is what the coordinator says.
  if (job && context.vertical_job_changed) context.vertical_job_changed();
  return vertical_answer(job);
}

}  // namespace

HttpResponse list_vertical_jobs(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  std::optional<VerticalJobId> after;
  if (const std::string* const text = reader.find("after")) {
    const Result<VerticalJobId> id = vertical_id_from(*text);
    if (id) after = *id;
    else reader.wrong("after", "must be a vertical job's id: 32 hexadecimal digits");
  }
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const bool is_seen = context.vertical != nullptr && tenant_sees(call.caller.tenant, context.vertical->tenant());
  json shown = {{"coordinator", is_seen}, {"vertical_jobs", json::array()}};
  if (!is_seen) return json_response(shown);
  const Result<JobSurvey> survey = context.vertical->list(after, limit);
  if (!survey) return problem_response(survey.error());
  for (const SurveyedJob& job : survey->jobs) shown["vertical_jobs"].push_back(to_json(job));
  if (survey->has_more && !survey->jobs.empty()) shown["next_after"] = to_hex(survey->jobs.back().view.job);
  return json_response(shown);
}

HttpResponse get_vertical_job(AdminContext& context, const AdminCall& call) {
  const Result<VerticalJobId> id = vertical_id_from(call.path.at("vertical_job"));
  return id ? vertical_answer(context.vertical->get(*id)) : problem_response(id.error());
}

HttpResponse pause_vertical_job(AdminContext& context, const AdminCall& call) {
  return steer_vertical_job(context, call, VerticalStep::pause);
}
HttpResponse resume_vertical_job(AdminContext& context, const AdminCall& call) {
  return steer_vertical_job(context, call, VerticalStep::resume);
}
HttpResponse cancel_vertical_job(AdminContext& context, const AdminCall& call) {
  return steer_vertical_job(context, call, VerticalStep::cancel);
}

}  // namespace coterie::admin_handlers
