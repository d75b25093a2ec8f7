#include "tools/demo/result.h"
#include "tools/demo/personal_option.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/train_options.h"
#include "fl_server/json/watch_json.h"
#include "tools/cli/head_report.h"
#include "tools/cli/table.h"
#include "tools/cli/terminal.h"
#include "tools/data/csv_rows.h"
#include "tools/demo/chart_page.h"
#include "tools/demo/compression_option.h"
#include "tools/demo/width_scores.h"

namespace coterie {
namespace {

double rounded(double seconds) { return std::round(seconds * 1000) / 1000; }

uint64_t sum_of(const std::vector<RoundReport>& rounds, uint64_t RoundReport::*member) {
  uint64_t sum = 0;
  for (const RoundReport& round : rounds) sum += round.*member;
  return sum;
}

double best_accuracy(const DemoResult& result) {
  double best = result.after.accuracy;
  for (const RoundReport& round : done_rounds(result)) best = std::max(best, round.evaluation_accuracy.value_or(0));
  return best;
}

std::optional<double> best_r2(const DemoResult& result) {
  std::optional<double> best = result.after.r2;
  for (const RoundReport& round : done_rounds(result)) {
    if (round.evaluation_r2) best = std::max(best.value_or(*round.evaluation_r2), *round.evaluation_r2);
  }
  return best;
}

// How good the model is, as a summary has it.
nlohmann::ordered_json scores_json(const DemoResult& result) {
  const auto number = [](std::optional<double> value) { return value ? nlohmann::ordered_json(*value) : nullptr; };
  const bool has_heads = !result.after.heads.empty();  // of several targets nobody guesses one
  if (!is_of_numbers(result)) {
    nlohmann::ordered_json json = {{"accuracy", result.after.accuracy},
                                   {"loss", result.after.loss_mean},
                                   {"accuracy_before", result.before.accuracy},
                                   {"accuracy_best", best_accuracy(result)}};
    if (!has_heads || result.majority_accuracy > 0) json["accuracy_majority"] = result.majority_accuracy;
    return json;
  }
  nlohmann::ordered_json json = {{"mae", number(result.after.mae)},       {"r2", number(result.after.r2)},
                                 {"loss", result.after.loss_mean},        {"mae_before", number(result.before.mae)},
                                 {"r2_before", number(result.before.r2)}, {"r2_best", number(best_r2(result))}};
  if (has_heads && !result.mean_baseline) return json;
  const MeanBaseline mean = result.mean_baseline.value_or(MeanBaseline{});
  json["mae_mean"] = mean.mae;
  json["r2_mean"] = number(mean.r2);
  return json;
}

// Those that any round has: a model that is evaluated on the same data has the same in each.
std::vector<std::string> head_columns(const std::vector<RoundReport>& rounds) {
  std::vector<std::string> names;
  for (const RoundReport& round : rounds) {
    for (const auto& [name, value] : columns_of(round.evaluation_heads)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// As `coterie model evaluate` takes them.
std::string head_words(const DemoResult& result) {
  std::string words;
  for (const TrainingHead& head : result.options.heads) {
    words += " --head " + shell_word(head.output + ":" + std::string(to_string(head.loss)) + ":" +
                                     shortest(static_cast<double>(head.weight)));
  }
  return words;
}

// "accuracy 91.3 %", or "mean absolute error 2.75, R2 0.812".
std::string score_text(const ModelScore& score, bool is_of_numbers, const Terminal& terminal) {
  if (!is_of_numbers) return "accuracy " + terminal.bold(format_percent(score.accuracy));
  return "mean absolute error " + terminal.bold(format_digits(score.mae.value_or(NAN))) + ", R2 " +
         terminal.bold(format_fixed(score.r2.value_or(NAN), 3));
}

std::string beside(const std::string& program, const std::string& name) {
  const size_t slash = program.rfind('/');
  return slash == program.npos ? name : program.substr(0, slash + 1) + name;
}

std::string settings_of(const DemoResult& result) {
  const DemoOptions& options = result.options;
  return std::to_string(options.goal_count()) + " of " + counted(options.devices, "device") + " a round, split " +
         to_string(options.split) + ", " + std::string(options.strategy->name) +
         (options.aggregation.keeps_updates() ? ", " + std::string(options.aggregation.name()) : "") +
         (options.security == SecurityLevel::none ? "" : ", " + std::string(to_string(options.security))) + ", seed " +
         std::to_string(options.seed);
}

// "4 devices lied (sign_flip:0.2); without them: 97.8 %"; empty if nobody did.
std::string attack_text(const DemoResult& result) {
  if (!result.accuracy_without_attack) return {};
  const DemoOptions& options = result.options;
  return counted(options.attack.liars_of(options.devices), "device") + " lied (" + to_string(options.attack) +
         "); without them: " + format_percent(*result.accuracy_without_attack);
}

std::string spaced(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', ' ');
  return text;
}

// Whether classes are called as they are counted.
bool are_numbers(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != std::to_string(i)) return false;
  }
  return true;
}

nlohmann::json phases_json(const DemoPhases& phases) {
  return {{"prepare", rounded(phases.prepare)},
          {"server_start", rounded(phases.server_start)},
          {"devices_start", rounded(phases.devices_start)},
          {"rounds", rounded(phases.rounds)},
          {"rounds_training", rounded(phases.training)},
          {"rounds_server", rounded(phases.finalizing)},
          {"rounds_network", rounded(phases.network())},
          {"finish", rounded(phases.finish)}};
}

}  // namespace

bool is_of_numbers(const DemoResult& result) {
  const TrainingSettings judged = result.options.judged_by();
  return judged.target == TargetKind::values &&
         (judged.heads.empty() || is_distance(loss_of_own_output(loss_of(judged))));
}

double DemoPhases::network() const { return std::max(0.0, rounds - training - finalizing); }

std::optional<DemoPrivacy> privacy_in(const nlohmann::json& job) {
  const auto number = [&](const char* pointer) {
    const nlohmann::json::json_pointer at(pointer);
    return job.contains(at) && job.at(at).is_number() ? std::optional(job.at(at).get<double>()) : std::nullopt;
  };
  const std::optional<double> epsilon = number("/privacy/epsilon");
  if (!epsilon) return std::nullopt;
  DemoPrivacy privacy;
  privacy.epsilon = *epsilon;
  privacy.delta = number("/privacy/delta").value_or(0);
  privacy.accountant = job["privacy"].value("accountant", "");
  privacy.noise_multiplier = number("/spec/privacy/noise_multiplier").value_or(0);
  privacy.clip = number("/spec/update/clip_l2").value_or(0);
  privacy.ledger_head = job["privacy"].value("/ledger/head"_json_pointer, "");
  return privacy;
}

std::vector<RoundReport> done_rounds(const DemoResult& result) {
  std::vector<RoundReport> done;
  for (const RoundReport& attempt : result.attempts) {
    if (attempt.state == "done") done.push_back(attempt);
  }
  return done;
}

double training_seconds(const std::vector<RoundReport>& rounds) {
  double seconds = 0;
  for (const RoundReport& round : rounds) {
    if (round.accepted > 0) seconds += round.train_seconds / static_cast<double>(round.accepted);
  }
  return seconds;
}

std::string metrics_csv(const DemoResult& result) {
  const bool has_numbers = is_of_numbers(result), has_clip = result.options.adaptive_clip.has_value();
  const bool has_mu = result.options.adaptive_mu.has_value();
  std::string csv = "round,attempts,selected,accepted,examples,train_loss,";
  csv += has_numbers ? "evaluation_loss,evaluation_mae,evaluation_r2"
                     : "train_accuracy,evaluation_loss,evaluation_accuracy";
  csv += ",seconds,train_seconds";
  csv += has_clip ? ",clip_norm" : "";
  csv += has_mu ? ",proximal_mu" : "";
  const std::vector<std::string> head_names = head_columns(done_rounds(result));
  for (const std::string& name : head_names) csv += "," + csv_quoted(name);
  csv += "\n";
  for (const RoundReport& round : done_rounds(result)) {
    for (const std::string& text :
         {std::to_string(round.number), std::to_string(round.attempt), std::to_string(round.selected),
          std::to_string(round.accepted), std::to_string(round.examples), shortest(round.train_loss),
          shortest(has_numbers ? round.evaluation_loss : round.train_accuracy),
          shortest(has_numbers ? round.evaluation_mae : round.evaluation_loss),
          shortest(has_numbers ? round.evaluation_r2 : round.evaluation_accuracy), shortest(round.seconds)}) {
      csv += text + ",";
    }
    csv += shortest(round.train_seconds);
    if (has_clip) csv += "," + shortest(round.clip_norm);
    if (has_mu) csv += "," + shortest(round.proximal_mu);
    const auto figures = columns_of(round.evaluation_heads);
    for (const std::string& name : head_names) {
      const auto found = std::ranges::find(figures, name, &std::pair<std::string, double>::first);
      csv += "," + (found == figures.end() ? std::string() : shortest(found->second));
    }
    csv += "\n";
  }
  return csv;
}

std::string summary_json(const DemoResult& result, int indent) {
  const DemoOptions& options = result.options;
  const std::vector<RoundReport> rounds = done_rounds(result);
  nlohmann::ordered_json json = {
      {"schema", "coterie.demo.v1"},
      {"rounds", rounds.size()},
      {"devices", options.devices},
      {"updates_accepted", sum_of(rounds, &RoundReport::accepted)},
      {"updates_selected", sum_of(result.attempts, &RoundReport::selected)},
  };
  json.update(scores_json(result));
  if (!result.after.heads.empty()) json["heads"] = heads_json(result.after.heads);
  add_width_scores(json, result);
  const nlohmann::ordered_json rest = {
      {"seconds", rounded(result.phases.total())},
      {"phases", phases_json(result.phases)},
      {"data", options.data},
      {"model", options.model_file.empty() ? result.model_name : options.model_file},
      {"split", to_string(options.split)},
      {"fraction", options.fraction},
      {"objective", to_string(options.judged_by().loss)},
      {"optimizer", to_string(options.optimizer)},
      {"learning_rate", options.device_rate()},
      {"momentum", options.momentum},
      {"local_epochs", options.local_epochs},
      {"batch_size", options.batch_size},
      {"strategy", options.strategy->name},
      {"server_learning_rate", options.server_rate()},
      {"security", to_string(options.security)},
      {"cohort_max", options.cohort_max},
      {"dropout", options.dropout},
      {"seed", options.seed},
      {"training_examples", result.training_examples},
      {"held_out_examples", result.held_out_examples},
      {"attempts_failed", result.attempts.size() - rounds.size()},
      {"devices_restarted", result.devices_restarted},
      {"dropouts", result.dropouts},
      {"update_bytes", result.update_bytes},
      {"download_bytes", result.download_bytes},
      {"model_digest", result.model_digest},
      {"model_path", result.run_dir + "/model.cotf"},
      {"held_out_path", result.run_dir + "/held-out.cotf"},
      {"metrics_path", result.run_dir + "/metrics.csv"},
      {"chart_path", result.run_dir + "/chart.svg"},
      {"chart_page_path", result.run_dir + "/chart.html"},
      {"run_dir", result.run_dir},
  };
  json.update(rest);
  if (options.aggregation.keeps_updates()) json["aggregation"] = options.aggregation.name();
  if (result.accuracy_without_attack) {
    json["attack"] = to_string(options.attack);
    json["accuracy_without_attack"] = *result.accuracy_without_attack;
  }
  if (const std::optional<DemoPrivacy>& privacy = result.privacy) {
    json["privacy"] = {{"epsilon", privacy->epsilon},       {"delta", privacy->delta},
                       {"accountant", privacy->accountant}, {"noise_multiplier", privacy->noise_multiplier},
                       {"clip_l2", privacy->clip},          {"ledger_head", privacy->ledger_head}};
  }
  // What devices of the last round found; a job is watched in all of them or in none.
  if (!rounds.empty() && rounds.back().watch) json["watch"] = to_json(*rounds.back().watch);
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

namespace {

std::string privacy_lines(const DemoPrivacy& privacy) {
  char lines[240];
  std::snprintf(
      lines, sizeof lines,
      "  epsilon %.3f at delta %g (%s): what the models tell of one device\n    noise multiplier %.3f, clip %g\n",
      privacy.epsilon, privacy.delta, privacy.accountant.c_str(), privacy.noise_multiplier, privacy.clip);
  return lines;
}

// How long devices trained is among what the levels with masks hide.
std::string phase_lines(const DemoPhases& phases, const Terminal& terminal) {
  const std::string training = phases.training > 0 ? "training " + format_seconds(phases.training) + ", " : "";
  return terminal.dim("  server start " + format_seconds(phases.server_start) + ", device start " +
                      format_seconds(phases.devices_start) + ", rounds " + format_seconds(phases.rounds)) +
         "\n" +
         terminal.dim("    " + training + "server " + format_seconds(phases.finalizing) + ", network and waiting " +
                      format_seconds(phases.network())) +
         "\n";
}

}  // namespace

std::string summary_text(const DemoResult& result, const Terminal& terminal) {
  const DemoPhases& phases = result.phases;
  const std::vector<RoundReport> rounds = done_rounds(result);
  const std::string dir = result.run_dir, program = shell_word(result.program);
  const bool has_numbers = is_of_numbers(result);
  const Terminal plain;
  std::string text = "\nHeld-out " + score_text(result.after, has_numbers, terminal) + (has_numbers ? "\n  (" : " (") +
                     (has_numbers ? score_text(result.before, true, plain) : format_percent(result.before.accuracy)) +
                     " before training)\n  on " + counted(result.held_out_examples, "example") +
                     " that no device has seen\n";
  text += heads_text(result.after.heads) + width_lines(result);
  if (const auto& personal = result.options.personal; personal && !note_of(*personal).empty()) {
    text += "  (" + std::string(note_of(*personal)) + ")\n";
  }
  if (result.majority_accuracy > 0) {
    text += "  always saying the most frequent class: " + format_percent(result.majority_accuracy) + "\n";
  }
  if (result.mean_baseline) {
    text += "  always saying the mean: mean absolute error " + format_digits(result.mean_baseline->mae) + "\n";
  }
  if (const std::string attack = attack_text(result); !attack.empty()) text += "  " + attack + "\n";
  text += "  " + counted(rounds.size(), "round") + ", " + counted(sum_of(rounds, &RoundReport::accepted), "update") +
          " of " + format_bytes(result.update_bytes) + ", " + format_seconds(phases.total()) + "\n";
  if (const std::string compression = compression_text(result.options); !compression.empty()) {
    text += "    " + compression + "\n";
  }
  if (result.options.download_bits > 0) {
    text += "  a new version comes in at most " + format_bytes(result.download_bytes) + ", the whole model has " +
            format_bytes(result.model_bytes) + "\n";
  }
  if (result.privacy) text += privacy_lines(*result.privacy);
  text += phase_lines(phases, terminal);
  text += "\nIn " + dir + "\n  model.cotf     the trained model, " + format_bytes(result.model_bytes) +
          "\n  chart.svg      " + (has_numbers ? "R2" : "accuracy") +
          ", loss, and who had what\n  chart.html     the same with every round's values\n  "
          "metrics.csv    every round in numbers\n"
          "  held-out.cotf  the examples it was judged on\n  job.json       the job, for a server of your own\n"
          "  summary.json   all settings and results\n";
  if (result.has_ledger) text += "  ledger.json    the privacy ledger: what was released\n";
  text += "\nNext\n";
  const auto next = [&](const std::string& command, const std::string& what) {
    text += "  " + terminal.bold(command) + "\n" + terminal.dim("      " + what) + "\n";
  };
  next(program + " model evaluate " + shell_word(dir + "/model.cotf") + " --data " +
           shell_word(dir + "/held-out.cotf") + head_words(result),
       "judge the model again, without a server");
  const bool has_heads = !result.options.heads.empty();
  const std::string data = result.options.data == "digits" ? "" : " --data " + shell_word(result.options.data);
  if (has_heads) {
    next(
        program + " model predict " + shell_word(dir + "/model.cotf") + " --data " + shell_word(dir + "/held-out.cotf"),
        "what each output says of the examples");
  } else if (data.empty() || result.options.data.find(':') != std::string::npos) {
    next(program + " demo" + data + " --split dirichlet:0.1 --strategy fedadam",
         "devices that differ more, and a server that takes adaptive steps");
  } else {
    next(program + " demo" + data + " --strategy fedadam", "a server that takes adaptive steps");
  }
  next(shell_word(beside(result.program, "fl_server")) + " --data-dir coterie-data",
       "a server for devices of your own; it says how to go on");
  return text;
}

ChartData chart_of(const DemoResult& result) {
  const bool has_numbers = is_of_numbers(result);
  ChartData chart;
  chart.is_of_numbers = has_numbers;
  if (has_numbers) {
    chart.class_names = {"examples"};
    chart.loss_name = spaced(to_string(result.options.judged_by().loss));
  }
  chart.title =
      result.model_name + " on " + result.data_name + ", trained by " + counted(result.options.devices, "device");
  chart.subtitle =
      settings_of(result) + "; " + counted(result.training_examples, "example") + ", none of which left its device";
  if (const std::string attack = attack_text(result); !attack.empty()) chart.subtitle += "; " + attack;
  chart.rounds.push_back({.number = 0,
                          .accuracy = has_numbers ? result.before.r2 : result.before.accuracy,
                          .held_out_loss = result.before.loss_mean,
                          .training_loss = std::nullopt});
  for (const RoundReport& round : done_rounds(result)) {
    chart.rounds.push_back({round.number, has_numbers ? round.evaluation_r2 : round.evaluation_accuracy,
                            round.evaluation_loss, round.train_loss});
  }
  chart.label_counts = result.label_counts;
  if (!result.options.heads.empty() && result.class_names.empty()) chart.class_names = {"examples"};
  if (!are_numbers(result.class_names)) chart.class_names = result.class_names;
  chart.rounds_trained = result.rounds_trained;
  return chart;
}

}  // namespace coterie
