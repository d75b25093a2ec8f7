// Enrollment tokens on the admin plane: which devices may join which population, until when.
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/store/device_store.h"
#include "secure/identity/bearer_token.h"

namespace coterie::admin_handlers {
namespace {

constexpr size_t kPopulationCharsMax = 64;

CreationCursor cursor_of(const TokenRecord& token) { return {token.created, token.digest.hex().substr(0, 16)}; }

}  // namespace

HttpResponse list_tokens(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const std::optional<CreationCursor> after = reader.cursor("after");
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  Result<std::vector<TokenRecord>> tokens = context.devices.list_tokens();
  if (!tokens) return problem_response(tokens.error());
  const Result<TenantView> own = view_of(context, call, Owned::population);
  if (!own) return problem_response(own.error());
  std::erase_if(*tokens, [&](const TokenRecord& token) { return !own->sees(token.population.value()); });
  nlohmann::json list = nlohmann::json::array();
  std::optional<CreationCursor> next;
  for (const TokenRecord* token : page_of(*tokens, after, limit, cursor_of, next)) list.push_back(to_json(*token));
  nlohmann::json json = {{"tokens", list}};
  if (next) json["next_after"] = next->text();
  return json_response(json);
}

HttpResponse create_token(AdminContext& context, const AdminCall& call) {
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
  if (const Status claimed = claim_population(context, token.population, *tenant); !claimed) {
    return problem_response(Error(ErrorCode::invalid_argument, "the token cannot be made so"),
                            {{"/population", claimed.error().message()}});
  }
  token.created = os::wall_now();
  token.expires = token.created + std::chrono::seconds(valid_seconds);
  const QuotaClaim owner{*tenant, context.settings.quotas.enrollment_tokens_max};
  if (const Status created = context.devices.create_token(token, owner); !created)
    return problem_response(created.error());
  nlohmann::json answer = to_json(token);
  answer["token"] = secret;  // shown once; only its digest is kept
  HttpResponse response = json_response(answer, 201);
  response.headers.emplace_back("Location", "/admin/v1/enrollment-tokens/" + answer["id"].get<std::string>());
  return response;
}

HttpResponse remove_token(AdminContext& context, const AdminCall& call) {
  const Result<std::vector<TokenRecord>> tokens = context.devices.list_tokens();
  if (!tokens) return problem_response(tokens.error());
  const Result<TenantView> own = view_of(context, call, Owned::population);
  if (!own) return problem_response(own.error());
  for (const TokenRecord& token : *tokens) {
    if (!own->sees(token.population.value())) continue;
    if (token.digest.hex().substr(0, 16) != call.path.at("token")) continue;
    if (const Status removed = context.devices.remove_token(token.digest); !removed)
      return problem_response(removed.error());
    HttpResponse response;
    response.status = 204;
    return response;
  }
  return problem_response(Error(ErrorCode::not_found, "no such token"));
}

}  // namespace coterie::admin_handlers
