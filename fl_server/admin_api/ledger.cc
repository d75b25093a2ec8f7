// The privacy ledger on the admin plane, record by record, so that whoever has noted a head can check it from outside.
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/json/rfc3339.h"
#include "fl_server/store/ledger_store.h"

namespace coterie::admin_handlers {
namespace {

nlohmann::json shown(const LedgerRecord& record, const Population& population) {
  const LedgerRelease& release = record.release;
  nlohmann::json json = {{"seq", record.seq},
                         {"previous", record.previous.hex()},
                         {"job", record.job.value()},
                         {"population", population.value()},
                         {"round", record.round.round.value()},
                         {"attempt", record.round.attempt.value()},
                         {"kind", to_string(record.kind)},
                         {"mechanism", to_string(release.mechanism)},
                         {"variance", release.variance},
                         {"l1_sensitivity", release.l1_sensitivity},
                         {"l2_sensitivity", release.l2_sensitivity},
                         {"total_variation", release.total_variation},
                         {"delta", record.delta},
                         {"time", rfc3339(record.time)},
                         {"unix_ms", unix_ms(record.time)},
                         {"digest", digest_of(record).hex()}};
  if (record.kind == LedgerKind::commit) {
    json["contributors"] = record.contributors;
    json["noise_commitment"] = record.noise_commitment.hex();
  }
  return json;
}

}  // namespace

HttpResponse list_ledger(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const uint64_t after = reader.number("after", 0, 0, INT64_MAX);
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<LedgerHead> head = context.ledger.ledger_head();
  if (!head) return problem_response(head.error());
  const Result<std::vector<LedgerRecord>> records = context.ledger.list_ledger(after, limit);
  if (!records) return problem_response(records.error());
  nlohmann::json list = nlohmann::json::array();
  const Result<TenantView> own = view_of(context, call, Owned::job);
  if (!own) return problem_response(own.error());
  for (const LedgerRecord& record : *records) {
    if (!own->sees(record.job.value())) continue;
    const Result<Population> population = context.ledger.ledger_population(record.job);
    if (!population) return problem_response(population.error());
    list.push_back(shown(record, *population));
  }
  nlohmann::json json = {{"records", list}, {"head", {{"seq", head->records}, {"digest", head->head.hex()}}}};
  if (records->size() == limit) json["next_after"] = records->back().seq;
  return json_response(json);
}

}  // namespace coterie::admin_handlers
