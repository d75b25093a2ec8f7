#include "tools/simulate/summary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "fl_server/json/evaluated_heads_json.h"
#include "fl_server/json/watch_json.h"
#include "scheduler/selection/selection_registry.h"
#include "tools/cli/head_report.h"
#include "tools/cli/table.h"
#include "tools/demo/personal_option.h"
#include "tools/demo/result.h"
#include "tools/demo/width_scores.h"
#include "tools/simulate/checkpoint.h"
#include "tools/simulate/inputs.h"
#include "tools/simulate/options.h"

namespace coterie {
namespace {

template <typename T>
nlohmann::ordered_json or_null(std::optional<T> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

void add_scores(nlohmann::ordered_json& json, const DemoResult& result) {
  if (is_of_numbers(result)) {
    json["mae_before"] = or_null(result.before.mae);
    json["r2_before"] = or_null(result.before.r2);
    json["mae"] = or_null(result.after.mae);
    json["r2"] = or_null(result.after.r2);
  } else {
    json["accuracy_before"] = result.before.accuracy;
    json["accuracy"] = result.after.accuracy;
  }
  json["loss"] = result.after.loss_mean;
  if (!result.after.heads.empty()) json["heads"] = heads_json(result.after.heads);
}

nlohmann::ordered_json own_json(const OwnScore& score, bool has_numbers) {
  nlohmann::ordered_json json = {{"loss", or_null(std::optional(score.loss))}};
  if (has_numbers) return json;
  json["accuracy"] = score.accuracy;
  json["worst_tenth"] = score.worst_tenth;
  return json;
}

void add_own(nlohmann::ordered_json& json, const OwnScores& own, const DemoResult& result) {
  const bool has_numbers = is_of_numbers(result);
  json["own"] = {{"devices", own.devices},
                 {"examples", own.examples},
                 {"published", own_json(own.published, has_numbers)},
                 {"personal", own.personal ? own_json(*own.personal, has_numbers) : nullptr}};
}

std::string own_text(const OwnScore& score, const DemoResult& result) {
  if (is_of_numbers(result)) return "loss " + format_digits(score.loss);
  return "accuracy " + format_percent(score.accuracy) + ", worst tenth " + format_percent(score.worst_tenth);
}

// What each device is worth to itself.
std::string own_lines(const std::optional<OwnScores>& own, const DemoResult& result) {
  if (!own) return {};
  std::string text = "  on what " + counted(own->devices, "device") +
                     " hold out, each counting alike:\n    published  " + own_text(own->published, result) + "\n";
  if (own->personal) text += "    personal   " + own_text(*own->personal, result) + "\n";
  return text;
}

std::string note_line(const DemoResult& result) {
  const std::optional<PersonalSettings>& personal = result.options.personal;
  if (!personal || note_of(*personal).empty()) return {};
  return "  (" + std::string(note_of(*personal)) + ")\n";
}

// What became of the others that were drawn.
std::string rest_of(const SimulationStory& tally) {
  if (!tally.buffered) {
    return ", late " + format_count(tally.late) + ", surplus " + format_count(tally.surplus);
  }
  const BufferedTotals& buffered = *tally.buffered;
  return ", too late " + format_count(buffered.too_late) + ", at work at the end " + format_count(buffered.at_work) +
         "\n  " + format_count(buffered.joined) + " joined a later buffer; " +
         format_fixed(buffered.staleness_mean(), 2) + " versions late on average, " +
         format_count(buffered.staleness_max) + " at most; wasted updates " + format_count(buffered.too_late);
}

}  // namespace

std::string score_text(const ModelScore& score, const DemoResult& result) {
  if (is_of_numbers(result)) return "R2 " + format_fixed(score.r2.value_or(NAN), 3);
  return "accuracy " + format_percent(score.accuracy);
}

std::string summary_of(const DemoResult& result, const SimulationStory& tally, const SimulateOptions& options,
                       const SimulationInputs& inputs, double seconds, int indent) {
  const HorizontalSettings& job = inputs.job.horizontal();
  const std::vector<RoundReport> rounds = done_rounds(result);
  const double rate = seconds > 0 ? static_cast<double>(tally.counted) / seconds : 0;
  nlohmann::ordered_json json = {{"schema", "coterie.simulate.v1"},
                                 {"rounds", rounds.size()},
                                 {"attempts_failed", result.attempts.size() - rounds.size()},
                                 {"devices", result.options.devices},
                                 {"shards", result.label_counts.size()},
                                 {"drawn", tally.drawn},
                                 {"counted", tally.counted},
                                 {"lost", tally.lost},
                                 {"late", tally.late},
                                 {"surplus", tally.surplus},
                                 {"virtual_seconds", tally.virtual_seconds},
                                 {"seconds", seconds},
                                 {"clients_per_second", rate},
                                 {"threads", options.threads},
                                 {"seed", result.options.seed},
                                 {"split", to_string(result.options.split)},
                                 {"security", to_string(result.options.security)},
                                 {"aggregation", job.aggregation.name()},
                                 {"selection", job.rounds.selection.rule->name},
                                 {"devices_counted", tally.shares.devices()},
                                 {"counted_by_speed", tally.shares.by_speed([&](uint32_t device) {
                                    return training_seconds(inputs.fleet, job, device);
                                  })},
                                 {"attack", to_string(options.attack)}};
  if (options.mean_of_last > 1) json["mean_of_last"] = options.mean_of_last;
  json["wasted_updates"] = tally.late + tally.surplus + (tally.buffered ? tally.buffered->too_late : 0);
  if (tally.buffered) {
    json["joined"] = tally.buffered->joined;
    json["staleness_mean"] = tally.buffered->staleness_mean();
    json["staleness_max"] = tally.buffered->staleness_max;
    json["too_late"] = tally.buffered->too_late;
    json["at_work"] = tally.buffered->at_work;
  }
  add_scores(json, result);
  add_width_scores(json, result);
  if (tally.own) add_own(json, *tally.own, result);
  json["update_bytes"] = result.update_bytes;
  json["download_bytes"] = result.download_bytes;
  json["model_digest"] = result.model_digest;
  if (!rounds.empty() && rounds.back().watch) json["watch"] = to_json(*rounds.back().watch);
  json["run_dir"] = result.run_dir;
  return json.dump(indent);
}

std::string event_of(const RoundReport& round, const VirtualRound& plan) {
  nlohmann::ordered_json event = {{"event", "round_" + round.state},
                                  {"round", round.number},
                                  {"attempt", round.attempt},
                                  {"selected", round.selected},
                                  {"accepted", round.accepted},
                                  {"lost", plan.lost},
                                  {"late", plan.late},
                                  {"surplus", plan.surplus},
                                  {"seconds", or_null(std::optional(round.seconds))}};
  if (plan.is_buffered) {
    event["joined"] = plan.joined;
    event["too_late"] = plan.too_late;
  }
  if (round.state == "failed") {
    event["reason"] = round.reason;
  } else {
    event["examples"] = round.examples;
    event["train_loss"] = or_null(round.train_loss);
    event["evaluation_loss"] = or_null(round.evaluation_loss);
    if (round.evaluation_mae) {  // the target is a number
      event["evaluation_mae"] = or_null(round.evaluation_mae);
      event["evaluation_r2"] = or_null(round.evaluation_r2);
    } else {
      event["train_accuracy"] = or_null(round.train_accuracy);
      event["evaluation_accuracy"] = or_null(round.evaluation_accuracy);
    }
    if (!round.evaluation_heads.empty()) event["evaluation_heads"] = to_json(round.evaluation_heads);
    event["train_seconds"] = or_null(std::optional(round.train_seconds));
    if (round.watch) event["watch"] = to_json(*round.watch);
  }
  return event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string told(const DemoResult& result, const SimulationStory& tally, double seconds, uint32_t mean_of_last) {
  const std::string mean =
      mean_of_last > 1 ? "  (of the mean of the last " + counted(mean_of_last, "model") + ")\n" : std::string();
  return "\nHeld-out " + score_text(result.after, result) + " (" + score_text(result.before, result) +
         " before training)\n" + mean + heads_text(result.after.heads) + width_lines(result) + note_line(result) +
         own_lines(tally.own, result) + "  drawn " + format_count(tally.drawn) + ": counted " +
         format_count(tally.counted) + ", lost " + format_count(tally.lost) + rest_of(tally) + "\n  " +
         format_seconds(seconds) + ", " +
         format_fixed(static_cast<double>(tally.counted) / std::max(seconds, 1e-9), 1) + " clients a second; " +
         format_seconds(tally.virtual_seconds) + " of virtual time\n  model " + result.model_digest + "\n\nIn " +
         result.run_dir + "\n  model.cotf chart.svg chart.html metrics.csv held-out.cotf summary.json\n";
}

}  // namespace coterie
