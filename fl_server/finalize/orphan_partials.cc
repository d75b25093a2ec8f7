#include "fl_server/finalize/orphan_partials.h"

#include <set>

namespace coterie {

Status remove_orphan_partials(const std::vector<JobRecord>& jobs, RoundStore& rounds, AcceptStore& accepts,
                              BlobStore& partials, Millis age_min) {
  std::set<Digest> named;
  for (const JobRecord& job : jobs) {
    // Only the newest attempt is still summed: those before are done or have failed.
    COT_ASSIGN(const JobProgress progress, rounds.load_progress(job.id));
    if (!progress.latest) continue;
    COT_ASSIGN(const std::vector<PartialRecord> records, accepts.list_partials(progress.latest->key));
    for (const PartialRecord& record : records) named.insert(record.blob);
  }
  COT_ASSIGN(const std::vector<Digest> stored, partials.list(age_min));
  for (const Digest& digest : stored) {
    // A blob that no row names was never counted: its devices have no receipt, and send again. age_min keeps those
    // whose row is still on its way.
    if (!named.contains(digest)) COT_TRY(partials.remove(digest));
  }
  return {};
}

}  // namespace coterie
