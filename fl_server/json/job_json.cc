#include "fl_server/json/job_json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <variant>

#include "fl_server/json/adaptive_clip_json.h"
#include "fl_server/json/adaptive_mu_json.h"
#include "fl_server/json/aggregation_json.h"
#include "fl_server/json/analytics_json.h"
#include "fl_server/json/compression_json.h"
#include "fl_server/json/device_requirements_json.h"
#include "fl_server/json/download_json.h"
#include "fl_server/json/early_stopping_json.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/json/lora_json.h"
#include "fl_server/json/personal_json.h"
#include "fl_server/json/qat_json.h"
#include "fl_server/json/rate_schedule_json.h"
#include "fl_server/json/readable_float.h"
#include "fl_server/json/selection_json.h"
#include "fl_server/json/watch_json.h"
#include "fl_server/json/widths_json.h"
#include "scheduler/job/weight_share.h"

namespace coterie {
namespace {

// Where the training says no loss it is that of the first.
void read_heads(JsonReader& reader, TrainingSettings& training) {
  for (JsonReader& one : reader.objects("heads")) {
    TrainingHead& head = training.heads.emplace_back();
    head.loss = Loss::softmax_cross_entropy;
    one.require("output");
    one.require("loss");
    one.read("output", head.output);
    one.read_kind("loss", loss_names(), head.loss);
    one.read("weight", head.weight);
    one.finish();
  }
  if (!training.heads.empty() && !reader.has("loss")) training.loss = training.heads[0].loss;
}

void read_training(JsonReader reader, HorizontalSettings& settings) {
  TrainingSettings& training = settings.training;
  reader.read_kind("loss", loss_names(), training.loss);
  size_t target = static_cast<size_t>(training.target);
  reader.read_choice("target", target_names(), target);
  training.target = static_cast<TargetKind>(target);
  reader.read("label_smoothing", training.label_smoothing);
  reader.read("loss_threshold", training.loss_threshold);
  reader.read("class_weights", training.class_weights);
  reader.read("ignore_label", training.ignore_label);
  read_heads(reader, training);
  reader.read("freeze", training.freeze);
  reader.read("train_only", training.train_only);
  reader.read("train_last", training.train_last);
  reader.read("proximal_mu", training.proximal_mu);
  reader.read("normalised_steps", training.normalised_steps);
  reader.read("augment", training.augment);
  read_lora(reader, training);
  size_t storage = static_cast<size_t>(training.storage);
  reader.read_choice("storage", storage_names(), storage);
  training.storage = static_cast<Storage>(storage);
  read_early_stopping(reader, training);
  read_personal(reader, training);
  read_widths(reader, training);
  read_watch(reader, training);
  read_qat(reader, training);
  reader.read("batch_size", training.batch_size);
  reader.read("local_epochs", training.local_epochs);
  reader.read("steps_max", training.steps_max);
  JsonReader optimizer = reader.object("optimizer");
  OptimizerSettings& own = training.optimizer;
  optimizer.read_kind("kind", optimizer_names(), own.kind);
  optimizer.read("learning_rate", own.learning_rate);
  optimizer.read("momentum", own.momentum);
  optimizer.read("weight_decay", own.weight_decay);
  optimizer.read("beta1", own.beta1);
  optimizer.read("beta2", own.beta2);
  optimizer.read("epsilon", own.epsilon);
  optimizer.read("smoothing", own.smoothing);
  optimizer.read("nesterov", own.nesterov);
  optimizer.finish();
  read_schedule(reader, settings.schedules.device);
  read_adaptive_mu(reader, settings.adaptive_mu);
  reader.finish();
}

// A sum of fewer than cohort_min updates is never unmasked, so no round may count on one. A rule compares updates, or
// such sums.
uint32_t default_goal_count_min(const HorizontalSettings& settings) {
  const uint64_t updates = settings.privacy.level == SecurityLevel::none ? 1 : settings.privacy.cohort_min;
  const uint64_t least = updates * settings.aggregation.updates_min();
  return std::max(1u, static_cast<uint32_t>(std::min<uint64_t>(least, settings.rounds.goal_count)));
}

// After the privacy and the aggregation settings: they say what the default of goal_count_min is.
void read_rounds(JsonReader reader, HorizontalSettings& settings) {
  RoundSettings& rounds = settings.rounds;
  reader.read("count", rounds.count);
  reader.read("goal_count", rounds.goal_count);
  rounds.goal_count_min = default_goal_count_min(settings);
  reader.read("goal_count_min", rounds.goal_count_min);
  reader.read("over_selection", rounds.over_selection);
  reader.read("pool_min", rounds.pool_min);
  reader.read("selecting_ms_max", rounds.selecting_max);
  reader.read("collecting_ms_max", rounds.collecting_max);
  reader.read("retry_delay_ms", rounds.retry_delay);
  reader.read("attempts_max", rounds.attempts_max);
  reader.read("nodes_min", rounds.nodes_min);
  reader.read("separation_min", rounds.separation_min);
  // Devices answer for a column once (ADR 126): each round asks others.
  if (settings.analytics && rounds.separation_min == 0 && rounds.count > 1) {
    rounds.separation_min = std::min(rounds.count, kSeparationMax);
  }
  size_t policy = static_cast<size_t>(rounds.policy);
  reader.read_choice("policy", round_policy_names(), policy);
  rounds.policy = static_cast<RoundPolicyKind>(policy);
  reader.read("concurrency", rounds.concurrency);
  reader.read("staleness_max", rounds.staleness_max);
  reader.read("staleness_exponent", rounds.staleness_exponent);
  reader.finish();
}

void read_update(JsonReader reader, UpdateSettings& update) {
  reader.read("clip_l2", update.clip_l2);
  reader.read("value_abs_max", update.value_abs_max);
  read_compression(reader, update);
  reader.read("weight_max", update.weight_max);
  reader.read("weight_share_max", update.weight_share_max);
  reader.finish();
}

void read_strategy(JsonReader reader, StrategySettings& strategy, RateSchedule& schedule) {
  const auto listed = std::ranges::find(strategies(), strategy.rule);
  auto kind = static_cast<size_t>(listed - strategies().begin());
  reader.read_choice("kind", strategy_names(), kind);
  strategy.rule = strategies()[kind];
  strategy.values = StrategySettings::defaults_of(*strategy.rule);
  size_t rule = static_cast<size_t>(strategy.aggregation_rule);
  reader.read_choice("aggregation_rule", aggregation_rule_names(), rule);
  strategy.aggregation_rule = static_cast<AggregationRule>(rule);
  size_t statistics = static_cast<size_t>(strategy.statistics);
  reader.read_choice("statistics", statistics_names(), statistics);
  strategy.statistics = static_cast<Statistics>(statistics);
  for (size_t i = 0; i < strategy.values.size(); ++i) {
    reader.read(strategy.rule->settings[i].name, strategy.values[i]);
  }
  // Without meaning, but still a number: a job that an operator sends is refused for an infinity here as ever.
  float ignored = 0;
  for (const char* key : strategy.rule->ignored) reader.read(key, ignored);
  read_schedule(reader, schedule);
  reader.finish();
}

nlohmann::json to_json(const StrategySettings& strategy) {
  nlohmann::json json = {{"kind", strategy.rule->name}, {"aggregation_rule", to_string(strategy.aggregation_rule)}};
  for (size_t i = 0; i < strategy.values.size(); ++i) {
    json[strategy.rule->settings[i].name] = readable(strategy.values[i]);
  }
  // Left out where it says nothing: a server of the version before, beside this one, does not know it.
  if (strategy.statistics != Statistics::averaged) json["statistics"] = to_string(strategy.statistics);
  return json;
}

void read_privacy(JsonReader reader, PrivacySettings& privacy) {
  size_t level = static_cast<size_t>(privacy.level);
  reader.read_choice("level", {"none", "masked", "active", "active_dp"}, level);
  privacy.level = static_cast<SecurityLevel>(level);
  reader.read("noise_multiplier", privacy.noise_multiplier);
  size_t mechanism = static_cast<size_t>(privacy.mechanism);
  reader.read_choice("mechanism", noise_mechanism_names(), mechanism);
  privacy.mechanism = static_cast<NoiseMechanism>(mechanism);
  reader.read("target_delta", privacy.target_delta);
  reader.read("epsilon_budget", privacy.epsilon_budget);
  reader.read("cohort_min", privacy.cohort_min);
  reader.read("cohort_max", privacy.cohort_max);
  reader.read("corrupt_share", privacy.corrupt_share);
  reader.read("dropout_share", privacy.dropout_share);
  reader.read("phase_ms_max", privacy.phase_max);
  read_adaptive_clip(reader, privacy);
  reader.read("watch_share", privacy.watch_share);
  reader.finish();
}

nlohmann::json to_json(const OptimizerSettings& optimizer) {
  nlohmann::json json = {
      {"kind", to_string(optimizer.kind)},        {"learning_rate", readable(optimizer.learning_rate)},
      {"momentum", readable(optimizer.momentum)}, {"weight_decay", readable(optimizer.weight_decay)},
      {"beta1", readable(optimizer.beta1)},       {"beta2", readable(optimizer.beta2)},
      {"epsilon", readable(optimizer.epsilon)}};
  const OptimizerSettings standard;
  if (optimizer.smoothing != standard.smoothing) json["smoothing"] = readable(optimizer.smoothing);
  if (optimizer.nesterov) json["nesterov"] = true;
  return json;
}

// What says nothing is left out: a server of the version before, beside this one, does not know it.
nlohmann::json to_json(const TrainingSettings& training) {
  nlohmann::json json = {{"loss", to_string(training.loss)},
                         {"batch_size", training.batch_size},
                         {"local_epochs", training.local_epochs},
                         {"steps_max", training.steps_max},
                         {"optimizer", to_json(training.optimizer)}};
  if (training.target != TargetKind::labels) json["target"] = to_string(training.target);
  if (training.label_smoothing != 0) json["label_smoothing"] = readable(training.label_smoothing);
  if (training.loss_threshold != 1) json["loss_threshold"] = readable(training.loss_threshold);
  for (const float weight : training.class_weights) json["class_weights"].push_back(readable(weight));
  if (training.ignore_label) json["ignore_label"] = *training.ignore_label;
  for (const TrainingHead& head : training.heads) {
    json["heads"].push_back(
        {{"output", head.output}, {"loss", to_string(head.loss)}, {"weight", readable(head.weight)}});
  }
  if (!training.freeze.empty()) json["freeze"] = training.freeze;
  if (!training.train_only.empty()) json["train_only"] = training.train_only;
  if (training.train_last != 0) json["train_last"] = training.train_last;
  if (training.proximal_mu != 0) json["proximal_mu"] = readable(training.proximal_mu);
  if (training.normalised_steps != 0) json["normalised_steps"] = readable(training.normalised_steps);
  if (!training.augment.empty()) json["augment"] = training.augment;
  add_lora(json, training);
  if (training.storage != Storage::float32) json["storage"] = to_string(training.storage);
  add_early_stopping(json, training);
  add_personal(json, training);
  add_widths(json, training);
  add_watch(json, training);
  add_qat(json, training);
  return json;
}

// What a horizontal job has beside what every job has. Without a key `kind`: there were jobs before there were kinds,
// and a server of the version before, beside this one, does not know the key.
void add_to(nlohmann::json& json, const HorizontalSettings& settings) {
  json["model"] = settings.model.hex();
  if (settings.evaluation) json["evaluation"] = settings.evaluation->hex();
  json["training"] = to_json(settings.training);
  add_schedule(json["training"], settings.schedules.device);
  add_adaptive_mu(json["training"], settings.adaptive_mu);
  json["update"] = {{"clip_l2", readable(settings.update.clip_l2)},
                    {"value_abs_max", readable(settings.update.value_abs_max)},
                    {"weight_max", settings.update.weight_max}};
  const double share = settings.update.weight_share_max;
  if (share != 1 || default_weight_share_max(settings) != 1) json["update"]["weight_share_max"] = share;
  add_compression(json["update"], settings.update.compression);
  json["rounds"] = {{"count", settings.rounds.count},
                    {"goal_count", settings.rounds.goal_count},
                    {"goal_count_min", settings.rounds.goal_count_min},
                    {"over_selection", settings.rounds.over_selection},
                    {"pool_min", settings.rounds.pool_min},
                    {"selecting_ms_max", settings.rounds.selecting_max.count()},
                    {"collecting_ms_max", settings.rounds.collecting_max.count()},
                    {"retry_delay_ms", settings.rounds.retry_delay.count()},
                    {"attempts_max", settings.rounds.attempts_max}};
  // Left out where it says nothing, as above.
  if (settings.rounds.nodes_min != 0) json["rounds"]["nodes_min"] = settings.rounds.nodes_min;
  if (settings.rounds.separation_min != 0) json["rounds"]["separation_min"] = settings.rounds.separation_min;
  if (settings.rounds.is_buffered()) {
    json["rounds"]["policy"] = to_string(settings.rounds.policy);
    json["rounds"]["concurrency"] = settings.rounds.concurrency;
    json["rounds"]["staleness_max"] = settings.rounds.staleness_max;
    json["rounds"]["staleness_exponent"] = readable(settings.rounds.staleness_exponent);
  }
  json["strategy"] = to_json(settings.strategy);
  add_schedule(json["strategy"], settings.schedules.server);
  if (settings.aggregation.keeps_updates()) json["aggregation"] = to_json(settings.aggregation);
  json["privacy"] = {
      {"level", to_string(settings.privacy.level)},        {"noise_multiplier", settings.privacy.noise_multiplier},
      {"target_delta", settings.privacy.target_delta},     {"epsilon_budget", settings.privacy.epsilon_budget},
      {"cohort_min", settings.privacy.cohort_min},         {"cohort_max", settings.privacy.cohort_max},
      {"corrupt_share", settings.privacy.corrupt_share},   {"dropout_share", settings.privacy.dropout_share},
      {"phase_ms_max", settings.privacy.phase_max.count()}};
  if (settings.privacy.mechanism != NoiseMechanism::independent) {
    json["privacy"]["mechanism"] = to_string(settings.privacy.mechanism);
  }
  add_adaptive_clip(json["privacy"], settings.privacy);
  // An older server does not know it.
  if (settings.privacy.watch_share != PrivacySettings().watch_share)
    json["privacy"]["watch_share"] = settings.privacy.watch_share;
  add_device_requirements(json, settings.device_requirements);
  add_download(json, settings.download);
  add_analytics(json, settings);
  add_selection(json, settings.rounds.selection);
}

KindSettings read_horizontal(JsonReader& reader) {
  HorizontalSettings settings;
  read_analytics(reader, settings);
  if (!settings.analytics) reader.require("model");
  reader.read("model", settings.model);
  reader.read("evaluation", settings.evaluation);
  read_training(reader.object("training"), settings);
  read_aggregation(reader.object("aggregation"), settings);
  read_update(reader.object("update"), settings.update);
  read_privacy(reader.object("privacy"), settings.privacy);
  read_rounds(reader.object("rounds"), settings);
  read_strategy(reader.object("strategy"), settings.strategy, settings.schedules.server);
  read_device_requirements(reader.object("device_requirements"), settings.device_requirements);
  read_download(reader, settings.download);
  read_selection(reader.object("selection"), settings.rounds.selection);
  return settings;
}

// A row for each alternative of KindSettings, in its order. The first is what a job without a kind is.
constexpr std::string_view kKindNames[] = {"horizontal"};
constexpr KindSettings (*kKindReaders[])(JsonReader&) = {read_horizontal};
static_assert(std::size(kKindNames) == std::variant_size_v<KindSettings>);
static_assert(std::size(kKindReaders) == std::variant_size_v<KindSettings>);

// A vertical job gets this sentence alone: what else it says has other rules than a horizontal job's.
bool refuse_vertical(const nlohmann::json& json, Problems& problems) {
  const auto kind = json.is_object() ? json.find("kind") : json.end();
  if (kind == json.end() || *kind != "vertical") return false;
  problems.push_back({"/kind", "vertical: this server has no vertical jobs yet; take horizontal, or leave kind out"});
  return true;
}

JobSettings read_job(const nlohmann::json& json, Problems& problems) {
  JobSettings settings;
  JsonReader reader(json, "", problems);
  size_t kind = 0;
  reader.read_choice("kind", std::span(kKindNames), kind);
  reader.require("name");
  reader.read("name", settings.common.name);
  std::string population = settings.common.population.value();
  reader.read("population", population);
  settings.common.population = Population(population);
  reader.read("weight", settings.common.weight);
  settings.kind = kKindReaders[kind](reader);
  reader.finish();
  return settings;
}

}  // namespace

nlohmann::json to_json(const JobSettings& settings) {
  nlohmann::json json = {{"name", settings.common.name}, {"population", settings.common.population.value()}};
  // Left out where it says nothing: a server of the version before, beside this one, does not know it.
  if (settings.common.weight != 1) json["weight"] = settings.common.weight;
  std::visit([&](const auto& kind) { add_to(json, kind); }, settings.kind);
  return json;
}

JobSettings job_settings_from_json(const nlohmann::json& json, Problems& problems) {
  if (refuse_vertical(json, problems)) return {};
  JobSettings settings = read_job(json, problems);
  // Not for stored jobs: one of before there were shares goes on as it was.
  if (!json.contains("/update/weight_share_max"_json_pointer)) {
    const auto set_default = [](HorizontalSettings& s) {
      if (!s.analytics) s.update.weight_share_max = default_weight_share_max(s);
    };
    std::visit(set_default, settings.kind);
  }
  for (Problem& problem : validate(settings)) {
    const bool reported =
        std::any_of(problems.begin(), problems.end(), [&](const Problem& p) { return p.pointer == problem.pointer; });
    if (!reported) problems.push_back(std::move(problem));
  }
  return settings;
}

std::string job_settings_to_json_text(const JobSettings& settings) { return to_json(settings).dump(); }

Result<JobSettings> job_settings_from_stored_json(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return Error(ErrorCode::data_loss, "database: a job's settings do not parse");
  JobSettings settings;
  if (!refuse_vertical(*json, problems)) settings = read_job(*json, problems);
  if (!problems.empty()) {
    return Error(ErrorCode::data_loss, "database: a job's settings: " + problems[0].pointer + " " + problems[0].detail);
  }
  return settings;
}

}  // namespace coterie
