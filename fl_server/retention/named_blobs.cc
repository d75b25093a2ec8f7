#include "fl_server/retention/named_blobs.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace coterie {
namespace {

// One step reads so many: about a millisecond of the store's time.
constexpr size_t kVersionsAStep = 1'000;

}  // namespace

NameSearch::NameSearch(std::vector<Digest> blobs) : blobs_(std::move(blobs)) {
  std::ranges::sort(blobs_);
  const auto repeated = std::ranges::unique(blobs_);
  blobs_.erase(repeated.begin(), repeated.end());
  named_.resize(blobs_.size());
}

// Jobs before models: the files of a job that is created in between were put just now.
Result<bool> NameSearch::step(JobStore& jobs, RetentionStore& rows, AdminStore& admin) {
  if (!has_seen_jobs_) {
    COT_TRY(see_jobs(jobs));
    COT_TRY(see_segments(admin));
    has_seen_jobs_ = true;
    return true;
  }
  COT_ASSIGN(const ModelBlobs page, rows.list_model_blobs(seen_, kVersionsAStep));
  for (const Digest& blob : page.blobs) see(blob);
  seen_ = page.last;
  return page.last.has_value();
}

bool NameSearch::is_named(const Digest& blob) const {
  const auto found = std::ranges::lower_bound(blobs_, blob);
  return found != blobs_.end() && *found == blob && named_[static_cast<size_t>(found - blobs_.begin())];
}

void NameSearch::see(const Digest& blob) {
  const auto found = std::ranges::lower_bound(blobs_, blob);
  if (found != blobs_.end() && *found == blob) named_[static_cast<size_t>(found - blobs_.begin())] = true;
}

Status NameSearch::see_jobs(JobStore& jobs) {
  COT_ASSIGN(const std::vector<JobRecord> all, jobs.list_jobs());
  for (const JobRecord& job : all) {
    see(job.plan);
    // A kind that is added later has to say here what it names.
    std::visit(
        [this](const HorizontalSettings& horizontal) {
          see(horizontal.model);
          if (horizontal.evaluation) see(*horizontal.evaluation);
          if (!horizontal.analytics || !horizontal.analytics->rules.evaluation) return;
          for (const EvaluatedModel& model : horizontal.analytics->rules.evaluation->models) see(model.digest);
        },
        job.spec.kind);
  }
  return {};
}

Status NameSearch::see_segments(AdminStore& admin) {
  COT_ASSIGN(const std::vector<AuditSegment> segments, admin.list_audit_segments());
  for (const AuditSegment& segment : segments) {
    if (segment.blob) see(*segment.blob);
  }
  return {};
}

Result<bool> is_named(const Digest& blob, JobStore& jobs, RetentionStore& rows, AdminStore& admin) {
  NameSearch search({blob});
  for (;;) {
    COT_ASSIGN(const bool more, search.step(jobs, rows, admin));
    if (!more) return search.is_named(blob);
  }
}

}  // namespace coterie
