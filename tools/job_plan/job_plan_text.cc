#include "tools/job_plan/job_plan_text.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "fl_server/json/readable_float.h"
#include "proto/messages/width_share.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

std::string format_operations(double operations) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  for (const auto& [unit, name] : kUnits) {
    if (operations >= unit) return format_digits(operations / unit) + name + "FLOP";
  }
  return format_digits(operations) + " FLOP";
}

class Lines {
 public:
  void heading(const std::string& text) { text_ += (text_.empty() ? "" : "\n") + printable(text) + "\n"; }
  void line(const std::string& title, const std::string& text) {
    constexpr size_t kTitleWidth = 12;
    text_ += "  " + title + std::string(kTitleWidth - title.size(), ' ') + text + "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_device(const DevicePlan& device, Lines& lines) {
  lines.heading("A device in a round");
  lines.line("down", format_bytes(device.down_bytes) +
                         (device.counts         ? ": the table and the plan"
                          : device.clusters > 1 ? ": " + format_count(device.clusters) + " models and the plan"
                                                : ": the model and the plan"));
  if (device.delta_down_bytes < device.down_bytes) {
    lines.line("", "(" + format_bytes(device.delta_down_bytes) + " at most by a delta, after a round it was in)");
  }
  lines.line("up", format_bytes(device.up_bytes) + (device.counts         ? ": its counts"
                                                    : device.clusters > 1 ? ": its update, with a slot for each"
                                                                          : ": its update"));
  if (device.counts) {
    lines.line("memory", format_bytes(device.memory_bytes) + " to count");
    lines.line("counts", counted(device.examples, "example") + " of its own");
    if (device.answers > 0) lines.line("answers", format_count(device.answers) + " of the model, to count them");
    return;
  }
  if (device.own_bytes > 0) lines.line("keeps", format_bytes(device.own_bytes) + " of its own, which it never sends");
  lines.line("memory", format_bytes(device.memory_bytes) + " to train, " + counted(device.micro_batch_size, "example") +
                           " at a time");
  lines.line("arithmetic",
             format_operations(device.operations) + " for " + counted(device.examples, "example") + " of all epochs");
  for (const WidthPlan& width : device.widths) {
    lines.line("width", format_digits(share_of(width.width)) + ": " + format_bytes(width.memory_bytes) + " to train " +
                            counted(width.values, "value") + ", " + format_operations(width.operations));
  }
}

void add_cohort(const CohortPlan& cohort, const PlannedRound& round, Lines& lines) {
  lines.line("cohorts", counted(cohort.cohorts, "sum") + " of at least " + counted(cohort.devices, "device"));
  lines.line("secrets", format_count(cohort.threshold) + " of " + counted(cohort.holders, "share") + " open one");
  lines.line("drop-out", counted(cohort.losses_max, "device") + " of a cohort may vanish" +
                             (cohort.is_complete ? "" : ", but for 1 round in 2^20"));
  const uint64_t counted_at_worst = uint64_t{cohort.devices - cohort.losses_max} * cohort.cohorts;
  if (counted_at_worst < round.goal_min) {
    lines.line("", "(if so many do, " + counted(counted_at_worst, "update") + " are left: too few)");
  }
}

void add_rule(const RulePlan& rule, uint32_t cohorts, Lines& lines) {
  lines.line("rule", "withstands " + counted(rule.withstands, "cohort") + " with liars of " + format_count(cohorts));
  lines.line("liars", counted(rule.liars, "device") + " of a round: " + format_fixed(rule.spoiled, 1) +
                          " cohorts on average; one more, and it is " + format_fixed(rule.spoiled_by_more, 1));
}

void add_spending(const SpendingPlan& spending, uint64_t rounds, Lines& lines) {
  const double epsilon = spending.epsilon;
  lines.line("epsilon", (std::isfinite(epsilon) ? format_digits(epsilon) : "without bound") + " for " +
                            counted(rounds, "round") + ", at delta " + format_digits(spending.delta));
  lines.line("budget", "epsilon " + format_digits(spending.epsilon_budget) + ": " + counted(spending.rounds, "round"));
}

}  // namespace

std::string job_plan_text(const JobPlan& plan) {
  Lines lines;
  lines.heading(plan.name);
  lines.line("rounds", format_count(plan.rounds) + " of " + counted(plan.round.goal, "update"));
  lines.line("privacy", std::string(to_string(plan.level)) + (plan.spending ? ", with noise" : ""));
  if (plan.mu) {
    lines.line("mu", format_digits(static_cast<double>(plan.mu->first)) + " in round 1, then by the loss, up to " +
                         format_digits(static_cast<double>(plan.mu->most)));
  }
  add_device(plan.device, lines);
  lines.heading("A round");
  lines.line("devices", format_count(plan.round.tickets) +
                            (plan.device.counts ? " get the table, " : " get the model, ") +
                            format_count(plan.round.goal) + " count, at least " + format_count(plan.round.goal_min));
  lines.line("down", format_bytes(plan.round.down_bytes));
  lines.line("up", format_bytes(plan.round.up_bytes));
  if (plan.round.kept_bytes > 0) {
    lines.line("kept", "up to " + format_bytes(plan.round.kept_bytes) + " of updates until it is done");
  }
  if (plan.round.cohort) add_cohort(*plan.round.cohort, plan.round, lines);
  if (plan.round.rule) add_rule(*plan.round.rule, plan.round.cohort->cohorts, lines);
  const bool is_cut = plan.rounds_done() < plan.rounds;
  lines.heading(is_cut ? "All rounds: " + format_count(plan.rounds_done()) + ", then the budget is spent"
                       : "All rounds");
  if (plan.population_min > 0) {
    lines.line("devices", format_count(plan.population_min) + " at least: who is counted rests for some rounds");
  }
  lines.line("down", format_bytes(plan.down_bytes));
  lines.line("up", format_bytes(plan.up_bytes));
  if (plan.spending) add_spending(*plan.spending, plan.rounds, lines);
  return lines.take();
}

nlohmann::json job_plan_json(const JobPlan& plan) {
  nlohmann::json round = {{"tickets", plan.round.tickets},         {"goal_count", plan.round.goal},
                          {"goal_count_min", plan.round.goal_min}, {"down_bytes", plan.round.down_bytes},
                          {"up_bytes", plan.round.up_bytes},       {"kept_bytes", plan.round.kept_bytes}};
  if (plan.round.cohort) {
    const CohortPlan& cohort = *plan.round.cohort;
    round["cohort"] = {{"count", cohort.cohorts},
                       {"devices", cohort.devices},
                       {"holders", cohort.holders},
                       {"threshold", cohort.threshold},
                       {"losses_max", cohort.losses_max}};
  }
  if (plan.round.rule) {
    round["rule"] = {{"withstands", plan.round.rule->withstands},
                     {"liars", plan.round.rule->liars},
                     {"spoiled", plan.round.rule->spoiled},
                     {"spoiled_by_one_more", plan.round.rule->spoiled_by_more}};
  }
  nlohmann::json json = {{"schema", "coterie.job_plan.v1"},
                         {"name", plan.name},
                         {"level", to_string(plan.level)},
                         {"rounds", plan.rounds},
                         {"device",
                          {{"down_bytes", plan.device.down_bytes},
                           {"delta_down_bytes", plan.device.delta_down_bytes},
                           {"up_bytes", plan.device.up_bytes},
                           {"own_bytes", plan.device.own_bytes},
                           {"memory_bytes", plan.device.memory_bytes},
                           {"examples", plan.device.examples},
                           {"operations", plan.device.operations}}},
                         {"round", std::move(round)},
                         {"down_bytes", plan.down_bytes},
                         {"up_bytes", plan.up_bytes}};
  if (plan.device.answers > 0) json["device"]["answers"] = plan.device.answers;
  if (plan.device.clusters > 1) json["device"]["clusters"] = plan.device.clusters;
  for (const WidthPlan& width : plan.device.widths) {
    json["device"]["widths"].push_back({{"width", share_of(width.width)},
                                        {"values", width.values},
                                        {"memory_bytes", width.memory_bytes},
                                        {"operations", width.operations}});
  }
  if (plan.population_min > 0) json["population_min"] = plan.population_min;
  if (plan.mu) json["mu"] = {{"first", readable(plan.mu->first)}, {"max", readable(plan.mu->most)}};
  if (plan.spending) {
    const bool is_finite = std::isfinite(plan.spending->epsilon);
    json["privacy"] = {{"epsilon", is_finite ? nlohmann::json(plan.spending->epsilon) : nullptr},
                       {"epsilon_budget", plan.spending->epsilon_budget},
                       {"delta", plan.spending->delta},
                       {"rounds", plan.spending->rounds}};
  }
  return json;
}

}  // namespace coterie
