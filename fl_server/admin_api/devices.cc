// Devices on the admin plane: listed, and shut out.
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/store/device_directory.h"
#include "fl_server/store/device_store.h"

namespace coterie::admin_handlers {
namespace {

constexpr size_t kPopulationCharsMax = 64;

}  // namespace

HttpResponse list_devices(AdminContext& context, const AdminCall& call) {
  Problems problems;
  DeviceQuery query;
  QueryReader reader(call.query, problems);
  if (const std::string* const text = reader.find("after")) {
    const Result<DeviceId> parsed = DeviceId::from_hex(*text);
    if (parsed) query.after = *parsed;
    else reader.wrong("after", "must be a device id");
  }
  query.limit = reader.limit();
  query.population = reader.text("population", kPopulationCharsMax).value_or("");
  query.revoked = reader.flag("revoked");
  if (call.caller.tenant != kEveryTenant) query.tenant = call.caller.tenant;
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<std::vector<DeviceRecord>> devices = context.devices.list_devices(query);
  const Result<uint64_t> count = context.devices.count_devices(query);
  if (!devices || !count) return problem_response(devices ? count.error() : devices.error());
  nlohmann::json list = nlohmann::json::array();
  for (const DeviceRecord& device : *devices) list.push_back(to_json(device));
  nlohmann::json json = {{"devices", list}, {"total", *count}};
  if (devices->size() == query.limit) json["next_after"] = devices->back().id.hex();
  return json_response(json);
}

HttpResponse revoke_device(AdminContext& context, const AdminCall& call) {
  const Result<DeviceId> id = DeviceId::from_hex(call.path.at("device"));
  if (!id) return problem_response(id.error());
  if (const Status revoked = context.devices.revoke_device(*id, os::wall_now()); !revoked) {
    return problem_response(revoked.error());
  }
  context.directory.forget(*id);
  log(LogLevel::info, "device_revoked", {{"device", id->short_hash()}});
  const Result<DeviceRecord> device = context.devices.get_device(*id);
  return device ? json_response(to_json(*device)) : problem_response(device.error());
}

}  // namespace coterie::admin_handlers
