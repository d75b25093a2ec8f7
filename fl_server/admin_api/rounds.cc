// Rounds of a job on the admin plane: attempts, newest first, with the live counts of those under way.
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/round_models.h"
#include "fl_server/admin_api/shown_job.h"
#include "fl_server/json/readable_float.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/round_store.h"
#include "proto/messages/training_rules.h"
#include "scheduler/job/round_terms.h"

namespace coterie::admin_handlers {
namespace {

constexpr std::array kRoundStates = {RoundState::selecting,  RoundState::collecting, RoundState::frozen,
                                     RoundState::finalizing, RoundState::done,       RoundState::failed};

// "7.2", an attempt of a round.
std::optional<std::pair<uint64_t, Attempt>> parse_attempt(std::string_view text) {
  const size_t dot = std::min(text.find('.'), text.size());
  uint64_t number = 0;
  uint32_t attempt = 0;
  const auto whole = [](std::string_view digits, auto& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
  };
  if (dot == text.size() || !whole(text.substr(0, dot), number) || !whole(text.substr(dot + 1), attempt))
    return std::nullopt;
  if (number > INT64_MAX) return std::nullopt;
  return std::pair(number, Attempt(attempt));
}

}  // namespace

HttpResponse list_rounds(AdminContext& context, const AdminCall& call) {
  const JobId id(call.path.at("job"));
  Problems problems;
  RoundQuery query;
  QueryReader reader(call.query, problems);
  if (const std::string* const text = reader.find("before")) {
    query.before = parse_attempt(*text);
    if (!query.before)
      reader.wrong("before", "must be a round's number and attempt, as 7.2: a next_before of an earlier page");
  }
  query.state = reader.choice<RoundState>("state", kRoundStates);
  query.limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<JobRecord> job = context.jobs.get_job(id);
  if (!job) return problem_response(job.error());
  const Result<std::vector<RoundRecord>> rounds = context.rounds.list_rounds(id, query);
  if (!rounds) return problem_response(rounds.error());
  const uint32_t goal_count =
      std::visit([](const HorizontalSettings& horizontal) { return horizontal.rounds.goal_count; }, job->spec.kind);
  const auto models = models_of(context.models, id, *rounds);
  if (!models) return problem_response(models.error());
  const SchedulerStatus status = context.scheduler.status();
  nlohmann::json list = nlohmann::json::array();
  for (const RoundRecord& round : *rounds) {
    uint32_t selected = 0;
    uint64_t accepted = 0;
    for (const SchedulerStatus::Job& live : status.jobs) {
      if (!live.round || live.round->key != round.key) continue;
      selected = live.selected;
      accepted = live.accepted;
    }
    list.push_back(to_json(round, goal_count, selected, accepted, model_of(*models, round)));
    const auto* const horizontal = std::get_if<HorizontalSettings>(&job->spec.kind);
    if (horizontal && horizontal->privacy.adaptive_clip) {
      list.back()["clip_norm"] = terms_of(*horizontal, facts_of(round)).clip_norm;
    }
    if (horizontal && horizontal->adaptive_mu) {
      list.back()["proximal_mu"] = readable(terms_of(*horizontal, facts_of(round)).proximal_mu);
    }
    // No number is right or wrong.
    if (horizontal && !is_classified(horizontal->training)) list.back().erase("train_accuracy");
    if (horizontal && horizontal->update.weight_share_max < 1) {
      list.back()["weight_max"] = terms_of(*horizontal, facts_of(round)).weight_max;
    }
  }
  nlohmann::json json = {{"job", id.value()}, {"state", to_string(job->state)}, {"rounds", list}};
  const Result<std::optional<nlohmann::json>> privacy = show_privacy(context, *job);
  if (!privacy) return problem_response(privacy.error());
  if (*privacy)
    json["privacy"] = {{"epsilon", (**privacy)["epsilon"]}, {"epsilon_budget", (**privacy)["epsilon_budget"]}};
  if (rounds->size() == query.limit) {
    const RoundRecord& last = rounds->back();
    json["next_before"] = std::to_string(last.number) + "." + std::to_string(last.key.attempt.value());
  }
  return json_response(json);
}

HttpResponse get_round_trace(AdminContext& context, const AdminCall& call) {
  const JobId id(call.path.at("job"));
  Problems problems;
  QueryReader reader(call.query, problems);
  std::optional<uint64_t> number;
  if (const std::string* const text = reader.find("round")) {
    const auto round = parse_attempt(*text + ".0");
    if (round && round->first > 0) number = round->first;
    else reader.wrong("round", "must be a round's number, 1 or more");
  }
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<JobRecord> job = context.jobs.get_job(id);
  if (!job) return problem_response(job.error());
  Result<std::string> file = context.round_trace ? context.round_trace(id, number)
                                                 : Error(ErrorCode::not_found, "this server keeps no traces");
  if (!file) return problem_response(file.error());
  HttpResponse response;
  response.content_type = "application/json";
  response.headers = {{"Content-Disposition", "attachment; filename=\"trace.json\""}, {"Cache-Control", "no-store"}};
  const ByteView bytes = as_bytes(*file);
  response.body.assign(bytes.begin(), bytes.end());
  return response;
}

}  // namespace coterie::admin_handlers
