// Which check-in of a device was the last, so that none is taken twice, by whichever server.
#include <algorithm>
#include <numeric>

#include "fl_server/store/sql_device_store.h"

namespace coterie {

Result<std::vector<bool>> SqlDeviceStore::take_checkins(const std::vector<CheckinClaim>& claims, WallTime latest) {
  std::vector<size_t> order(claims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Servers of a fleet that write the same rows lock them in the same order; a device's own stay as they came.
  std::ranges::stable_sort(order, {}, [&](size_t i) { return claims[i].device; });
  const std::lock_guard lock(mutex_);
  std::vector<bool> taken(claims.size());
  const Status done = database_.transaction([&]() -> Status {
    const char* const sql = "UPDATE device SET checked_in = ?1 WHERE id = ?2 AND (checked_in < ?1 OR checked_in > ?3)";
    COT_ASSIGN(const std::vector<int> changes,
               database_.execute_many(sql, claims.size(), [&](Statement& row, size_t i) {
                 row << claims[order[i]].signed_at << claims[order[i]].device << latest;
               }));
    for (size_t i = 0; i < changes.size(); ++i) taken[order[i]] = changes[i] > 0;
    return {};
  });
  if (!done) return done.error();
  return taken;
}

}  // namespace coterie
