#include "tools/cli/job_tune.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "fl_server/json/job_json.h"
#include "fl_server/json/json_reader.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/random.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/job_commands.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/sweep/grid.h"
#include "tools/tune/tune_jobs.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr Millis kLookAgain{500};
constexpr int kSettingsColumns = 34;

std::optional<double> number_in(const json& in, const char* key) {
  const auto found = in.find(key);
  return found != in.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

class RestServer final : public TuneServer {
 public:
  RestServer(AdminClient& admin, std::string population) : admin_(admin), population_(std::move(population)) {}

  Result<std::vector<std::pair<std::string, std::string>>> names() override {
    COT_ASSIGN(const json answer, admin_.get_pages("jobs?limit=1000&population=" + path_segment(population_), "jobs"));
    std::vector<std::pair<std::string, std::string>> names;
    for (const json& job : answer.value("jobs", json::array()))
      names.emplace_back(cell_of(job, "/spec/name"), cell_of(job, "/id"));
    return names;
  }
  Result<std::string> create(const json& spec) override {
    COT_ASSIGN(const json job, admin_.post("jobs", spec));
    return cell_of(job, "/id");
  }
  Result<TuneJob> look(const std::string& id) override {
    COT_ASSIGN(const json job, admin_.get("jobs/" + path_segment(id)));
    return TuneJob{id, cell_of(job, "/state"), job.value("reason", "")};
  }
  Result<std::pair<ArmScore, std::string>> last_model(const std::string& id) override {
    COT_ASSIGN(const json answer, admin_.get_pages("jobs/" + path_segment(id) + "/models?limit=1000", "models"));
    const json models = answer.value("models", json::array());
    if (models.empty()) return Error(ErrorCode::malformed, "job " + printable(id) + " has no model");
    const json& model = models.back();
    return std::pair(ArmScore{.accuracy = number_in(model, "evaluation_accuracy"),
                              .mae = number_in(model, "evaluation_mae"),
                              .loss = number_in(model, "evaluation_loss")},
                     model.value("digest", ""));
  }
  Status wait() override { return Interrupt::wait(kLookAgain); }

 private:
  AdminClient& admin_;
  std::string population_;
};

// Everything that a tuning is made of.
struct TuneArms {
  std::vector<JobVariant> variants;
  std::vector<json> specs;
  std::string request;
};

Status upload(AdminClient& admin, const std::string& path, const char* target, const char* key, json& job) {
  if (path.empty()) return {};
  COT_ASSIGN(const Bytes file, read_input(path));
  const Result<json> answer = admin.upload(target, file);
  if (!answer) return answer.error().with_context(path);
  job[key] = answer->value("digest", "");
  return {};
}

Result<JobSettings> settings_of(const json& spec, const std::string& where) {
  Problems problems;
  JobSettings settings = job_settings_from_json(spec, problems);
  if (problems.empty()) return settings;
  return Error(ErrorCode::invalid_argument, where + ": " + listed(problems));
}

// What tuning cannot do, by name, before the first job is made.
Status check_arm(const json& spec, const std::string& where) {
  COT_TRY(settings_of(spec, where));
  const auto refuse = [&](const char* pointer, const std::string& why) -> Status {
    return Error(ErrorCode::invalid_argument, where + ": " + pointer + ": " + why);
  };
  for (const char* const pointer : {"/training/schedule", "/strategy/schedule"}) {
    if (spec.contains(json::json_pointer(pointer)))
      return refuse(pointer, "begins anew in each rung, as each is a job of its own; tune constant rates");
  }
  if (!spec.contains("evaluation")) {
    return refuse("/evaluation", "is missing: the held-out data judge the arms; give them with --evaluation");
  }
  return {};
}

Result<TuneArms> arms_of(const TuneOptions& options, const json& job) {
  TuneArms arms;
  std::vector<FieldValues> grid;
  std::vector<std::vector<FieldValue>> list;
  for (const std::string& text : options.grid) {
    COT_ASSIGN(FieldValues values, parse_field_values(text));
    grid.push_back(std::move(values));
  }
  for (const std::string& text : options.list) {
    COT_ASSIGN(std::vector<FieldValue> fields, parse_variant(text));
    list.push_back(std::move(fields));
  }
  COT_ASSIGN(arms.variants, variants_of(list, grid));
  json all = json::array();
  for (const JobVariant& variant : arms.variants) {
    for (const FieldValue& field : variant.fields) {
      for (const char* const own : {"name", "model", "evaluation", "population", "rounds.count"}) {
        if (field.path == own) {
          return Error(ErrorCode::invalid_argument,
                       std::string(own) + " is the same for all arms of a tuning: it cannot be one of the settings");
        }
      }
    }
    COT_ASSIGN(json spec, with_fields(job, variant.fields));
    COT_TRY(check_arm(spec, options.job + " with " + variant.name));
    all.push_back(spec);
    arms.specs.push_back(std::move(spec));
  }
  arms.request = content_digest(as_bytes(all.dump())).hex();
  return arms;
}

std::string new_id() {
  constexpr std::string_view kAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";
  std::string id = "t";
  for (const uint8_t byte : random_bytes(7)) id += kAlphabet[byte % kAlphabet.size()];
  return id;
}

std::string score_of(const std::optional<double>& value, bool is_percent) {
  if (!value) return "-";
  return is_percent ? format_percent(*value) : format_digits(*value);
}

// One line a run, the best rung last.
std::string table_of(const Tuning& tuning, const TuneArms& arms) {
  using enum Table::Align;
  bool has_numbers = false;
  for (const auto& rung : tuning.runs()) {
    for (const ArmRun& run : rung) has_numbers = has_numbers || run.score.mae.has_value();
  }
  Table table({{"ROUNDS", right},
               {"ARM", right},
               {has_numbers ? "MAE" : "ACCURACY", right},
               {"LOSS", right},
               {"JOB"},
               {"SETTINGS"}});
  for (size_t i = 0; i < tuning.runs().size(); ++i) {
    for (const ArmRun& run : tuning.runs()[i]) {
      const std::string settings = run.failure.empty() ? arms.variants[run.arm].name : run.failure;
      table.add({std::to_string(tuning.rungs()[i].rounds), std::to_string(run.arm + 1),
                 has_numbers ? score_of(run.score.mae, false) : score_of(run.score.accuracy, true),
                 score_of(run.score.loss, false), run.job.empty() ? "-" : run.job,
                 shortened(settings, kSettingsColumns)});
    }
  }
  return table.text();
}

// Standard error has the progress where standard output is for a program.
void print_run(const AdminCommand& command, const Tuning& tuning, const TuneArms& arms, size_t rung, size_t arm) {
  const auto& runs = tuning.runs()[rung];
  const ArmRun& run = *std::ranges::find(runs, arm, &ArmRun::arm);
  const std::string score = run.failure.empty() ? (run.score.accuracy ? score_of(run.score.accuracy, true)
                                                                      : "loss " + score_of(run.score.loss, false))
                                                : run.failure;
  const std::string line = "rung " + std::to_string(rung + 1) + "/" + std::to_string(tuning.rungs().size()) + "  arm " +
                           std::to_string(arm + 1) + "  " + score + "  " + arms.variants[arm].name;
  std::fprintf(command.wants_json() ? stderr : stdout, "%s\n", shortened(line, 79).c_str());
  std::fflush(command.wants_json() ? stderr : stdout);
}

Status print_outcome(const AdminCommand& command, const Tuning& tuning, const TuneArms& arms, uint64_t all_rounds) {
  const std::optional<ArmRun> best = tuning.best();
  if (command.wants_json()) {
    json out = tuning.to_json();
    out["settings"] = json::array();
    for (const JobVariant& variant : arms.variants) out["settings"].push_back(variant.name);
    out["rounds_spent"] = tuning.rounds_spent();
    if (best) out["best"] = best->arm;
    print_json(out);
  } else {
    print_text("\n" + table_of(tuning, arms) + "\n");
  }
  if (!best) return Error(ErrorCode::conflict, "all arms have failed: none is the best");
  if (!command.wants_json()) {
    print_text("best      arm " + std::to_string(best->arm + 1) + ": " + printable(arms.variants[best->arm].name) +
               "\nmodel     job " + printable(best->job) + ", its newest version\nspent     " +
               format_count(tuning.rounds_spent()) + " rounds of the " + format_count(all_rounds) +
               " that all arms take\n");
  }
  return {};
}

}  // namespace

ExitCode tune_job(const AdminCommand& command, const TuneOptions& options) {
  return with_admin(command, "job tune", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(json job, read_job_document(options.job));
    COT_TRY(upload(admin, options.model, "models", "model", job));
    COT_TRY(upload(admin, options.evaluation, "datasets", "evaluation", job));
    COT_ASSIGN(const TuneArms arms, arms_of(options, job));
    COT_ASSIGN(const JobSettings settings, settings_of(job, options.job));
    const uint32_t rounds = static_cast<uint32_t>(settings.horizontal().rounds.count);
    COT_ASSIGN(const std::vector<TuneRung> rungs, tune_rungs({.arms = arms.variants.size(),
                                                              .eta = options.eta,
                                                              .rounds_first = options.rounds_first,
                                                              .rounds_max = rounds,
                                                              .finishes = options.finishes}));
    COT_ASSIGN(Tuning tuning, open_tuning(options.state_file, new_id(), arms.request, rungs));
    RestServer server(admin, settings.common.population.value());
    const auto tell = [&](const Tuning& now, size_t rung, size_t arm) { print_run(command, now, arms, rung, arm); };
    const TuneRequest request{.state_file = options.state_file, .specs = arms.specs, .parallel = options.parallel};
    if (const Status done = run_tuning(tuning, request, server, tell); !done) {
      return done.error().with_context("the same command goes on with " + options.state_file);
    }
    return print_outcome(command, tuning, arms, uint64_t{rounds} * arms.variants.size());
  });
}

}  // namespace coterie
