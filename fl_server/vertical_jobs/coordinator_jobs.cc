#include "fl_server/vertical_jobs/coordinator_jobs.h"

#include <functional>
#include <utility>

namespace coterie {
namespace {

using vertical::CoordinatorDoor;
using vertical::JobSurvey;
using vertical::JobView;
using vertical::LinkPatience;
using vertical::RequestKind;
using vertical::SurveyedJob;
using vertical::SurveyOf;
using vertical::VerticalJobId;

// A place among those who ask.
class Asking {
 public:
  explicit Asking(std::atomic<uint32_t>& under_way) : under_way_(under_way), is_one_(++under_way_ <= kMax) {}
  ~Asking() { --under_way_; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  Status status() const {
    if (is_one_) return {};
    return Error(ErrorCode::overloaded, "as many questions as may wait for the coordinator of vertical jobs do");
  }

 private:
  static constexpr uint32_t kMax = CoordinatorJobs::kAtOnceMax;
  std::atomic<uint32_t>& under_way_;
  const bool is_one_;
};

// What the coordinator says of a job is the caller's to know. All else is about this server and its coordinator: a
// certificate that is not taken is not the caller's.
Error for_caller(const Error& error) {
  const ErrorCode code = error.code();
  if (code == ErrorCode::not_found || code == ErrorCode::conflict || code == ErrorCode::timed_out ||
      code == ErrorCode::overloaded) {
    return error;
  }
  return Error(ErrorCode::unavailable, "the coordinator of vertical jobs: " + error.message(), error.reason());
}

RequestKind kind_of(VerticalStep step) {
  switch (step) {
    case VerticalStep::pause: return RequestKind::pause;
    case VerticalStep::resume: return RequestKind::resume;
    case VerticalStep::cancel: return RequestKind::cancel;
  }
  return RequestKind::status;
}

Result<SurveyedJob> survey_one(const CoordinatorDoor& door, const VerticalJobId& job, const LinkPatience& patience) {
  Result<JobSurvey> survey = vertical::survey_coordinator(door, SurveyOf::one, job, patience);
  if (!survey) return for_caller(survey.error());
  if (survey->jobs.size() != 1 || survey->jobs[0].view.job != job) {
    return Error(ErrorCode::unavailable, "the coordinator of vertical jobs: it speaks of another job");
  }
  return std::move(survey->jobs[0]);
}

}  // namespace

CoordinatorJobs::CoordinatorJobs(VerticalSettings settings)
    : settings_(std::move(settings)),
      door_{.host = settings_.address,
            .port = settings_.port,
            .tls = {.ca_file = settings_.ca_file,
                    .certificate_file = settings_.certificate_file,
                    .key_file = settings_.key_file,
                    .peer_name = settings_.name}} {}

LinkPatience CoordinatorJobs::patience() const { return {.time = settings_.answer_max, .cancel = &cancelled_}; }

Result<JobSurvey> CoordinatorJobs::list(std::optional<VerticalJobId> after, size_t most) {
  const Asking asking(under_way_);
  COT_TRY(asking.status());
  JobSurvey all{.jobs = {}, .has_more = true};
  while (all.has_more && all.jobs.size() < most) {
    const SurveyOf of = after ? SurveyOf::all_behind : SurveyOf::all_from_first;
    Result<JobSurvey> page = vertical::survey_coordinator(door_, of, after.value_or(VerticalJobId{}), patience());
    if (!page) return for_caller(page.error());
    for (SurveyedJob& job : page->jobs) {
      if (after && job.view.job <= *after) {
        return Error(ErrorCode::unavailable, "the coordinator of vertical jobs: it tells its jobs out of order");
      }
      after = job.view.job;
      all.jobs.push_back(std::move(job));
    }
    all.has_more = page->has_more;
  }
  if (all.jobs.size() > most) {
    all.jobs.resize(most);
    all.has_more = true;
  }
  return all;
}

Result<SurveyedJob> CoordinatorJobs::get(const VerticalJobId& job) {
  const Asking asking(under_way_);
  COT_TRY(asking.status());
  return survey_one(door_, job, patience());
}

Result<SurveyedJob> CoordinatorJobs::steer(const VerticalJobId& job, VerticalStep step) {
  const Asking asking(under_way_);
  COT_TRY(asking.status());
  const Result<JobView> view = vertical::ask_coordinator(door_, {.kind = kind_of(step), .job = job}, patience());
  if (!view) return for_caller(view.error());
  return survey_one(door_, job, patience());
}

}  // namespace coterie
