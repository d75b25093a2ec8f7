// The audit log on the admin plane: it is only read here; AdminService writes it around every handler.
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/blob_store.h"

namespace coterie {
namespace {

// Records, wherever they are, and the seal that they follow where older ones were asked for that are nowhere any more.
struct AuditPage {
  std::vector<AuditRecord> records;
  std::optional<AuditHead> begins_after;
};

bool fits(const AuditRecord& record, const AuditQuery& query) {
  const AuditEntry& entry = record.entry;
  return entry.seq > query.after && (query.who.empty() || entry.who == query.who) &&
         (query.action.empty() || entry.action == query.action) && (!query.since || entry.time >= *query.since) &&
         (!query.until || entry.time < *query.until);
}

// A file that should be there and is not is damage, and no end of the log.
Result<std::vector<AuditRecord>> read_segment(BlobStore& blobs, const AuditSegment& segment) {
  const Result<Bytes> file = blobs.get(*segment.blob, kAuditSegmentBytesMax);
  if (file) return decode_audit_segment(*file, segment);
  if (file.error().code() != ErrorCode::not_found) return file.error();
  return Error(ErrorCode::data_loss, "the file of the audit log's records " + std::to_string(segment.before.seq + 1) +
                                         " to " + std::to_string(segment.head.seq) + " is missing: blob " +
                                         segment.blob->hex());
}

Result<AuditPage> read_page(AdminContext& context, const std::vector<AuditSegment>& segments, AuditQuery query) {
  AuditPage page;
  for (const AuditSegment& segment : segments) {
    if (segment.head.seq <= query.after) continue;
    if (!segment.blob) {
      page.begins_after = segment.head;
    } else {
      COT_ASSIGN(const std::vector<AuditRecord> records, read_segment(context.blobs, segment));
      for (const AuditRecord& record : records) {
        if (page.records.size() == query.limit) return page;
        if (fits(record, query)) page.records.push_back(record);
      }
    }
    query.after = segment.head.seq;
  }
  query.limit -= page.records.size();
  if (query.limit == 0) return page;
  COT_ASSIGN(const std::vector<AuditRecord> rows, context.admin.list_audit(query));
  page.records.insert(page.records.end(), rows.begin(), rows.end());
  return page;
}

// Once more where records went from rows to a file in between.
Result<AuditPage> read_page(AdminContext& context, const AuditQuery& query) {
  COT_ASSIGN(std::vector<AuditSegment> segments, context.admin.list_audit_segments());
  for (;;) {
    Result<AuditPage> page = read_page(context, segments, query);
    COT_ASSIGN(std::vector<AuditSegment> then, context.admin.list_audit_segments());
    if (then == segments) return page;
    segments = std::move(then);
  }
}

}  // namespace
}  // namespace coterie

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
  const Result<AuditPage> page = read_page(context, query);
  if (!page) return problem_response(page.error());
  nlohmann::json list = nlohmann::json::array();
  for (const AuditRecord& record : page->records) list.push_back(to_json(record));
  nlohmann::json json = {{"records", list}, {"head", {{"seq", head->seq}, {"digest", head->digest.hex()}}}};
  if (page->begins_after) {
    json["begins_after"] = {{"seq", page->begins_after->seq}, {"digest", page->begins_after->digest.hex()}};
  }
  if (page->records.size() == query.limit) json["next_after"] = page->records.back().entry.seq;
  return json_response(json);
}

}  // namespace coterie::admin_handlers
