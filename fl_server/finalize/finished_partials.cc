#include "fl_server/finalize/finished_partials.h"

#include "base/log.h"
#include "base/os/crash_point.h"

namespace coterie {
namespace {

constexpr size_t kAtATime = 1000;

}  // namespace

void remove_finished_partials(AcceptStore& accepts, BlobStore& partials) {
  const Result<std::vector<PartialRecord>> finished = accepts.list_finished_partials(kAtATime);
  if (!finished) return;
  std::vector<std::string> ids;
  // The blob goes before its row. After a crash in between the row is still listed, and removing an absent blob is
  // fine; the other way round nobody would know of the blob.
  for (const PartialRecord& partial : *finished) {
    if (partials.remove(partial.blob)) ids.push_back(partial.id);
  }
  if (ids.empty()) return;
  os::crash_point(os::CrashPoint::partials_removed);
  if (const Status forgotten = accepts.forget_partials(ids); !forgotten) {
    log(LogLevel::warning, "partials_not_forgotten", {{"reason", forgotten.error().message()}});
  }
}

}  // namespace coterie
