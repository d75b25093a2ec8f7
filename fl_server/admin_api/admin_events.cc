// What happens to a job, or to all that the caller sees, as server-sent events: of this server, or of the one that
// leads.
#include <algorithm>

#include "base/os/clock.h"
#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/token_bound_stream.h"
#include "fl_server/events/event_reader.h"
#include "fl_server/events/job_event_stream.h"
#include "fl_server/events/tenant_event_stream.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/job_store.h"

namespace coterie::admin_handlers {
namespace {

constexpr Millis kLifeMax{300'000};

std::shared_ptr<EventSource> own_events(AdminContext& context, EventReader reader) {
  const auto* of = std::get_if<OfJob>(&reader.of);
  if (of == nullptr) return std::make_shared<TenantEventStream>(context.events, std::move(reader));
  const auto look = [&scheduler = context.scheduler, job = of->job, population = of->population] {
    return scheduler.now_of(job, population);
  };
  return std::make_shared<JobEventStream>(context.events, std::move(reader), look);
}

// A stream has no query and begins behind Last-Event-ID. `reader` gets what the request says; otherwise a refusal.
std::optional<HttpResponse> read_request(const AdminCall& call, EventReader& reader) {
  Problems problems;
  QueryReader(call.query, problems).finish();
  if (!problems.empty()) return query_problem(problems);
  const std::string_view last = call.head.header("last-event-id");
  if (last.empty()) return std::nullopt;
  Result<EventId> read = EventId::parse(last);
  if (!read) return problem_response(read.error().with_context("Last-Event-ID"));
  reader.read = std::move(*read);
  return std::nullopt;
}

// Until the caller's token ends. Another node may remove it, of which nothing is told here: so where there are others
// no stream lasts for longer than kLifeMax, and whoever reads it asks again behind the last event.
std::shared_ptr<EventSource> bound_to_token(const AdminContext& context, const AdminCaller& caller,
                                            std::shared_ptr<const std::atomic<bool>> stands,
                                            std::shared_ptr<EventSource> events) {
  const WallTime ends = context.remote_events ? std::min(caller.expires, os::wall_now() + kLifeMax) : caller.expires;
  return std::make_shared<TokenBoundStream>(std::move(events), std::move(stands), ends);
}

HttpResponse open_stream(AdminContext& context, const AdminCaller& caller, EventReader reader) {
  const auto stands = context.authenticator.watch(caller.id);
  // It may have been removed since the request was authenticated.
  const bool is_named = caller.id != kDataDirectoryTokenId && !is_of_provider(caller);
  if (const auto token =
          is_named ? context.admin.get_admin_token(caller.id) : Result<AdminTokenRecord>(AdminTokenRecord());
      !token) {
    const bool is_removed = token.error().code() == ErrorCode::not_found;
    return problem_response(is_removed ? Error(ErrorCode::unauthenticated, "this token was removed") : token.error());
  }
  Result<std::shared_ptr<void>> place = context.streams->take(caller.tenant);
  if (!place) return problem_response(place.error());
  reader.place = std::move(*place);
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-store"}};
  if (context.leading || !context.remote_events) {
    response.events = bound_to_token(context, caller, stands, own_events(context, std::move(reader)));
    return response;
  }
  Result<std::shared_ptr<EventSource>> remote = context.remote_events(std::move(reader));
  if (!remote) return problem_response(remote.error());
  response.events = bound_to_token(context, caller, stands, std::move(*remote));
  return response;
}

}  // namespace

HttpResponse stream_events(AdminContext& context, const AdminCall& call) {
  OfJob of{.job = JobId(call.path.at("job")), .population = {}};
  EventReader reader;
  if (std::optional<HttpResponse> refusal = read_request(call, reader)) return *std::move(refusal);
  const Result<JobRecord> job = context.jobs.get_job(of.job);
  if (!job) return problem_response(job.error());
  of.population = job->spec.common.population;
  of.is_known = job->state != JobState::running && job->state != JobState::paused;
  reader.of = std::move(of);
  return open_stream(context, call.caller, std::move(reader));
}

HttpResponse stream_all_events(AdminContext& context, const AdminCall& call) {
  EventReader reader{.of = OfTenant{call.caller.tenant}};
  if (std::optional<HttpResponse> refusal = read_request(call, reader)) return *std::move(refusal);
  return open_stream(context, call.caller, std::move(reader));
}

}  // namespace coterie::admin_handlers
