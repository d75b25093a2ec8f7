// Devices and enrollment tokens on the admin plane.
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/admin_json.h"
#include "fl_server/admin_api/admin_query.h"
#include "fl_server/admin_api/admin_service.h"
#include "fl_server/config/json_reader.h"
#include "fl_server/net/problem.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

constexpr size_t kPopulationCharsMax = 64;

CreationCursor cursor_of(const TokenRecord& token) { return {token.created, token.digest.hex().substr(0, 16)}; }

}  // namespace

HttpResponse AdminService::list_devices(const Call& call) {
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
  const Result<std::vector<DeviceRecord>> devices = parts_.devices.list_devices(query);
  const Result<uint64_t> count = parts_.devices.count_devices(query);
  if (!devices || !count) return problem_response(devices ? count.error() : devices.error());
  nlohmann::json list = nlohmann::json::array();
  for (const DeviceRecord& device : *devices) list.push_back(to_json(device));
  nlohmann::json json = {{"devices", list}, {"total", *count}};
  if (devices->size() == query.limit) json["next_after"] = devices->back().id.hex();
  return json_response(json);
}

HttpResponse AdminService::revoke_device(const Call& call) {
  const Result<DeviceId> id = DeviceId::from_hex(call.path.at("device"));
  if (!id) return problem_response(id.error());
  if (const Status revoked = parts_.devices.revoke_device(*id, os::wall_now()); !revoked) {
    return problem_response(revoked.error());
  }
  parts_.directory.forget(*id);
  log(LogLevel::info, "device_revoked", {{"device", id->short_hash()}});
  const Result<DeviceRecord> device = parts_.devices.get_device(*id);
  return device ? json_response(to_json(*device)) : problem_response(device.error());
}

HttpResponse AdminService::list_tokens(const Call& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const std::optional<CreationCursor> after = reader.cursor("after");
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  Result<std::vector<TokenRecord>> tokens = parts_.devices.list_tokens();
  if (!tokens) return problem_response(tokens.error());
  const Result<TenantView> own = view_of(call, Owned::population);
  if (!own) return problem_response(own.error());
  std::erase_if(*tokens, [&](const TokenRecord& token) { return !own->sees(token.population.value()); });
  nlohmann::json list = nlohmann::json::array();
  std::optional<CreationCursor> next;
  for (const TokenRecord* token : page_of(*tokens, after, limit, cursor_of, next)) list.push_back(to_json(*token));
  nlohmann::json json = {{"tokens", list}};
  if (next) json["next_after"] = next->text();
  return json_response(json);
}

HttpResponse AdminService::create_token(const Call& call) {
  Problems problems;
  const auto json = parse_json(call.body.empty() ? "{}" : as_text(call.body), problems);
  if (!json) return problem_response(Error(ErrorCode::malformed, "the body is not JSON"), problems);
  TokenRecord token;
  std::string population = "default", wanted;
  uint32_t valid_seconds = 86'400;
  JsonReader reader(*json, "", problems);
  reader.read("population", population);
  reader.read("label", token.label);
  reader.read("uses", token.uses_left);
  reader.read("valid_seconds", valid_seconds);
  reader.read("tenant", wanted);
  reader.finish();
  const Result<std::string> tenant = tenant_for(call, wanted, problems, "/tenant");
  if (population.empty() || population.size() > kPopulationCharsMax)
    problems.push_back({"/population", "must have 1 to 64 characters"});
  if (token.label.size() > 128) problems.push_back({"/label", "must have at most 128 characters"});
  if (token.uses_left < 1 || token.uses_left > 1'000'000) problems.push_back({"/uses", "must be in [1, 1000000]"});
  if (valid_seconds < 1 || valid_seconds > 31'536'000)
    problems.push_back({"/valid_seconds", "must be in [1, 31536000]"});
  if (!problems.empty())
    return problem_response(Error(ErrorCode::invalid_argument, "the token cannot be made so"), problems);
  const std::string secret = generate_token();
  token.digest = token_digest(secret);
  token.population = Population(population);
  if (const Status claimed = claim_population(token.population, *tenant); !claimed) {
    return problem_response(Error(ErrorCode::invalid_argument, "the token cannot be made so"),
                            {{"/population", claimed.error().message()}});
  }
  token.created = os::wall_now();
  token.expires = token.created + std::chrono::seconds(valid_seconds);
  if (const Status created = parts_.devices.create_token(token); !created) return problem_response(created.error());
  nlohmann::json answer = to_json(token);
  answer["token"] = secret;  // shown once; only its digest is kept
  HttpResponse response = json_response(answer, 201);
  response.headers.emplace_back("Location", "/admin/v1/enrollment-tokens/" + answer["id"].get<std::string>());
  return response;
}

HttpResponse AdminService::remove_token(const Call& call) {
  const Result<std::vector<TokenRecord>> tokens = parts_.devices.list_tokens();
  if (!tokens) return problem_response(tokens.error());
  const Result<TenantView> own = view_of(call, Owned::population);
  if (!own) return problem_response(own.error());
  for (const TokenRecord& token : *tokens) {
    if (!own->sees(token.population.value())) continue;
    if (token.digest.hex().substr(0, 16) != call.path.at("token")) continue;
    if (const Status removed = parts_.devices.remove_token(token.digest); !removed)
      return problem_response(removed.error());
    HttpResponse response;
    response.status = 204;
    return response;
  }
  return problem_response(Error(ErrorCode::not_found, "no such token"));
}

}  // namespace coterie
