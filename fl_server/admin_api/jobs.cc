// Jobs on the admin plane: listed, looked at, paused, resumed and cancelled.
#include <array>
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/shown_job.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/net/entity_tag.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/job_store.h"

namespace coterie::admin_handlers {
namespace {

constexpr size_t kPopulationCharsMax = 64;
constexpr std::array kJobStates = {JobState::running, JobState::paused, JobState::completed, JobState::cancelled,
                                   JobState::failed};

CreationCursor cursor_of(const JobRecord& job) { return {job.created, job.id.value()}; }

HttpResponse change_job(AdminContext& context, const AdminCall& call, JobState to) {
  const JobId id(call.path.at("job"));
  const Result<std::optional<uint64_t>> expected = expected_revision(context, call, id);
  if (!expected) return problem_response(expected.error());
  const Result<JobRecord> job = context.jobs.set_job_state(id, to, "", *expected);
  if (!job) return not_changed(context, id, job.error(), *expected);
  context.events.add(job->id, event::JobStateChanged{to});
  context.scheduler.job_state_changed(job->id, job->state);
  const Result<nlohmann::json> shown = show_job(context, *job);
  return with_entity_tag(call.head, json_response(shown ? *shown : to_json(*job)));
}

}  // namespace

HttpResponse list_jobs(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const auto state = reader.choice<JobState>("state", kJobStates);
  const std::optional<std::string> population = reader.text("population", kPopulationCharsMax);
  const std::optional<CreationCursor> after = reader.cursor("after");
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  Result<std::vector<JobRecord>> jobs = context.jobs.list_jobs();
  if (!jobs) return problem_response(jobs.error());
  const Result<TenantView> own = view_of(context, call, Owned::job);
  if (!own) return problem_response(own.error());
  std::erase_if(*jobs, [&](const JobRecord& job) {
    return !own->sees(job.id.value()) || (state && job.state != *state) ||
           (population && job.spec.common.population.value() != *population);
  });
  nlohmann::json list = nlohmann::json::array();
  std::optional<CreationCursor> next;
  for (const JobRecord* job : page_of(*jobs, after, limit, cursor_of, next)) {
    Result<nlohmann::json> shown = show_job(context, *job);
    if (!shown) return problem_response(shown.error());
    list.push_back(std::move(*shown));
  }
  nlohmann::json json = {{"jobs", list}};
  if (next) json["next_after"] = next->text();
  return json_response(json);
}

HttpResponse get_job(AdminContext& context, const AdminCall& call) {
  const Result<JobRecord> job = context.jobs.get_job(JobId(call.path.at("job")));
  if (!job) return problem_response(job.error());
  const Result<nlohmann::json> shown = show_job(context, *job);
  return shown ? with_entity_tag(call.head, json_response(*shown)) : problem_response(shown.error());
}

HttpResponse pause_job(AdminContext& context, const AdminCall& call) {
  return change_job(context, call, JobState::paused);
}
HttpResponse resume_job(AdminContext& context, const AdminCall& call) {
  return change_job(context, call, JobState::running);
}
HttpResponse cancel_job(AdminContext& context, const AdminCall& call) {
  return change_job(context, call, JobState::cancelled);
}

}  // namespace coterie::admin_handlers
