// Rounds of a job as they go, as server-sent events.
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/job_store.h"

namespace coterie::admin_handlers {
namespace {

// A job that was just made is not among the scheduler's at once.
constexpr int kUnknownLooksMax = 20;

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

class JobEvents final : public EventSource {
 public:
  JobEvents(const RoundScheduler& scheduler, JobId job, Population population, std::shared_ptr<Place> place)
      : scheduler_(scheduler), job_(std::move(job)), population_(std::move(population)), place_(std::move(place)) {}

  std::optional<std::string> next() override {
    if (over_) return std::nullopt;
    const SchedulerStatus status = scheduler_.status();
    for (const SchedulerStatus::Job& job : status.jobs) {
      if (job.job == job_) return news_of(job, status);
    }
    if (!known_ && ++unknown_looks_ < kUnknownLooksMax) return std::string();
    over_ = true;
    return event_text("over", nlohmann::json{{"job", job_.value()}}.dump());
  }

 private:
  std::string news_of(const SchedulerStatus::Job& job, const SchedulerStatus& status) {
    known_ = true;
    const auto waiting = status.waiting.find(population_);
    nlohmann::json json = {{"job", job_.value()}, {"waiting", waiting == status.waiting.end() ? 0 : waiting->second}};
    if (job.round) {
      json["round"] = job.round->number;
      json["attempt"] = job.round->key.attempt.value();
      json["state"] = to_string(job.round->state);
      json["selected"] = job.selected;
      json["accepted"] = job.accepted;
    }
    std::string text = json.dump();
    if (text == told_) return {};
    told_ = std::move(text);
    return event_text("round", told_);
  }

  const RoundScheduler& scheduler_;
  const JobId job_;
  const Population population_;
  const std::shared_ptr<Place> place_;
  std::string told_;
  bool known_ = false, over_ = false;
  int unknown_looks_ = 0;
};

}  // namespace

HttpResponse stream_events(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader(call.query, problems).finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<JobRecord> job = context.jobs.get_job(JobId(call.path.at("job")));
  if (!job) return problem_response(job.error());
  std::shared_ptr<Place> place = Place::take(context.streams, context.settings.event_streams_max);
  if (!place) {
    return problem_response(Error(ErrorCode::rate_limited, "there are " +
                                                               std::to_string(context.settings.event_streams_max) +
                                                               " streams of events, the most there may be; ask for the "
                                                               "rounds now and then instead"));
  }
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-store"}};
  response.events = std::make_shared<JobEvents>(context.scheduler, job->id, job->spec.population, std::move(place));
  return response;
}

}  // namespace coterie::admin_handlers
