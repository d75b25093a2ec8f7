#include "tools/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "scheduler/job/aggregation_rules.h"
#include "secure/crypto/digest.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/data/shard_folder.h"
#include "tools/demo/demo_data.h"
#include "tools/demo/download_bytes.h"
#include "tools/demo/progress.h"
#include "tools/demo/result.h"
#include "tools/demo/update_bytes.h"
#include "tools/model/evaluate.h"
#include "tools/simulate/job_file.h"
#include "tools/simulate/simulation.h"
#include "tools/tensorboard/event_log.h"
#include "tools/tensorboard/round_scalars.h"

namespace coterie {
namespace {

constexpr uint64_t kTraceBytesMax = 1 << 28;
constexpr uint32_t kShardsMax = 2000;  // as the demo's data have at most (tools/demo/demo_data.cc)

double seconds_since(Instant begin) { return std::chrono::duration<double>(os::monotonic_now() - begin).count(); }

struct Inputs {
  JobSettings job;
  DemoData data;
  VirtualFleet fleet;
};

// The job names its files by digest: it is simulated with these and no others, or the result would be of another job.
Status check_digests(const HorizontalSettings& job, const DemoData& data, const std::string& job_file) {
  const Digest model = content_digest(data.model), held_out = content_digest(data.held_out);
  if (job.model != model) {
    return Error(ErrorCode::conflict, job_file + ": /model is " + job.model.hex() +
                                          ", and the model of --model, --data " + "and --seed is " + model.hex() +
                                          "; give the model file that the job names, or the seed it was made with");
  }
  if (!job.evaluation || *job.evaluation == held_out) return {};
  return Error(ErrorCode::conflict, job_file + ": /evaluation is " + job.evaluation->hex() +
                                        ", and what --data, --split and --seed hold out is " + held_out.hex());
}

Result<Inputs> prepare(const SimulateOptions& options, const JobSettings& settings) {
  Inputs inputs;
  inputs.job = settings;
  HorizontalSettings& job = inputs.job.horizontal();
  if (options.rounds > 0) job.rounds.count = options.rounds;
  if (options.devices < job.rounds.goal_count_min) {
    return Error(ErrorCode::invalid_argument, "--devices " + std::to_string(options.devices) +
                                                  " are fewer than the job's goal_count_min " +
                                                  std::to_string(job.rounds.goal_count_min));
  }
  if (options.demo.devices_given && options.demo.devices > kShardsMax) {
    return Error(ErrorCode::invalid_argument, "--devices " + std::to_string(options.devices) +
                                                  " share out the data into more than " + std::to_string(kShardsMax) +
                                                  " parts: give --shards, and devices share them");
  }
  if (options.attack.is_on() && job.update.compression.is_on()) {
    return Error(ErrorCode::invalid_argument,
                 "--attack does not go with update.compression of the job: liars send what "
                 "was not rounded");
  }
  COT_ASSIGN(inputs.data, prepare_data(options.demo));
  COT_ASSIGN(const ModelValues values, model_values(inputs.data, job.training));
  if (const Problems kept = validate_kept_updates(job, values.step_count()); !kept.empty()) {
    return Error(ErrorCode::invalid_argument, options.job_file + ": " + listed(kept));
  }
  if (flips_labels(options.attack.kind) && inputs.data.contract.target.classes.empty()) {
    return Error(ErrorCode::invalid_argument, "--attack " + to_string(options.attack) + " needs data with classes");
  }
  if (options.adopts_files) {
    job.model = content_digest(inputs.data.model);
    job.evaluation = content_digest(inputs.data.held_out);
  }
  COT_TRY(check_digests(job, inputs.data, options.job_file));
  std::vector<uint64_t> sizes;
  for (const std::vector<uint32_t>& counts : inputs.data.label_counts) {
    uint64_t examples = 0;
    for (const uint32_t count : counts) examples += count;
    sizes.push_back(examples);
  }
  inputs.fleet.devices = options.devices;
  inputs.fleet.seed = options.demo.seed;
  inputs.fleet.speed_spread = options.speed_spread;
  inputs.fleet.dropout = options.dropout;
  inputs.fleet.examples_of = [sizes](uint32_t device) { return sizes[device % sizes.size()]; };
  if (options.trace_file.empty()) return inputs;
  COT_ASSIGN(const Bytes trace, os::read_file(options.trace_file, kTraceBytesMax));
  Result<DropTrace> parsed = DropTrace::parse(as_text(trace), options.devices);
  if (!parsed) return parsed.error().with_context(options.trace_file);
  inputs.fleet.trace = std::move(*parsed);
  return inputs;
}

// How the demo would have put it, for its files.
DemoOptions demo_options(const SimulateOptions& options, const Inputs& inputs) {
  const HorizontalSettings& job = inputs.job.horizontal();
  DemoOptions demo = settled(options.demo, inputs.data);
  demo.devices = options.devices;
  demo.rounds = job.rounds.count;
  demo.fraction = std::min(1.0, static_cast<double>(job.rounds.goal_count) / options.devices);
  demo.learning_rate = static_cast<double>(job.training.optimizer.learning_rate);
  demo.momentum = static_cast<double>(job.training.optimizer.momentum);
  demo.local_epochs = job.training.local_epochs;
  demo.batch_size = job.training.batch_size;
  demo.loss = job.training.loss;
  demo.strategy = job.strategy.rule;
  demo.security = job.privacy.level;
  demo.dropout = options.dropout;
  return demo;
}

struct Tally {
  uint64_t drawn = 0, counted = 0, lost = 0, late = 0, surplus = 0;
  double virtual_seconds = 0;
  void add(const VirtualRound& round) {
    drawn += round.drawn;
    counted += round.counted.size();
    lost += round.lost;
    late += round.late;
    surplus += round.surplus;
    virtual_seconds += round.seconds;
  }
};

bool is_of_numbers(const DemoResult& result) { return result.options.target == TargetKind::values; }

template <typename T>
nlohmann::ordered_json or_null(std::optional<T> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

// "accuracy 91.3 %", or of numbers "R2 0.812".
std::string score_text(const ModelScore& score, bool is_of_numbers) {
  if (is_of_numbers) return "R2 " + format_fixed(score.r2.value_or(NAN), 3);
  return "accuracy " + format_percent(score.accuracy);
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
}

nlohmann::ordered_json summary_of(const DemoResult& result, const Tally& tally, const SimulateOptions& options,
                                  std::string_view aggregation, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(tally.counted) / seconds : 0;
  nlohmann::ordered_json json = {{"schema", "coterie.simulate.v1"},
                                 {"rounds", done_rounds(result).size()},
                                 {"attempts_failed", result.attempts.size() - done_rounds(result).size()},
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
                                 {"aggregation", aggregation},
                                 {"attack", to_string(options.attack)}};
  add_scores(json, result);
  json["update_bytes"] = result.update_bytes;
  json["download_bytes"] = result.download_bytes;
  json["model_digest"] = result.model_digest;
  json["run_dir"] = result.run_dir;
  return json;
}

// An attempt that ended, for programs: the words of metrics.csv.
void print_event(const RoundReport& round, const VirtualRound& plan) {
  nlohmann::ordered_json event = {{"event", "round_" + round.state},
                                  {"round", round.number},
                                  {"attempt", round.attempt},
                                  {"selected", round.selected},
                                  {"accepted", round.accepted},
                                  {"lost", plan.lost},
                                  {"late", plan.late},
                                  {"surplus", plan.surplus},
                                  {"seconds", or_null(std::optional(round.seconds))}};
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
    event["train_seconds"] = or_null(std::optional(round.train_seconds));
  }
  std::printf("%s\n", event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

class Run {
 public:
  Run(const SimulateOptions& options, const Inputs& inputs, const RunFolder& folder, ProgressLine& progress)
      : options_(options), inputs_(inputs), folder_(folder), progress_(progress) {}

  Status run(DemoResult& result);
  const Tally& tally() const { return tally_; }
  double seconds() const { return seconds_; }

 private:
  void watch(uint64_t done);
  Status note(const SimulatedRound& round, DemoResult& result);

  const SimulateOptions& options_;
  const Inputs& inputs_;
  const RunFolder& folder_;
  ProgressLine& progress_;
  Tally tally_;
  Instant begin_{};
  double seconds_ = 0;
  uint64_t round_ = 0;
  EventLog log_;
};

// Clients a second, and by them the time of the rounds that are left, each of as many clients as the job wants.
void Run::watch(uint64_t done) {
  const double seconds = seconds_since(begin_);
  const RoundSettings& rounds = inputs_.job.horizontal().rounds;
  const uint64_t so_far = tally_.counted + done, all = uint64_t{rounds.count} * rounds.goal_count;
  if (seconds <= 0 || so_far == 0) return;
  const double rate = static_cast<double>(so_far) / seconds;
  const double left = static_cast<double>(all - std::min(all, so_far)) / rate;
  progress_.show("round " + std::to_string(round_) + "/" + std::to_string(rounds.count) + "  " + std::to_string(done) +
                 " updates  " + format_fixed(rate, rate < 10 ? 1 : 0) + " clients/s  about " + format_seconds(left) +
                 " left");
}

Status Run::note(const SimulatedRound& round, DemoResult& result) {
  tally_.add(round.plan);
  result.attempts.push_back(round.report);
  for (const uint32_t device : round.plan.counted) ++result.rounds_trained[device % result.rounds_trained.size()];
  progress_.print(round_line(round.report, inputs_.job.horizontal().rounds.count, progress_.terminal()));
  if (options_.events) print_event(round.report, round.plan);
  return log_round(log_, round.report, std::nullopt, result.update_bytes);
}

Status Run::run(DemoResult& result) {
  const DemoData& data = inputs_.data;
  const HorizontalSettings& job = inputs_.job.horizontal();
  COT_ASSIGN(result.before, evaluate(data.model, data.held_out, loss_of(job.training)));
  COT_TRY(write_data(data, folder_));
  COT_ASSIGN(log_, EventLog::create(options_.demo.log_dir));
  COT_TRY(log_before(log_, result.before));
  std::vector<std::string> shard_files;
  for (uint32_t i = 1; i <= data.devices; ++i) shard_files.push_back(folder_.device_dir(i) + "/data.cotf");
  COT_ASSIGN(const ModelValues values, model_values(data, job.training));
  result.update_bytes = update_bytes(plan_of(job, JobId("simulated"), values));
  result.download_bytes = download_bytes(job.download, data.model);
  CohortTrainer trainer(std::move(shard_files), options_.demo.seed, options_.threads,
                        [this](uint64_t done) { watch(done); },
                        {options_.attack.kind, options_.attack.liars_of(options_.devices)});
  COT_ASSIGN(Simulation simulation,
             Simulation::begin(job, data.model, data.held_out, folder_.server_dir(), inputs_.fleet, trainer));
  result.rounds_trained.assign(data.devices, 0);
  begin_ = os::monotonic_now();
  while (simulation.rounds_done() < job.rounds.count) {
    round_ = simulation.rounds_done() + 1;
    COT_ASSIGN(const SimulatedRound round, simulation.attempt());
    COT_TRY(note(round, result));
  }
  seconds_ = seconds_since(begin_);
  progress_.clear();
  COT_ASSIGN(const Bytes model, simulation.model());
  COT_ASSIGN(result.after, evaluate(model, data.held_out, loss_of(job.training)));
  result.model_bytes = model.size();
  result.model_digest = content_digest(model).hex();
  COT_TRY(folder_.write("model.cotf", model));
  COT_TRY(folder_.write("metrics.csv", as_bytes(metrics_csv(result))));
  COT_TRY(folder_.write("chart.svg", as_bytes(draw_chart(chart_of(result)))));
  COT_TRY(folder_.write("chart.html", as_bytes(draw_chart_page(chart_of(result)))));
  return folder_.write("summary.json",
                       as_bytes(summary_of(result, tally_, options_, job.aggregation.name(), seconds_).dump(2) + "\n"));
}

std::string told(const DemoResult& result, const Tally& tally, double seconds) {
  return "\nHeld-out " + score_text(result.after, is_of_numbers(result)) + " (" +
         score_text(result.before, is_of_numbers(result)) + " before training)\n  drawn " + format_count(tally.drawn) +
         ": counted " + format_count(tally.counted) + ", lost " + format_count(tally.lost) + ", late " +
         format_count(tally.late) + ", surplus " + format_count(tally.surplus) + "\n  " + format_seconds(seconds) +
         ", " + format_fixed(static_cast<double>(tally.counted) / std::max(seconds, 1e-9), 1) + " clients a second; " +
         format_seconds(tally.virtual_seconds) + " of virtual time\n  model " + result.model_digest + "\n\nIn " +
         result.run_dir + "\n  model.cotf chart.svg chart.html metrics.csv held-out.cotf summary.json\n";
}

}  // namespace

ExitCode run_simulation(const SimulateOptions& asked, const JobSettings& job, const std::string& program,
                        ProgressLine& progress, SimulatedRun& run_done) {
  const auto give_up = [&](const Error& error, ExitCode code) {
    progress.clear();
    print_error("simulate", error);
    return code;
  };
  SimulateOptions options = asked;
  if (options.threads == 0) options.threads = std::max(1u, std::thread::hardware_concurrency());
  options.demo.devices = options.shards > 0 ? options.shards : options.devices;
  options.demo.devices_given = !is_shard_folder(options.demo.data);  // which has its own number of shards
  const Result<Inputs> inputs = prepare(options, job);
  if (!inputs) return give_up(inputs.error(), ExitCode::usage);
  Result<RunFolder> folder = options.demo.out.empty() ? RunFolder::create_default(options.demo.keep)
                                                      : RunFolder::create(options.demo.out, options.demo.keep);
  if (!folder) return give_up(folder.error(), ExitCode::usage);

  DemoResult result;
  result.options = demo_options(options, *inputs);
  result.program = program;
  result.run_dir = folder->path();
  result.data_name = printable(inputs->data.name());
  result.model_name = inputs->data.model_name;
  result.class_names = inputs->data.contract.target.classes;
  result.training_examples = inputs->data.training_examples;
  result.held_out_examples = inputs->data.held_out_examples;
  result.label_counts = inputs->data.label_counts;
  Run run(options, *inputs, *folder, progress);
  const Status done = run.run(result);
  if (done) {
    folder->finished();
    run_done = {
        .score = score_text(result.after, is_of_numbers(result)),
        .seconds = run.seconds(),
        .summary = summary_of(result, run.tally(), options, job.horizontal().aggregation.name(), run.seconds()).dump(),
        .told = told(result, run.tally(), run.seconds())};
    return ExitCode::ok;
  }
  if (done.error().code() == ErrorCode::cancelled) {
    folder->interrupted();
    return ExitCode::interrupted;
  }
  folder->failed();
  return give_up(done.error(), done.error().code() == ErrorCode::timed_out ? ExitCode::timeout : ExitCode::failure);
}

ExitCode run_simulate(const SimulateOptions& asked, const std::string& program) {
  std::FILE* const human = asked.demo.json || asked.events ? stderr : stdout;
  const Result<SimulatedJob> job = read_job(asked.job_file);
  if (!job) {
    print_error("simulate", job.error());
    return ExitCode::usage;
  }
  SimulateOptions options = asked;
  options.adopts_files = job->leaves_files_open;
  ProgressLine progress(human, options.demo.quiet);
  SimulatedRun done;
  const ExitCode code = run_simulation(options, job->settings, program, progress, done);
  progress.clear();
  if (code == ExitCode::interrupted) {
    std::fprintf(stderr, "coterie simulate: interrupted; nothing is left behind\n");
  }
  if (code != ExitCode::ok) return code;
  std::fputs(done.told.c_str(), human);
  if (options.demo.json) std::printf("%s\n", done.summary.c_str());
  return code;
}

}  // namespace coterie
