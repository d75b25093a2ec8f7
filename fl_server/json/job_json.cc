#include "fl_server/json/job_json.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "fl_server/json/json_reader.h"

namespace coterie {
namespace {

// The double whose shortest text is the float's: 0.1f is shown as 0.1, and reads back as the same float.
double readable(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double wide = static_cast<double>(value);
  std::from_chars(text, end, wide);
  return wide;
}

void read_training(JsonReader reader, TrainingSettings& training) {
  size_t loss = training.loss == Loss::mean_squared_error ? 1 : 0;
  reader.read_choice("loss", {"softmax_cross_entropy", "mean_squared_error"}, loss);
  training.loss = loss == 1 ? Loss::mean_squared_error : Loss::softmax_cross_entropy;
  reader.read("batch_size", training.batch_size);
  reader.read("local_epochs", training.local_epochs);
  reader.read("steps_max", training.steps_max);
  JsonReader optimizer = reader.object("optimizer");
  OptimizerSettings& settings = training.optimizer;
  size_t kind = settings.kind == OptimizerKind::adam ? 1 : 0;
  optimizer.read_choice("kind", {"sgd", "adam"}, kind);
  settings.kind = kind == 1 ? OptimizerKind::adam : OptimizerKind::sgd;
  optimizer.read("learning_rate", settings.learning_rate);
  optimizer.read("momentum", settings.momentum);
  optimizer.read("weight_decay", settings.weight_decay);
  optimizer.read("beta1", settings.beta1);
  optimizer.read("beta2", settings.beta2);
  optimizer.read("epsilon", settings.epsilon);
  optimizer.finish();
  reader.finish();
}

// A sum of fewer than cohort_min updates is never unmasked, so no round may count on one.
uint32_t default_goal_count_min(const JobSettings& spec) {
  if (spec.privacy.level == SecurityLevel::none) return 1;
  return std::max(1u, std::min(spec.privacy.cohort_min, spec.rounds.goal_count));
}

// After the privacy settings: they say what the default of goal_count_min is.
void read_rounds(JsonReader reader, JobSettings& spec) {
  RoundSettings& rounds = spec.rounds;
  reader.read("count", rounds.count);
  reader.read("goal_count", rounds.goal_count);
  rounds.goal_count_min = default_goal_count_min(spec);
  reader.read("goal_count_min", rounds.goal_count_min);
  reader.read("over_selection", rounds.over_selection);
  reader.read("pool_min", rounds.pool_min);
  reader.read("selecting_ms_max", rounds.selecting_max);
  reader.read("collecting_ms_max", rounds.collecting_max);
  reader.read("retry_delay_ms", rounds.retry_delay);
  reader.read("attempts_max", rounds.attempts_max);
  reader.read("nodes_min", rounds.nodes_min);
  reader.finish();
}

void read_update(JsonReader reader, UpdateSettings& update) {
  reader.read("clip_l2", update.clip_l2);
  reader.read("value_abs_max", update.value_abs_max);
  reader.read("weight_max", update.weight_max);
  reader.finish();
}

void read_strategy(JsonReader reader, StrategySettings& strategy) {
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
  reader.read("target_delta", privacy.target_delta);
  reader.read("epsilon_budget", privacy.epsilon_budget);
  reader.read("cohort_min", privacy.cohort_min);
  reader.read("cohort_max", privacy.cohort_max);
  reader.read("corrupt_share", privacy.corrupt_share);
  reader.read("dropout_share", privacy.dropout_share);
  reader.read("phase_ms_max", privacy.phase_max);
  reader.finish();
}

// A job that says no kind is horizontal: there were jobs before there were kinds. A vertical one gets this sentence
// alone: what else it says has other rules than a horizontal job's.
bool refuse_vertical(const nlohmann::json& json, Problems& problems) {
  const auto kind = json.is_object() ? json.find("kind") : json.end();
  if (kind == json.end() || *kind != "vertical") return false;
  problems.push_back({"/kind", "vertical: this server has no vertical jobs yet; take horizontal, or leave kind out"});
  return true;
}

JobSettings read_horizontal(const nlohmann::json& json, Problems& problems) {
  JobSettings spec;
  JsonReader reader(json, "", problems);
  size_t kind = 0;
  reader.read_choice("kind", {"horizontal"}, kind);
  reader.require("name");
  reader.require("model");
  reader.read("name", spec.name);
  std::string population = spec.population.value();
  reader.read("population", population);
  spec.population = Population(population);
  reader.read("weight", spec.weight);
  reader.read("model", spec.model);
  reader.read("evaluation", spec.evaluation);
  read_training(reader.object("training"), spec.training);
  read_update(reader.object("update"), spec.update);
  read_privacy(reader.object("privacy"), spec.privacy);
  read_rounds(reader.object("rounds"), spec);
  read_strategy(reader.object("strategy"), spec.strategy);
  reader.finish();
  return spec;
}

}  // namespace

nlohmann::json to_json(const JobSettings& spec) {
  const OptimizerSettings& optimizer = spec.training.optimizer;
  nlohmann::json json = {
      {"name", spec.name},
      {"population", spec.population.value()},
      {"model", spec.model.hex()},
      {"training",
       {{"loss", to_string(spec.training.loss)},
        {"batch_size", spec.training.batch_size},
        {"local_epochs", spec.training.local_epochs},
        {"steps_max", spec.training.steps_max},
        {"optimizer",
         {{"kind", to_string(optimizer.kind)},
          {"learning_rate", readable(optimizer.learning_rate)},
          {"momentum", readable(optimizer.momentum)},
          {"weight_decay", readable(optimizer.weight_decay)},
          {"beta1", readable(optimizer.beta1)},
          {"beta2", readable(optimizer.beta2)},
          {"epsilon", readable(optimizer.epsilon)}}}}},
      {"update",
       {{"clip_l2", readable(spec.update.clip_l2)},
        {"value_abs_max", readable(spec.update.value_abs_max)},
        {"weight_max", spec.update.weight_max}}},
      {"rounds",
       {{"count", spec.rounds.count},
        {"goal_count", spec.rounds.goal_count},
        {"goal_count_min", spec.rounds.goal_count_min},
        {"over_selection", spec.rounds.over_selection},
        {"pool_min", spec.rounds.pool_min},
        {"selecting_ms_max", spec.rounds.selecting_max.count()},
        {"collecting_ms_max", spec.rounds.collecting_max.count()},
        {"retry_delay_ms", spec.rounds.retry_delay.count()},
        {"attempts_max", spec.rounds.attempts_max}}},
      {"strategy", to_json(spec.strategy)},
      {"privacy",
       {{"level", to_string(spec.privacy.level)},
        {"noise_multiplier", spec.privacy.noise_multiplier},
        {"target_delta", spec.privacy.target_delta},
        {"epsilon_budget", spec.privacy.epsilon_budget},
        {"cohort_min", spec.privacy.cohort_min},
        {"cohort_max", spec.privacy.cohort_max},
        {"corrupt_share", spec.privacy.corrupt_share},
        {"dropout_share", spec.privacy.dropout_share},
        {"phase_ms_max", spec.privacy.phase_max.count()}}},
  };
  if (spec.evaluation) json["evaluation"] = spec.evaluation->hex();
  // Left out where they say nothing, as kind is: a server of the version before, beside this one, knows none of them.
  if (spec.weight != 1) json["weight"] = spec.weight;
  if (spec.rounds.nodes_min != 0) json["rounds"]["nodes_min"] = spec.rounds.nodes_min;
  return json;
}

JobSettings job_settings_from_json(const nlohmann::json& json, Problems& problems) {
  if (refuse_vertical(json, problems)) return {};
  JobSettings spec = read_horizontal(json, problems);
  for (Problem& problem : validate(spec)) {
    const bool reported =
        std::any_of(problems.begin(), problems.end(), [&](const Problem& p) { return p.pointer == problem.pointer; });
    if (!reported) problems.push_back(std::move(problem));
  }
  return spec;
}

std::string job_settings_to_json_text(const JobSettings& spec) { return to_json(spec).dump(); }

Result<JobSettings> job_settings_from_stored_json(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return Error(ErrorCode::data_loss, "database: a job's settings do not parse");
  JobSettings spec;
  if (!refuse_vertical(*json, problems)) spec = read_horizontal(*json, problems);
  if (!problems.empty()) {
    return Error(ErrorCode::data_loss, "database: a job's settings: " + problems[0].pointer + " " + problems[0].detail);
  }
  return spec;
}

}  // namespace coterie
