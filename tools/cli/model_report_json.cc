#include "tools/cli/model_report_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/cli/table.h"

namespace coterie {
namespace {

nlohmann::json or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json share_json(const SeenShare& share) {
  if (share.of == 0) return nullptr;
  const ShareInterval interval = wilson_interval(share);
  return {{"value", *share.value()}, {"low", interval.low}, {"high", interval.high}, {"of", share.of}};
}

nlohmann::json mean_json(const MeanInterval& mean) {
  nlohmann::json json = {{"value", or_null(mean.mean)}};
  if (!mean.half_width) return json;
  json["low"] = or_null(mean.mean - *mean.half_width);
  json["high"] = or_null(mean.mean + *mean.half_width);
  return json;
}

nlohmann::json evaluation_json(const ModelAudit& audit, const Evaluation& evaluation) {
  nlohmann::json json = {{"loss", or_null(evaluation.loss_mean)}};
  if (audit.classes) json["accuracy"] = evaluation.accuracy;
  return json;
}

nlohmann::json adversarial_json(const ModelAudit& audit) {
  nlohmann::json steps = nlohmann::json::array();
  for (const AdversarialStep& step : audit.adversarial->steps) {
    steps.push_back({{"share", step.share},
                     {"by_gradient", evaluation_json(audit, step.by_gradient)},
                     {"at_random", evaluation_json(audit, step.at_random)}});
  }
  return {{"examples", audit.adversarial->unmoved.examples},
          {"unmoved", evaluation_json(audit, audit.adversarial->unmoved)},
          {"steps", std::move(steps)}};
}

nlohmann::json drills_json(std::span<const DrillOutcome> drills) {
  nlohmann::json json = nlohmann::json::array();
  for (const DrillOutcome& drill : drills) {
    json.push_back({{"run", printable(drill.run)},
                    {"attack", printable(drill.attack)},
                    {"aggregation", printable(drill.aggregation)},
                    {"security", printable(drill.security)},
                    {"metric", drill.is_of_numbers ? "r2" : "accuracy"},
                    {"score", drill.score},
                    {"without_attack", or_null(drill.without_attack)},
                    {"chance", or_null(drill.chance)}});
  }
  return json;
}

nlohmann::json membership_json(const ModelAudit& audit) {
  const MembershipDrill& drill = *audit.membership;
  const ShareInterval advantage = drill.advantage_interval();
  nlohmann::json found = nlohmann::json::array();
  for (const FoundMembers& each : drill.found) {
    found.push_back({{"false_positives", each.false_positives},
                     {"true_positives", each.found ? share_json(*each.found) : nlohmann::json()}});
  }
  nlohmann::json json = {
      {"data", printable(drill.data_name)},
      {"members", drill.members},
      {"others", drill.others},
      {"member_loss", or_null(drill.member_loss)},
      {"other_loss", or_null(drill.other_loss)},
      {"area", {{"value", drill.area.area}, {"low", drill.area.low}, {"high", drill.area.high}}},
      {"advantage", {{"value", drill.advantage()}, {"low", advantage.low}, {"high", advantage.high}}},
      {"found", std::move(found)},
      {"promise", nullptr}};
  if (const std::optional<PrivacyPromise> promise = promise_of(audit)) {
    nlohmann::json found_max = nlohmann::json::array();
    for (const FoundMembers& each : drill.found) {
      found_max.push_back(promise->true_positives_max(each.false_positives));
    }
    json["promise"] = {{"epsilon", promise->epsilon},
                       {"delta", promise->delta},
                       {"advantage_max", promise->advantage_max()},
                       {"true_positives_max", std::move(found_max)},
                       {"is_broken", breaks(drill, *promise)}};
  }
  return json;
}

nlohmann::json intervals_json(const ModelAudit& audit) {
  nlohmann::json json = nlohmann::json::object();
  for (const MeasureInterval& each : audit.intervals) json[each.name] = {{"low", each.low}, {"high", each.high}};
  return json;
}

nlohmann::json fairness_json(const ModelAudit& audit) {
  const GroupFairness& fairness = *audit.fairness;
  nlohmann::json groups = nlohmann::json::array(), gaps = nlohmann::json::object();
  for (const GroupScore& group : fairness.groups) {
    groups.push_back({{"group", printable(group.name)},
                      {"is_rest", group.is_rest},
                      {"examples", group.examples},
                      {"accuracy", share_json(group.correct)},
                      {"selection", share_json(group.selection)},
                      {"true_positives", share_json(group.true_positives)},
                      {"false_positives", share_json(group.false_positives)},
                      {"error", mean_json(group.error)}});
  }
  for (const GapRow& kind : gap_rows()) {
    const std::optional<Gap>& gap = fairness.gap(kind.kind);
    gaps[std::string(kind.name)] =
        gap ? nlohmann::json{{"value", gap->value}, {"chance", gap->chance}, {"p", gap->p}} : nlohmann::json();
  }
  nlohmann::json json = {{"column", printable(fairness.column)},
                         {"groups", std::move(groups)},
                         {"gaps", std::move(gaps)},
                         {"selection_ratio", or_null(fairness.selection_ratio)},
                         {"folded_groups", fairness.folded}};
  json["positive"] = fairness.positive ? nlohmann::json(printable(audit.class_name(*fairness.positive))) : nullptr;
  json["worst"] = fairness.worst ? nlohmann::json(printable(fairness.groups[*fairness.worst].name)) : nullptr;
  return json;
}

nlohmann::json ledger_json(const LedgerProof& proof) {
  nlohmann::json populations = nlohmann::json::array();
  for (const PopulationProof& population : proof.populations) {
    populations.push_back({{"population", printable(population.population)},
                           {"records", population.records},
                           {"releases", population.releases},
                           {"root", population.root},
                           {"epsilon", or_null(population.epsilon)}});
  }
  nlohmann::json json = {{"records", proof.records},
                         {"head", proof.head},
                         {"delta", proof.delta},
                         {"populations", std::move(populations)},
                         {"assumptions", proof.assumptions}};
  json["has_runs_head"] = proof.has_runs_head ? nlohmann::json(*proof.has_runs_head) : nullptr;
  return json;
}

nlohmann::json devices_json(const DeviceFairness& made) {
  nlohmann::json groups = nlohmann::json::array();
  for (const ScoredOnDevices& group : made.groups) {
    groups.push_back({{"group", printable(group.name)}, {"devices", group.devices}, {"examples", group.examples}});
    groups.back()["accuracy"] = group.accuracy ? or_null(group.accuracy->value) : nullptr;
  }
  return {{"column", printable(made.column)},
          {"is_of_model", made.is_of_model},
          {"groups", std::move(groups)},
          {"accuracy_gap", or_null(made.accuracy_gap)}};
}

}  // namespace

nlohmann::json audit_json(const ModelAudit& audit, const std::string& page) {
  nlohmann::json answer = {{"page", page},
                           {"model_digest", audit.model.digest},
                           {"data_digest", audit.data_digest},
                           {"examples", audit.evaluation.examples},
                           {"loss", audit.evaluation.loss_mean}};
  for (const Measure& measure : audit.measures) answer[measure.name] = measure.value;
  answer["intervals"] = intervals_json(audit);
  if (audit.is_of_run) answer["is_of_run"] = *audit.is_of_run;
  if (audit.classes) {
    answer["accuracy"] = audit.evaluation.accuracy;
    answer["unanswered"] = audit.classes->unanswered();
    const ClassCalibration made = audit.classes->calibration();
    answer["expected_calibration_error"] = made.expected_error;
    answer["largest_calibration_error"] = made.largest_error;
    answer["confidence_excess"] = made.confidence_excess;
    answer["brier"] = made.brier;
    nlohmann::json classes = nlohmann::json::array();
    for (size_t i = 0; i < audit.classes->classes().size(); ++i) {
      const ClassScore& score = audit.classes->classes()[i];
      classes.push_back({{"class", printable(audit.class_name(i))},
                         {"examples", score.examples},
                         {"recall", score.recall()},
                         {"precision", score.precision()}});
    }
    answer["classes"] = std::move(classes);
  }
  nlohmann::json disturbances = nlohmann::json::array();
  for (const Disturbance& one : audit.disturbances) {
    disturbances.push_back(evaluation_json(audit, one.evaluation));
    disturbances.back()["what"] = one.what;
  }
  answer["robustness"] = std::move(disturbances);
  nlohmann::json columns = nlohmann::json::array();
  for (const ColumnShift& shift : audit.column_shifts) {
    columns.push_back(evaluation_json(audit, shift.evaluation));
    columns.back()["column"] = printable(shift.column);
    columns.back()["off_by"] = kColumnShift * shift.deviation;
  }
  if (!columns.empty()) answer["columns_off"] = std::move(columns);
  if (audit.adversarial) answer["adversarial"] = adversarial_json(audit);
  if (audit.ledger) answer["ledger"] = ledger_json(*audit.ledger);
  if (audit.on_devices) answer["on_devices"] = devices_json(*audit.on_devices);
  answer["objections"] = objections(audit);
  if (!audit.drills.empty()) answer["drills"] = drills_json(audit.drills);
  if (audit.fairness) answer["fairness"] = fairness_json(audit);
  if (audit.checks) answer["explanations_hold"] = audit.checks->hold();
  if (audit.membership) answer["membership"] = membership_json(audit);
  else answer["not_drilled"] = printable(audit.not_drilled);
  if (audit.explanations.empty()) answer["not_explained"] = printable(audit.not_explained);
  return answer;
}

}  // namespace coterie
