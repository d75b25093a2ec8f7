// Named admin tokens on the admin plane: who may act, as what, until when.
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/store/admin_store.h"
#include "secure/crypto/slow_hash.h"

namespace coterie::admin_handlers {
namespace {

CreationCursor cursor_of(const AdminTokenRecord& token) { return {token.created, token.id}; }

// The roles of these names, with a problem for each that is none.
RoleSet roles_named(const std::vector<std::string>& names, Problems& problems) {
  RoleSet roles;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<Role> role = role_from_name(names[i]);
    const std::string pointer = "/roles/" + std::to_string(i);
    if (!role) problems.push_back({pointer, "must be one of " + kEveryRoleOfTokens.text()});
    else if (*role == Role::node)
      problems.push_back({pointer, "node is for servers among themselves: no token of this plane has it"});
    else roles.insert(*role);
  }
  if (names.empty()) problems.push_back({"/roles", "must name at least one of " + kEveryRoleOfTokens.text()});
  return roles;
}

AdminTokenRecord record_from(const nlohmann::json& json, const AdminCaller& caller, WallTime now, Problems& problems) {
  AdminTokenRecord record;
  std::vector<std::string> roles;
  uint32_t valid_seconds = kAdminTokenSecondsDefault;
  JsonReader reader(json, "", problems);
  reader.read("label", record.label);
  reader.read("roles", roles);
  reader.read("valid_seconds", valid_seconds);
  record.tenant = caller.tenant;
  reader.read("tenant", record.tenant);
  reader.finish();
  if (record.tenant != kEveryTenant && !is_tenant_name(record.tenant)) {
    problems.push_back({"/tenant", "must be * for all, or have 1 to " + std::to_string(kTenantCharsMax) +
                                       " of a-z, 0-9, '-', '_' and '.'"});
  } else if (!tenant_sees(caller.tenant, record.tenant)) {
    problems.push_back({"/tenant", "must be " + caller.tenant + ", whose token asks"});
  }
  if (record.label.empty() || record.label.size() > kAdminTokenLabelCharsMax) {
    problems.push_back({"/label", "must say in 1 to 128 characters whose token this is"});
  }
  if (valid_seconds < 1 || valid_seconds > kAdminTokenSecondsMax) {
    problems.push_back({"/valid_seconds", "must be in [1, " + std::to_string(kAdminTokenSecondsMax) + "]"});
  }
  record.roles = roles_named(roles, problems);
  record.created = now;
  record.expires = now + std::chrono::seconds(valid_seconds);
  return record;
}

}  // namespace

HttpResponse list_admin_tokens(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const std::optional<CreationCursor> after = reader.cursor("after");
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  Result<std::vector<AdminTokenRecord>> tokens = context.admin.list_admin_tokens();
  if (!tokens) return problem_response(tokens.error());
  std::erase_if(*tokens, [&](const AdminTokenRecord& token) { return !tenant_sees(call.caller.tenant, token.tenant); });
  nlohmann::json list = nlohmann::json::array();
  std::optional<CreationCursor> next;
  for (const AdminTokenRecord* token : page_of(*tokens, after, limit, cursor_of, next)) list.push_back(to_json(*token));
  nlohmann::json json = {{"tokens", list}};
  if (next) json["next_after"] = next->text();
  return json_response(json);
}

HttpResponse create_admin_token(AdminContext& context, const AdminCall& call) {
  Problems problems;
  const auto json = parse_json(as_text(call.body), problems);
  if (!json) return problem_response(Error(ErrorCode::malformed, "the body is not JSON"), problems);
  AdminTokenRecord record = record_from(*json, call.caller, os::wall_now(), problems);
  if (!problems.empty())
    return problem_response(Error(ErrorCode::invalid_argument, "the token cannot be made so"), problems);
  const NewAdminToken made = generate_admin_token();
  record.id = made.id;
  record.creator = call.caller.id;
  record.hash = slow_hash(made.text);
  if (record.hash.empty())
    return problem_response(Error(ErrorCode::overloaded, "no memory for the token's hash; try again"));
  const AdminTokenRoom room{.in_all = kAdminTokensMax, .of_tenant = context.settings.quotas.admin_tokens_max};
  if (const Status created = context.admin.create_admin_token(record, room); !created)
    return problem_response(created.error());
  log(LogLevel::info, "admin_token_created",
      {{"token", record.id}, {"roles", record.roles.text()}, {"by", record.creator}});
  nlohmann::json answer = to_json(record);
  answer["token"] = made.text;  // shown once; only its hash is kept
  HttpResponse response = json_response(answer, 201);
  response.headers.emplace_back("Location", "/admin/v1/tokens/" + record.id);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

HttpResponse remove_admin_token(AdminContext& context, const AdminCall& call) {
  const std::string& id = call.path.at("token");
  const Result<AdminTokenRecord> token = context.admin.get_admin_token(id);
  if (!token) return problem_response(token.error());
  if (!tenant_sees(call.caller.tenant, token->tenant))
    return problem_response(Error(ErrorCode::not_found, "no such admin token"));
  if (const Status removed = context.admin.remove_admin_token(id); !removed) return problem_response(removed.error());
  context.authenticator.forget(id);
  log(LogLevel::info, "admin_token_removed", {{"token", id}, {"by", call.caller.id}});
  HttpResponse response;
  response.status = 204;
  return response;
}

}  // namespace coterie::admin_handlers
