// The audit log on the admin plane: it is only read here; AdminService writes it around every handler.
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/store/admin_store.h"

namespace coterie::admin_handlers {

HttpResponse list_audit(AdminContext& context, const AdminCall& call) {
  Problems problems;
  AuditQuery query;
  QueryReader reader(call.query, problems);
  query.after = reader.number("after", 0, 0, INT64_MAX);
  query.limit = reader.limit();
  query.who = reader.text("who", kAuditTextCharsMax).value_or("");
  query.action = reader.text("action", kAuditTextCharsMax).value_or("");
  query.since = reader.time("since");
  query.until = reader.time("until");
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<AuditHead> head = context.admin.audit_head();
  if (!head) return problem_response(head.error());
  const Result<std::vector<AuditRecord>> records = context.admin.list_audit(query);
  if (!records) return problem_response(records.error());
  nlohmann::json list = nlohmann::json::array();
  for (const AuditRecord& record : *records) list.push_back(to_json(record));
  nlohmann::json json = {{"records", list}, {"head", {{"seq", head->seq}, {"digest", head->digest.hex()}}}};
  if (records->size() == query.limit) json["next_after"] = records->back().entry.seq;
  return json_response(json);
}

}  // namespace coterie::admin_handlers
