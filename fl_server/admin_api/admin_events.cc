// What happens to a job, as server-sent events: of this server's scheduler, or of the one that leads.
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/events/event_reader.h"
#include "fl_server/events/job_event_stream.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/job_store.h"

namespace coterie::admin_handlers {
namespace {

// One of the places for streams. Given back with the last holder.
class Place {
 public:
  static std::shared_ptr<Place> take(std::shared_ptr<std::atomic<uint32_t>> taken, uint32_t places) {
    uint32_t present = taken->load();
    do {
      if (present >= places) return nullptr;
    } while (!taken->compare_exchange_weak(present, present + 1));
    return std::shared_ptr<Place>(new Place(std::move(taken)));
  }
  ~Place() { --*taken_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  explicit Place(std::shared_ptr<std::atomic<uint32_t>> taken) : taken_(std::move(taken)) {}
  std::shared_ptr<std::atomic<uint32_t>> taken_;
};

std::shared_ptr<EventSource> own_events(AdminContext& context, EventReader reader) {
  const auto look = [&scheduler = context.scheduler, job = reader.job, population = reader.population] {
    return scheduler.now_of(job, population);
  };
  return std::make_shared<JobEventStream>(context.events,
                                          JobEventStream::Reader{.job = std::move(reader.job),
                                                                 .is_known = reader.is_over,
                                                                 .read = std::move(reader.read),
                                                                 .place = std::move(reader.place)},
                                          look);
}

}  // namespace

HttpResponse stream_events(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader(call.query, problems).finish();
  if (!problems.empty()) return query_problem(problems);
  EventReader reader{.job = JobId(call.path.at("job")), .population = {}};
  if (const std::string_view last = call.head.header("last-event-id"); !last.empty()) {
    Result<EventId> read = EventId::parse(last);
    if (!read) return problem_response(read.error().with_context("Last-Event-ID"));
    reader.read = std::move(*read);
  }
  const Result<JobRecord> job = context.jobs.get_job(reader.job);
  if (!job) return problem_response(job.error());
  reader.population = job->spec.common.population;
  reader.is_over = job->state != JobState::running && job->state != JobState::paused;
  reader.place = Place::take(context.streams, context.settings.event_streams_max);
  if (!reader.place) {
    return problem_response(Error(ErrorCode::rate_limited, "there are " +
                                                               std::to_string(context.settings.event_streams_max) +
                                                               " streams of events, the most there may be; ask for the "
                                                               "rounds now and then instead"));
  }
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-store"}};
  if (context.leading || !context.remote_events) {
    response.events = own_events(context, std::move(reader));
    return response;
  }
  Result<std::shared_ptr<EventSource>> remote = context.remote_events(std::move(reader));
  if (!remote) return problem_response(remote.error());
  response.events = std::move(*remote);
  return response;
}

}  // namespace coterie::admin_handlers
