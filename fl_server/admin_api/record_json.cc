#include "fl_server/admin_api/record_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "fl_server/json/evaluated_heads_json.h"
#include "fl_server/json/job_json.h"
#include "fl_server/json/readable_float.h"
#include "fl_server/json/rfc3339.h"
#include "fl_server/json/update_cosines_json.h"
#include "fl_server/json/update_norms_json.h"
#include "fl_server/json/watch_json.h"
#include "proto/messages/cosine_buckets.h"
#include "proto/messages/norm_buckets.h"
#include "proto/messages/training_rules.h"
#include "scheduler/job/round_release.h"
#include "scheduler/job/round_terms.h"

namespace coterie {

namespace {

// The learning rates of the round that is next, or was the last.
nlohmann::json rates_of(const HorizontalSettings& settings, uint64_t rounds_done) {
  const uint64_t number = std::min<uint64_t>(rounds_done + 1, settings.rounds.count);
  return {{"round", number},
          {"learning_rate", readable(terms_of(settings, {.number = number}).learning_rate)},
          {"server_learning_rate", readable(strategy_of_round(settings, number).values.front())}};
}

}  // namespace

nlohmann::json to_json(const JobRecord& job) {
  nlohmann::json json = {{"id", job.id.value()},
                         {"state", to_string(job.state)},
                         {"spec", to_json(job.spec)},
                         {"plan", job.plan.hex()},
                         {"value_count", job.value_count},
                         {"rounds_done", job.rounds_done},
                         {"created", rfc3339(job.created)},
                         {"revision", job.revision}};
  if (job.trained_value_count > 0) json["trained_value_count"] = job.trained_value_count;
  if (!job.reason.empty()) json["reason"] = job.reason;
  const auto* const settings = std::get_if<HorizontalSettings>(&job.spec.kind);
  if (settings && !settings->schedules.are_constant()) json["rates"] = rates_of(*settings, job.rounds_done);
  return json;
}

nlohmann::json to_json(const JobPrivacy& privacy, const HorizontalSettings& settings) {
  const PrivacyAccount& account = privacy.spent.account;
  std::vector<std::string> assumptions = account.assumptions;
  for (std::string& words : round_assumptions(settings)) assumptions.push_back(std::move(words));
  nlohmann::json json = {{"epsilon", nullptr},  // unbounded
                         {"delta", account.delta},
                         {"accountant", account.method},
                         {"epsilon_budget", settings.privacy.epsilon_budget},
                         {"releases", privacy.spent.releases},
                         {"releases_open", privacy.spent.open_reserves},
                         {"assumptions", assumptions},
                         {"ledger", {{"records", privacy.ledger_records}, {"head", privacy.ledger_head.hex()}}}};
  if (std::isfinite(account.epsilon)) json["epsilon"] = account.epsilon;
  if (!privacy.stop.empty()) json["stop"] = privacy.stop;
  json["populations"] = nlohmann::json::array();
  for (const PopulationPrivacy& population : privacy.populations) json["populations"].push_back(to_json(population));
  return json;
}

nlohmann::json to_json(const PopulationPrivacy& privacy) {
  const PrivacyAccount& account = privacy.spent.account;
  nlohmann::json json = {{"population", privacy.population.value()},
                         {"epsilon", nullptr},  // unbounded
                         {"delta", account.delta},
                         {"accountant", account.method},
                         {"epsilon_budget", nullptr},  // none
                         {"releases", privacy.spent.releases},
                         {"releases_open", privacy.spent.open_reserves},
                         {"jobs", privacy.jobs}};
  if (std::isfinite(account.epsilon)) json["epsilon"] = account.epsilon;
  if (privacy.budget) json["epsilon_budget"] = privacy.budget->epsilon;
  return json;
}

nlohmann::json to_json(const RoundRecord& round, uint64_t goal_count, uint32_t selected, uint64_t accepted,
                       const ModelRecord* model) {
  const RoundTotals& totals = round.totals;
  const bool done = round.state == RoundState::done;
  nlohmann::json json = {{"number", round.number},
                         {"round", round.key.round.value()},
                         {"attempt", round.key.attempt.value()},
                         {"state", to_string(round.state)},
                         {"base_version", round.base.value()},
                         {"goal_count", goal_count},
                         {"selected", std::max(round.selected, selected)},
                         {"accepted", done ? totals.updates : accepted},
                         {"opened", rfc3339(round.opened)}};
  if (!round.reason.empty()) json["reason"] = round.reason;
  if (round.closed != WallTime()) {
    json["closed"] = rfc3339(round.closed);
    json["seconds"] = std::chrono::duration<double>(round.closed - round.opened).count();
  }
  if (done) {
    json["weight"] = totals.weight;
    json["examples"] = totals.examples;
    json["train_seconds"] = static_cast<double>(totals.train_ms) / 1000;
    if (totals.examples > 0) {
      json["train_loss"] = totals.loss_sum / static_cast<double>(totals.examples);
      json["train_accuracy"] = static_cast<double>(totals.correct) / static_cast<double>(totals.examples);
    }
  }
  if (model != nullptr) json["model"] = to_json(*model);
  return json;
}

void add_to(RoundCurves& curves, const RoundRecord& round, const JobRecord& job, const ModelRecord* model) {
  const RoundTotals& totals = round.totals;
  curves.add_round(round.number);
  curves.set("accepted", static_cast<double>(totals.updates));
  curves.set("seconds", std::chrono::duration<double>(round.closed - round.opened).count());
  curves.set("train_seconds", static_cast<double>(totals.train_ms) / 1000);
  const auto* const settings = std::get_if<HorizontalSettings>(&job.spec.kind);
  const auto examples = static_cast<double>(totals.examples);
  if (totals.examples > 0) curves.set("train_loss", totals.loss_sum / examples);
  const bool has_labels = settings == nullptr || is_classified(settings->training);
  if (totals.examples > 0 && has_labels) curves.set("train_accuracy", static_cast<double>(totals.correct) / examples);
  if (settings != nullptr && settings->privacy.adaptive_clip)
    curves.set("clip_norm", terms_of(*settings, facts_of(round)).clip_norm);
  if (settings != nullptr && settings->adaptive_mu)
    curves.set("proximal_mu", readable(terms_of(*settings, facts_of(round)).proximal_mu));
  if (model == nullptr) return;
  const auto set = [&](const char* name, const std::optional<double>& value) {
    if (value) curves.set(name, *value);
  };
  set("evaluation_loss", model->evaluation_loss);
  set("evaluation_accuracy", model->evaluation_accuracy);
  set("evaluation_mae", model->evaluation_mae);
  set("evaluation_r2", model->evaluation_r2);
  for (const auto& [name, value] : columns_of(model->evaluation_heads)) curves.set(name, value);
  if (model->update_norms) {
    for (const auto& [name, share] : kNormShares) {
      curves.set("update_norm_" + std::string(name), norm_quantile(*model->update_norms, share));
    }
  }
  if (model->update_cosines && model->update_cosines->directed() > 0) {
    for (const auto& [name, share] : kCosineShares) {
      curves.set("update_cosine_" + std::string(name), cosine_quantile(*model->update_cosines, share));
    }
  }
  if (!model->watch) return;
  for (const auto& [check, share] : worst_by_check(*model->watch)) curves.set("watch." + std::string(check), share);
}

nlohmann::json to_json(const ModelRecord& model) {
  nlohmann::json json = {{"version", model.version.value()},
                         {"digest", model.digest.hex()},
                         {"bytes", model.bytes},
                         {"created", rfc3339(model.created)}};
  if (model.evaluation_loss) json["evaluation_loss"] = *model.evaluation_loss;
  if (model.evaluation_accuracy) json["evaluation_accuracy"] = *model.evaluation_accuracy;
  if (model.evaluation_mae) json["evaluation_mae"] = *model.evaluation_mae;
  if (model.evaluation_r2) json["evaluation_r2"] = *model.evaluation_r2;
  if (!model.evaluation_heads.empty()) json["evaluation_heads"] = to_json(model.evaluation_heads);
  if (model.watch) json["watch"] = to_json(*model.watch);
  if (model.update_norms) json["update_norms"] = to_json(*model.update_norms);
  if (model.update_cosines) json["update_cosines"] = to_json(*model.update_cosines);
  return json;
}

nlohmann::json to_json(const DeviceRecord& device) {
  nlohmann::json json = {{"id", device.id.hex()},
                         {"population", device.population.value()},
                         {"key_algorithm", device.algorithm == KeyAlgorithm::p256 ? "p256" : "ed25519"},
                         {"sdk_version", device.sdk_version},
                         {"enrolled", rfc3339(device.enrolled)}};
  if (device.revoked) json["revoked"] = rfc3339(*device.revoked);
  return json;
}

nlohmann::json to_json(const TokenRecord& token) {
  return {{"id", token.digest.hex().substr(0, 16)},
          {"population", token.population.value()},
          {"label", token.label},
          {"uses_left", token.uses_left},
          {"expires", rfc3339(token.expires)},
          {"created", rfc3339(token.created)}};
}

nlohmann::json to_json(const AdminTokenRecord& token) {
  nlohmann::json roles = nlohmann::json::array();
  for (const Role role : kRoles) {
    if (token.roles.contains(role)) roles.push_back(to_string(role));
  }
  return {{"id", token.id},
          {"label", token.label},
          {"roles", roles},
          {"tenant", token.tenant},
          {"created_by", token.creator},
          {"created", rfc3339(token.created)},
          {"expires", rfc3339(token.expires)}};
}

nlohmann::json to_json(const AuditRecord& record) {
  const AuditEntry& entry = record.entry;
  return {{"seq", entry.seq},
          {"time", rfc3339(entry.time)},
          {"unix_ms", unix_ms(entry.time)},
          {"who", entry.who},
          {"roles", entry.roles},
          {"action", entry.action},
          {"target", entry.target},
          {"outcome", entry.outcome},
          {"request", entry.request},
          {"digest", record.digest.hex()}};
}

}  // namespace coterie
