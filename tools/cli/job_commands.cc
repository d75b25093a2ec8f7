#include "tools/cli/job_commands.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "scheduler/job/noisy_hits.h"
#include "tools/admin/analytics_report.h"
#include "tools/admin/evaluation_report.h"
#include "tools/admin/follow_events.h"
#include "tools/admin/round_report.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/privacy_budget.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/demo/round_watch.h"
#include "tools/ranges/range_answer.h"

namespace coterie {
namespace {

// Uploads a file and puts its digest under `key` of the job.
Status attach(AdminClient& admin, const std::string& path, const std::string& target, const char* key,
              nlohmann::json& job) {
  if (path.empty()) return {};
  COT_ASSIGN(const Bytes file, read_input(path));
  const Result<nlohmann::json> answer = admin.upload(target, file);
  if (!answer) return answer.error().with_context(path);
  job[key] = answer->value("digest", "");
  return {};
}

std::string optional_percent(const std::optional<double>& ratio) { return ratio ? format_percent(*ratio) : "-"; }
std::string optional_digits(const std::optional<double>& value) { return value ? format_digits(*value) : "-"; }
std::string optional_loss(const std::optional<double>& loss) { return loss ? format_fixed(*loss, 3) : "-"; }

void print_rounds(const RoundsPage& page) {
  using enum Table::Align;
  const bool has_numbers =
      std::ranges::any_of(page.rounds, [](const auto& round) { return round.evaluation_mae.has_value(); });
  std::vector<Table::Column> columns = {{"ROUND", right},   {"ATTEMPT", right},    {"STATE"},
                                        {"UPDATES", right}, {"TRAIN LOSS", right}, {"LOSS", right}};
  if (has_numbers) columns.insert(columns.end(), {{"MAE", right}, {"R2", right}});
  else columns.push_back({"ACCURACY", right});
  columns.insert(columns.end(), {{"TIME", right}, {"REASON"}});
  Table table(columns);
  for (const RoundReport& round : page.rounds) {
    std::vector<std::string> cells = {std::to_string(round.number),
                                      std::to_string(round.attempt),
                                      round.state,
                                      std::to_string(round.accepted) + "/" + std::to_string(round.goal_count),
                                      optional_loss(round.train_loss),
                                      optional_loss(round.evaluation_loss)};
    if (has_numbers)
      cells.insert(cells.end(), {optional_digits(round.evaluation_mae), optional_loss(round.evaluation_r2)});
    else cells.push_back(optional_percent(round.evaluation_accuracy));
    cells.insert(cells.end(), {round.has_ended() ? format_seconds(round.seconds) : "-", round.reason});
    table.add(std::move(cells));
  }
  print_text(table.text());
}

// What each head has come to by the newest round that was evaluated; nothing, where the training has none.
void print_heads(const RoundsPage& page) {
  const auto judged =
      std::ranges::find_if(page.rounds, [](const auto& round) { return !round.evaluation_heads.empty(); });
  if (judged == page.rounds.end()) return;
  using enum Table::Align;
  Table table({{"HEAD"}, {"LOSS", right}, {"ACCURACY", right}, {"MAE", right}});
  for (const EvaluatedHead& head : judged->evaluation_heads) {
    table.add(
        {printable(head.output), optional_loss(head.loss), optional_percent(head.accuracy), optional_digits(head.mae)});
  }
  print_text("\nheads of round " + std::to_string(judged->number) + ":\n\n" + table.text());
}

// What devices of the newest watched round found; nothing, where none was watched.
void print_watch(const RoundsPage& page) {
  const auto watched = std::ranges::find_if(page.rounds, [](const auto& round) { return round.watch.has_value(); });
  if (watched == page.rounds.end()) return;
  const WatchOutcome& outcome = *watched->watch;
  // What noise makes of a share may be none.
  const auto shown = [&](double share) {
    const std::string within = format_percent(std::clamp(share, 0.0, 1.0));
    return outcome.error > 0 ? within + " +- " + format_percent(outcome.error) : within;
  };
  std::string text = "watch of round " + std::to_string(watched->number) + ": devices with " + shown(outcome.looked) +
                     " of its weight looked at a step; ";
  Table table({{"CHECK"}, {"LAYER"}, {"SHARE", Table::Align::right}});
  size_t hits = 0;
  for (const WatchShare& hit : outcome.hits) {
    if (!stands_out(outcome, hit.share)) continue;
    ++hits;
    table.add({printable(hit.check), hit.layer.empty() ? "-" : printable(hit.layer), shown(hit.share)});
  }
  text += hits == 0 ? "nothing found" : counted(hits, "hit");
  if (hits < outcome.hits.size()) {
    text += "; the noise hides what is on fewer than " + format_percent(std::min(1.0, kHitErrorsMin * outcome.error));
  }
  print_text("\n" + wrapped(text, 80, 2) + (hits == 0 ? "\n" : "\n\n" + table.text()));
}

// A job in one line each: what it is, how far it is, how it trains.
void print_job(const nlohmann::json& job) {
  const auto line = [&](const char* title, const std::string& text) {
    print_text(std::string(title) + std::string(12 - std::string_view(title).size(), ' ') + printable(text) + "\n");
  };
  const auto at = [&](const char* pointer) { return cell_of(job, pointer); };
  line("job", at("/id"));
  line("name", at("/spec/name"));
  line("state", at("/state") + (job.contains("reason") ? ": " + at("/reason") : ""));
  line("rounds",
       at("/rounds_done") + " of " + at("/spec/rounds/count") + ", " + at("/spec/rounds/goal_count") + " updates each");
  line("population", at("/spec/population"));
  if (job.contains("/spec/analytics"_json_pointer)) {
    const std::string column = at("/spec/analytics/column");
    line("counts", at("/spec/analytics/kind") + (column == "-" ? "" : " of " + column) + ", " +
                       at("/spec/analytics/values_max") +
                       " values of a device at most; `coterie job result` shows them");
  } else {
    line("training", at("/spec/training/optimizer/kind") + ", learning rate " +
                         at("/spec/training/optimizer/learning_rate") + ", " + at("/spec/training/local_epochs") +
                         " epochs of batches of " + at("/spec/training/batch_size"));
    line("strategy", at("/spec/strategy/kind") + ", server learning rate " + at("/spec/strategy/server_learning_rate"));
  }
  if (job.contains("/spec/update/weight_share_max"_json_pointer)) {
    line("weights", "one device has at most " + at("/spec/update/weight_share_max") + " of a round");
  }
  if (job.contains("rates")) {
    const auto kind = [&](const char* pointer) {
      return job.contains(nlohmann::json::json_pointer(pointer)) ? at(pointer) : std::string("constant");
    };
    line("rates", "in round " + at("/rates/round") + ": " + at("/rates/learning_rate") + " (" +
                      kind("/spec/training/schedule/kind") + "), server " + at("/rates/server_learning_rate") + " (" +
                      kind("/spec/strategy/schedule/kind") + ")");
  }
  if (job.contains("clip_norm")) {
    line("clip", at("/clip_norm") + " in the next round, from " + at("/spec/update/clip_l2") + "; it follows the " +
                     at("/spec/privacy/adaptive_clip/quantile") + " quantile of the updates' norms");
  }
  if (job.contains("proximal_mu")) {
    line("mu",
         at("/proximal_mu") + " in the next round; it follows the loss, up to " + at("/spec/training/adaptive_mu/max"));
  }
  if (job.contains("privacy")) {
    line("privacy", "epsilon " + at("/privacy/epsilon") + " of " + at("/privacy/epsilon_budget") + " at delta " +
                        at("/privacy/delta") + "; `coterie privacy show` says under which assumptions");
  }
  for (const nlohmann::json& population : job.value("/privacy/populations"_json_pointer, nlohmann::json::array())) {
    line("budget of", population_words(population));
  }
  line("parameters", at("/value_count"));
  if (job.contains("trained_value_count")) line("in updates", at("/trained_value_count") + ", the trained ones");
  line("model", at("/spec/model"));
  line("evaluation", at("/spec/evaluation"));
  if (job.contains("released")) line("released", "version " + at("/released/version"));
  line("created", short_time(at("/created")));
}

// Said when a job with noise begins: nothing of its own stops what comes after it.
void note_missing_budget(const nlohmann::json& job) {
  for (const nlohmann::json& one : job.value("/privacy/populations"_json_pointer, nlohmann::json::array())) {
    if (one.value("epsilon_budget", nlohmann::json()).is_number()) continue;
    print_text("population " + printable(cell_of(one, "/population")) +
               " has no privacy budget: nothing limits what further jobs add (`coterie privacy budget`)\n");
  }
}

}  // namespace

Result<nlohmann::json> read_job_document(const std::string& path) {
  COT_ASSIGN(const Bytes text, read_input(path));
  Problems problems;
  std::optional<nlohmann::json> job = parse_json(as_text(text), problems);  // as the server reads it: no key twice
  if (!job) return Error(ErrorCode::invalid_argument, path + ": " + problems.front().detail);
  if (job->is_object()) return *std::move(job);
  return Error(ErrorCode::invalid_argument, path + ": a job is a JSON object");
}

ExitCode create_job(const AdminCommand& command, const JobFiles& files) {
  return with_admin(command, "job create", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(nlohmann::json job, read_job_document(files.job));
    const std::string kind = cell_of(job, "/analytics/kind");
    const bool evaluates = kind == "evaluation", runs_model = evaluates || kind == "activation_ranges";
    if (!evaluates && !files.before.empty()) {
      return Error(ErrorCode::invalid_argument, "--before is of a job whose analytics are of kind evaluation");
    }
    // What devices run; the job's own model is its table.
    nlohmann::json& named = runs_model ? job["analytics"] : job;
    COT_TRY(attach(admin, files.model, "models", "model", named));
    COT_TRY(attach(admin, files.before, "models", "before", named));
    COT_TRY(attach(admin, files.evaluation, "datasets", "evaluation", job));
    if (!files.strategy.empty()) {
      nlohmann::json& strategy = job["strategy"];
      // Anything else is for the server to refuse, which says what it should be.
      if (strategy.is_null() || strategy.is_object()) strategy["kind"] = files.strategy;
    }
    const Result<nlohmann::json> created = admin.post("jobs", job);
    if (!created) return created.error().with_context(files.job);
    const std::string id = printable(cell_of(*created, "/id"));
    if (command.wants_json()) print_json(*created);
    else print_text("job " + id + " runs; follow it with `" + next_command(command, "job watch " + id) + "`\n");
    if (!command.wants_json()) note_missing_budget(*created);
    return {};
  });
}

ExitCode list_jobs(const AdminCommand& command, const JobListOptions& options) {
  return with_admin(command, "job list", [&](AdminClient& admin) -> Status {
    std::string target = "jobs?limit=1000";
    if (!options.state.empty()) target += "&state=" + path_segment(options.state);
    if (!options.population.empty()) target += "&population=" + path_segment(options.population);
    COT_ASSIGN(const nlohmann::json answer, admin.get_pages(target, "jobs"));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    Table table({{"JOB"}, {"NAME"}, {"STATE"}, {"ROUNDS", Table::Align::right}, {"CREATED"}});
    for (const nlohmann::json& job : answer.value("jobs", nlohmann::json::array())) {
      table.add({cell_of(job, "/id"), cell_of(job, "/spec/name"), cell_of(job, "/state"),
                 cell_of(job, "/rounds_done") + "/" + cell_of(job, "/spec/rounds/count"),
                 short_time(cell_of(job, "/created"))});
    }
    print_text(table.empty()
                   ? "no jobs; create one with `" + next_command(command, "job create FILE.json --model FILE") + "`\n"
                   : table.text());
    return {};
  });
}

ExitCode show_job(const AdminCommand& command, const std::string& job) {
  return with_admin(command, "job show", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get("jobs/" + path_segment(job)));
    if (command.wants_json()) print_json(answer);
    else print_job(answer);
    return {};
  });
}

ExitCode show_result(const AdminCommand& command, const std::string& job, const std::string& svg) {
  return with_admin(command, "job result", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get("jobs/" + path_segment(job) + "/result"));
    if (is_range_answer(answer)) {
      if (!svg.empty()) {
        return Error(ErrorCode::invalid_argument, "--svg is of other jobs: ranges are for `coterie model quantise`");
      }
      COT_ASSIGN(const std::string text, ranges_text(answer));
      if (command.wants_json()) print_json(answer);
      else print_text(text);
      return {};
    }
    if (is_evaluation(answer)) {
      COT_ASSIGN(const std::string text, evaluation_text(answer));
      if (!svg.empty()) {
        COT_ASSIGN(const std::string drawn, draw_evaluation(answer));
        COT_TRY(os::write_file_atomically(svg, as_bytes(drawn), os::Durability::content));
      }
      if (command.wants_json()) print_json(answer);
      else print_text(text);
      return {};
    }
    COT_ASSIGN(const AnalyticsReport report, parse_analytics(answer));
    if (!svg.empty())
      COT_TRY(os::write_file_atomically(svg, as_bytes(draw_analytics(report)), os::Durability::content));
    if (command.wants_json()) print_json(answer);
    else print_text(analytics_text(report));
    return {};
  });
}

ExitCode list_rounds(const AdminCommand& command, const std::string& job, uint32_t limit) {
  return with_admin(command, "job rounds", [&](AdminClient& admin) -> Status {
    const std::string target = "jobs/" + path_segment(job) + "/rounds?limit=" + std::to_string(limit);
    COT_ASSIGN(const nlohmann::json answer, admin.get(target));
    COT_ASSIGN(const RoundsPage page, parse_rounds(answer));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    print_rounds(page);
    print_heads(page);
    print_watch(page);
    return {};
  });
}

ExitCode save_round_trace(const AdminCommand& command, const std::string& job, uint64_t round,
                          const std::string& file) {
  return with_admin(command, "job trace", [&](AdminClient& admin) -> Status {
    const std::string query = round == 0 ? "" : "?round=" + std::to_string(round);
    COT_ASSIGN(const Bytes trace, admin.download("jobs/" + path_segment(job) + "/trace" + query));
    COT_TRY(os::write_file_atomically(file, trace, os::Durability::content));
    print_text(printable(file) + ": " + std::to_string(trace.size()) + " bytes; open it at ui.perfetto.dev\n");
    return {};
  });
}

ExitCode change_job(const AdminCommand& command, const std::string& job, const std::string& verb) {
  return with_admin(command, "job " + verb, [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.post("jobs/" + path_segment(job) + ":" + verb));
    if (command.wants_json()) print_json(answer);
    else print_text("job " + printable(cell_of(answer, "/id")) + " is " + printable(cell_of(answer, "/state")) + "\n");
    return {};
  });
}

ExitCode delete_job(const AdminCommand& command, const std::string& job) {
  return with_admin(command, "job delete", [&](AdminClient& admin) -> Status {
    COT_TRY(admin.remove("jobs/" + path_segment(job)));
    print_text("job " + printable(job) + " is removed\n");
    return {};
  });
}

ExitCode watch_job(const AdminCommand& command, const std::string& job) {
  return with_admin(command, "job watch", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get("jobs/" + path_segment(job)));
    const nlohmann::json::json_pointer count("/spec/rounds/count");
    const uint64_t rounds =
        answer.contains(count) && answer.at(count).is_number_unsigned() ? answer.at(count).get<uint64_t>() : 1;
    ProgressLine progress(stdout, false);
    RoundWatch watch([&](const std::string& target) { return admin.get(target); }, job, rounds, progress);
    const std::string events = "jobs/" + path_segment(job) + "/events";
    const EventsFrom from{
        .read = [&](const std::string& last_id, const auto& sink) { return admin.stream(events, last_id, sink); },
        .wait = &Interrupt::wait,
        .now = &os::monotonic_now};
    COT_TRY(
        follow_events(from, [&](const std::vector<SentEvent>& told) { return watch.hear(told, os::monotonic_now()); }));
    return watch.check_completed();
  });
}

}  // namespace coterie
