// The audit log on the admin plane: it is only read here; AdminService writes it around every handler.
#include <nlohmann/json.hpp>

#include "fl_server/http/admin_json.h"
#include "fl_server/http/admin_query.h"
#include "fl_server/http/admin_service.h"
#include "fl_server/http/problem.h"

namespace coterie {
namespace {

constexpr uint64_t kRecordsDefault = 100;
constexpr uint64_t kRecordsMax = 1000;

}  // namespace

HttpResponse AdminService::list_audit(const Call& call) {
  Problems problems;
  AuditQuery query;
  query.after = query_number(call.query, "after", 0, 0, INT64_MAX, problems);
  query.limit = query_number(call.query, "limit", kRecordsDefault, 1, kRecordsMax, problems);
  if (const auto who = call.query.find("who"); who != call.query.end()) query.who = who->second;
  if (const auto action = call.query.find("action"); action != call.query.end())
    query.action = action->second;
  if (!problems.empty())
    return problem_response(Error(ErrorCode::invalid_argument, "the query is wrong"), problems);
  const Result<AuditHead> head = parts_.admin.audit_head();
  if (!head) return problem_response(head.error());
  const Result<std::vector<AuditRecord>> records = parts_.admin.list_audit(query);
  if (!records) return problem_response(records.error());
  nlohmann::json list = nlohmann::json::array();
  for (const AuditRecord& record : *records) list.push_back(to_json(record));
  nlohmann::json json = {{"records", list}, {"head", {{"seq", head->seq}, {"digest", head->digest.hex()}}}};
  if (records->size() == query.limit) json["next_after"] = records->back().entry.seq;
  return json_response(json);
}

}  // namespace coterie
