// When devices were seen last, and the removal of those that were not for long.
#include "fl_server/records/device_day.h"
#include "fl_server/store/sql_device_store.h"

namespace coterie {

Result<std::vector<DeviceId>> SqlDeviceStore::mark_seen(const std::vector<DeviceId>& devices) {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceId> unknown;
  const Status done = database_.transaction(os::crash::mark_seen, [&]() -> Status {
    unknown.clear();
    const char* const sql = "UPDATE device SET seen_day = (SELECT number FROM device_day) WHERE id = ?";
    COT_ASSIGN(const std::vector<int> changes,
               database_.execute_many(sql, devices.size(), [&](Statement& row, size_t i) { row << devices[i]; }));
    for (size_t i = 0; i < devices.size(); ++i) {
      if (changes[i] == 0) unknown.push_back(devices[i]);
    }
    return {};
  });
  if (!done) return done.error();
  return unknown;
}

// The number of the day at `now`. Where two servers find the end of the same one, one of them counts on.
Result<uint64_t> SqlDeviceStore::enter_day(WallTime now) {
  DeviceDay day;
  {
    Statement row = database_.prepare("SELECT number, began FROM device_day");
    COT_ASSIGN(const bool found, row.step());
    if (!found) return Error(ErrorCode::data_loss, "database: the table device_day is empty, it has one row");
    day = {row.u64(0), row.time(1)};
  }
  const DeviceDay next = day.at(now);
  if (next == day) return day.number;
  Statement update = database_.prepare("UPDATE device_day SET number = ?, began = ? WHERE number = ? AND began = ?");
  update << next.number << next.began << day.number << day.began;
  COT_TRY(update.run());
  return database_.changes() == 1 ? next.number : day.number;
}

Result<uint64_t> SqlDeviceStore::forget_devices(uint32_t unseen_days, WallTime now, size_t limit) {
  const std::lock_guard lock(mutex_);
  uint64_t gone = 0;
  const Status done = database_.transaction(os::crash::forget_devices, [&]() -> Status {
    COT_ASSIGN(const uint64_t today, enter_day(now));
    Statement never = database_.prepare(
        "UPDATE device SET seen_day = ?1 WHERE seen_day IS NULL AND id IN "
        "(SELECT d.id FROM device d WHERE d.seen_day IS NULL LIMIT ?2)");
    never << today << static_cast<uint64_t>(limit);
    COT_TRY(never.run());
    // The day is asked for twice: a device that another server marks in between has a row that fits no more.
    Statement remove = database_.prepare(
        "DELETE FROM device WHERE seen_day < ?1 AND revoked IS NULL AND id IN "
        "(SELECT d.id FROM device d WHERE d.seen_day < ?1 AND d.revoked IS NULL "
        "AND d.id NOT IN (SELECT a.device FROM accept a) ORDER BY d.seen_day, d.id LIMIT ?2)");
    const uint64_t first_kept = today > unseen_days ? today - unseen_days : 0;
    remove << first_kept << static_cast<uint64_t>(limit);
    COT_TRY(remove.run());
    gone = static_cast<uint64_t>(database_.changes());
    return {};
  });
  if (!done) return done.error();
  return gone;
}

}  // namespace coterie
