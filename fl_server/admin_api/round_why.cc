// Why a round has the devices that it has: what became of each that asked, by one code, added up over its nodes.
#include <charconv>
#include <nlohmann/json.hpp>
#include <variant>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/records/round_why.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/gate_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/round_store.h"

namespace coterie::admin_handlers {
namespace {

constexpr size_t kAttemptsMax = 100;  // of a round, the newest

// Who is counted for certain: by the row of an attempt that is done, by what the leader hears of one under way.
CountedDevices counted_in(const RoundRecord& round, const SchedulerStatus& status) {
  if (round.state == RoundState::done) return {round.totals.updates, true};
  if (round.state == RoundState::failed) return {};  // what nodes said
  for (const SchedulerStatus::Job& live : status.jobs) {
    if (live.round && live.round->key == round.key) return {live.accepted, false};
  }
  return {};
}

nlohmann::json attempt_json(const RoundRecord& round, const std::vector<GateRow>& rows, const CountedDevices& counted) {
  const bool is_over = round.state != RoundState::selecting && round.state != RoundState::collecting;
  const RoundWhy why = why_of(rows, counted, is_over);
  nlohmann::json codes = nlohmann::json::array();
  for (const WhyLine& line : why.lines) {
    nlohmann::json code = {{"code", line.code}, {"devices", line.devices}};
    if (!line.reason.empty()) code["reason"] = line.reason;
    const std::optional<DeviceGate> gate = device_gate_from(line.code);
    if (gate) code["meaning"] = meaning_of(*gate);
    codes.push_back(std::move(code));
  }
  nlohmann::json json = {{"attempt", round.key.attempt.value()},
                         {"state", to_string(round.state)},
                         {"asked", why.asked},
                         {"codes", std::move(codes)}};
  if (!round.reason.empty()) json["reason"] = round.reason;
  return json;
}

}  // namespace

HttpResponse get_round_why(AdminContext& context, const AdminCall& call) {
  const JobId id(call.path.at("job"));
  const std::string& text = call.path.at("round");
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > INT64_MAX) {
    return problem_response(
        Error(ErrorCode::invalid_argument, "a round is named by its number in the job, from 1: " + text + " is none"));
  }
  const Result<JobRecord> job = context.jobs.get_job(id);
  if (!job) return problem_response(job.error());
  const RoundQuery query{.before = std::pair(number, Attempt(UINT32_MAX)), .limit = kAttemptsMax};
  const Result<std::vector<RoundRecord>> rounds = context.rounds.list_rounds(id, query);
  if (!rounds) return problem_response(rounds.error());
  const SchedulerStatus status = context.scheduler.status();
  nlohmann::json attempts = nlohmann::json::array();
  for (const RoundRecord& round : *rounds) {
    if (round.number != number) break;  // those of the rounds before it come behind
    const Result<std::vector<GateRow>> rows = context.gates.list_gates(round.key);
    if (!rows) return problem_response(rows.error());
    attempts.push_back(attempt_json(round, *rows, counted_in(round, status)));
  }
  if (attempts.empty()) {
    return problem_response(Error(ErrorCode::not_found, "job " + id.value() + " has no round " + text +
                                                            ": it has not begun, or retention has removed it"));
  }
  return json_response({{"job", id.value()}, {"round", number}, {"attempts", std::move(attempts)}});
}

}  // namespace coterie::admin_handlers
