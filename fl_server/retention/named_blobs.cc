#include "fl_server/retention/named_blobs.h"

#include <variant>

namespace coterie {
namespace {

void name_files(const JobSettings& settings, std::set<Digest>& named) {
  std::visit(
      [&named](const HorizontalSettings& horizontal) {
        named.insert(horizontal.model);
        if (horizontal.evaluation) named.insert(*horizontal.evaluation);
      },
      settings.kind);
}

}  // namespace

Result<std::set<Digest>> list_named_blobs(JobStore& jobs, RetentionStore& rows, AdminStore& admin) {
  std::set<Digest> named;
  // Jobs before models: the files of a job that is created in between were put just now.
  COT_ASSIGN(const std::vector<JobRecord> all, jobs.list_jobs());
  for (const JobRecord& job : all) {
    named.insert(job.plan);
    name_files(job.spec, named);
  }
  COT_ASSIGN(const std::vector<Digest> of_models, rows.list_model_blobs());
  named.insert(of_models.begin(), of_models.end());
  COT_ASSIGN(const std::vector<AuditSegment> segments, admin.list_audit_segments());
  for (const AuditSegment& segment : segments) {
    if (segment.blob) named.insert(*segment.blob);
  }
  return named;
}

}  // namespace coterie
