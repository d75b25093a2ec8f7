#include "fl_server/vertical_jobs/job_changes.h"

#include <algorithm>

namespace coterie {

JobId name_of(const vertical::VerticalJobId& job) { return JobId(to_hex(job)); }

event::VerticalJobChanged told_of(const vertical::SurveyedJob& job) {
  event::VerticalJobChanged told{.state = std::string(vertical::job_state_name(job.view.state)),
                                 .reason = job.view.reason};
  for (const vertical::JobView::Party& party : job.view.parties) told.approvals += party.is_approved ? 1 : 0;
  // The last stage that any party has begun.
  for (size_t i = 0; i < vertical::kJobStages.size(); ++i) {
    const bool has_begun =
        std::ranges::any_of(job.stages, [i](const vertical::StageRecords& stages) { return stages[i].has_value(); });
    if (has_begun) told.stage = vertical::job_stage_name(vertical::kJobStages[i]);
  }
  return told;
}

VerticalJobChanges::Changes VerticalJobChanges::look(const std::vector<vertical::SurveyedJob>& jobs) {
  Changes changes;
  std::map<JobId, event::VerticalJobChanged> now;
  for (const vertical::SurveyedJob& job : jobs) {
    const auto [entry, is_new] = now.emplace(name_of(job.view.job), told_of(job));
    const auto before = before_.find(entry->first);
    if (!has_looked_) {
      changes.known.push_back(entry->first);
    } else if (before == before_.end() || before->second != entry->second) {
      changes.changed.emplace_back(entry->first, entry->second);
    }
  }
  for (const auto& [job, told] : before_) {
    if (!now.contains(job)) changes.gone.push_back(job);
  }
  before_ = std::move(now);
  has_looked_ = true;
  return changes;
}

}  // namespace coterie
