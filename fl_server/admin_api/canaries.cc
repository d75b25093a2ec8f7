// Canaries on the admin plane: a version that a share of a population's devices has, what they got right with it and
// with the version before, and how it ends.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/shown_job.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/json/rfc3339.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/canary_store.h"
#include "scheduler/rollout/evaluation_feed.h"
#include "secure/crypto/random.h"

namespace coterie::admin_handlers {
namespace {

using nlohmann::json;

std::string new_canary_id() {
  constexpr std::string_view kAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";
  std::string id = "c";
  for (const uint8_t byte : random_bytes(7)) id += kAlphabet[byte % kAlphabet.size()];
  return id;
}

json version_json(const NamedVersion& version) {
  return {{"job", version.job.value()}, {"version", version.version.value()}};
}

// As probabilities would be: the smallest alpha with which it would have been found by now.
double p_of(double log_evidence) { return std::min(1.0, std::exp(-log_evidence)); }

// Without its salt, which nobody is to know.
json to_json(const CanaryRecord& canary) {
  const CanaryMachine machine(canary.settings, canary.state, canary.heard);
  const RolloutSettings& trial = canary.settings.trial;
  json shown = version_json(canary.canary);
  shown.update({{"id", canary.id},
                {"population", canary.population.value()},
                {"base", version_json(canary.base)},
                {"percent", canary.settings.percent},
                {"alpha", trial.alpha},
                {"margin", trial.margin},
                {"harm_max", trial.harm_max},
                {"devices_max", trial.devices_max},
                {"promote_after", canary.settings.promote_after},
                {"state", to_string(canary.state)},
                {"heard", canary.heard.heard},
                {"mean_harm", canary.heard.mean_harm()},
                {"mean_clipped_harm", canary.heard.mean_clipped_harm()},
                {"verdict", to_string(machine.verdict())},
                {"p_harmful", p_of(canary.heard.log_harm_max)},
                {"p_harmless", p_of(canary.heard.log_harmless_max)},
                {"created", rfc3339(canary.created)}});
  if (!canary.evaluation_job.value().empty()) shown["evaluation_job"] = canary.evaluation_job.value();
  if (!canary.reason.empty()) shown["reason"] = canary.reason;
  if (canary.state != CanaryState::running) shown["ended"] = rfc3339(canary.ended);
  return shown;
}

void tell(AdminContext& context, const CanaryRecord& canary) {
  context.events.add(canary.canary.job,
                     event::CanaryChanged{canary.id, canary.canary.version, canary.state, canary.heard.heard});
}

bool is_source(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= kCanarySourceCharsMax && std::ranges::all_of(name, is_good);
}

CanaryObservation read_observation(const json& json, const std::string& pointer, Problems& problems) {
  CanaryObservation observation;
  JsonReader reader(json, pointer, problems);
  const size_t before = problems.size();
  reader.read("source", observation.source);
  reader.read("both", observation.counts.both);
  reader.read("only_new", observation.counts.only_new);
  reader.read("only_old", observation.counts.only_old);
  reader.read("neither", observation.counts.neither);
  for (const char* const key : {"source", "both", "only_new", "only_old", "neither"}) reader.require(key);
  reader.finish();
  if (problems.size() != before) return observation;
  if (!is_source(observation.source)) {
    problems.push_back({pointer + "/source", "must be a device's id or a batch's name: 1 to " +
                                                 std::to_string(kCanarySourceCharsMax) +
                                                 " letters, digits, '-', '_' and '.'"});
  }
  if (is_source_of_server(observation.source)) {
    problems.push_back({pointer + "/source", "must not begin as the server's own do, which hear an evaluation job"});
  }
  if (!is_countable(observation.counts)) {
    problems.push_back({pointer, "must have 1 to " + std::to_string(kCanaryExamplesMax) +
                                     " examples, both, only_new, only_old and neither together"});
  }
  return observation;
}

std::vector<CanaryObservation> read_observations(const json& body, Problems& problems) {
  std::vector<CanaryObservation> observations;
  const auto list = body.is_object() ? body.find("observations") : body.end();
  if (!body.is_object() || body.size() != 1 || list == body.end() || !list->is_array() || list->empty() ||
      list->size() > kCanaryObservationsMax) {
    problems.push_back({"", R"(must be {"observations": [...]} with 1 to )" + std::to_string(kCanaryObservationsMax) +
                                " observations"});
    return observations;
  }
  for (const json& one : *list) {
    observations.push_back(read_observation(one, "/observations/" + std::to_string(observations.size()), problems));
  }
  return observations;
}

CanarySettings read_settings(const json& body, JobId& evaluation_job, Problems& problems) {
  CanarySettings settings;
  std::string job;
  JsonReader reader(body, "", problems);
  reader.read("percent", settings.percent);
  reader.read("alpha", settings.trial.alpha);
  reader.read("margin", settings.trial.margin);
  reader.read("harm_max", settings.trial.harm_max);
  reader.read("devices_max", settings.trial.devices_max);
  reader.read("promote_after", settings.promote_after);
  reader.read("evaluation_job", job);
  reader.require("percent");
  reader.finish();
  evaluation_job = JobId(std::move(job));
  if (problems.empty()) problems = validate(settings);
  return settings;
}

}  // namespace

HttpResponse open_canary(AdminContext& context, const AdminCall& call) {
  const Result<ModelVersion> version = model_version_from(call.path.at("version"));
  if (!version) return problem_response(version.error());
  const JobId id(call.path.at("job"));
  Problems problems;
  const auto body = parse_json(as_text(call.body), problems);
  if (!body) return problem_response(Error(ErrorCode::malformed, "the body is not JSON"), problems);
  OpenCanary request{.id = new_canary_id(), .canary = {id, *version}, .salt = {}, .settings = {}};
  request.settings = read_settings(*body, request.evaluation_job, problems);
  if (!problems.empty()) {
    return problem_response(Error(ErrorCode::invalid_argument, "the canary cannot begin as it is described"), problems);
  }
  const Bytes salt = random_bytes(request.salt.bytes.size());
  std::ranges::copy(salt, request.salt.bytes.begin());
  const Result<std::optional<uint64_t>> expected = expected_revision(context, call, id);
  if (!expected) return problem_response(expected.error());
  const Result<CanaryRecord> canary = context.canaries.open_canary(request, os::wall_now(), *expected);
  if (!canary) return not_changed(context, id, canary.error(), *expected);
  tell(context, *canary);
  if (!canary->evaluation_job.value().empty()) context.scheduler.canary_opened();
  HttpResponse response = json_response(to_json(*canary), 201);
  response.headers.emplace_back("Location", "/admin/v1/jobs/" + id.value() + "/canaries/" + canary->id);
  return response;
}

HttpResponse list_canaries(AdminContext& context, const AdminCall& call) {
  const JobId id(call.path.at("job"));
  const Result<std::vector<CanaryRecord>> canaries = context.canaries.list_canaries(id);
  if (!canaries) return problem_response(canaries.error());
  json list = json::array();
  for (const CanaryRecord& canary : *canaries) list.push_back(to_json(canary));
  return json_response({{"job", id.value()}, {"canaries", list}});
}

HttpResponse get_canary(AdminContext& context, const AdminCall& call) {
  const Result<CanaryRecord> canary = context.canaries.get_canary(JobId(call.path.at("job")), call.path.at("canary"));
  return canary ? json_response(to_json(*canary)) : problem_response(canary.error());
}

HttpResponse observe_canary(AdminContext& context, const AdminCall& call) {
  Problems problems;
  const auto body = parse_json(as_text(call.body), problems);
  if (!body) return problem_response(Error(ErrorCode::malformed, "the body is not JSON"), problems);
  const std::vector<CanaryObservation> observations = read_observations(*body, problems);
  if (!problems.empty()) {
    return problem_response(Error(ErrorCode::invalid_argument, "the observations cannot be counted"), problems);
  }
  const Result<ObservedCanary> observed =
      context.canaries.observe_canary(JobId(call.path.at("job")), call.path.at("canary"), observations, os::wall_now());
  if (!observed) return problem_response(observed.error());
  const CanaryRecord& canary = observed->canary;
  if (observed->has_ended) {
    tell(context, canary);
    if (canary.state == CanaryState::promoted) {
      context.events.add(canary.canary.job, event::ModelReleased{canary.canary.version, false});
    }
  }
  json shown = to_json(canary);
  shown.update({{"counted", observed->counted}, {"repeated", observed->repeated}, {"late", observed->late}});
  return json_response(shown);
}

HttpResponse end_canary(AdminContext& context, const AdminCall& call) {
  const JobId id(call.path.at("job"));
  const std::string& name = call.path.at("canary");
  const Result<CanaryRecord> before = context.canaries.get_canary(id, name);
  if (!before) return problem_response(before.error());
  const Result<CanaryRecord> canary = context.canaries.end_canary(id, name, "ended by an operator", os::wall_now());
  if (!canary) return problem_response(canary.error());
  if (before->state == CanaryState::running) tell(context, *canary);
  return json_response(to_json(*canary));
}

}  // namespace coterie::admin_handlers
