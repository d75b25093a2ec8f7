#include "tools/simulate/simulate.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/evaluation/model_evaluator.h"
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
#include "tools/mlflow/mlflow_run.h"
#include "tools/mlflow/run_params.h"
#include "tools/model/evaluate.h"
#include "tools/simulate/agreement.h"
#include "tools/simulate/checkpoint.h"
#include "tools/simulate/counting.h"
#include "tools/simulate/inputs.h"
#include "tools/simulate/job_file.h"
#include "tools/simulate/last_models.h"
#include "tools/simulate/mpi/open_ranks.h"
#include "tools/simulate/rank_folder.h"
#include "tools/simulate/ranked_cohort.h"
#include "tools/simulate/simulation.h"
#include "tools/simulate/summary.h"
#include "tools/tensorboard/round_scalars.h"
#include "tools/tensorboard/scalar_log.h"

namespace coterie {
namespace {

double seconds_since(Instant begin) { return std::chrono::duration<double>(os::monotonic_now() - begin).count(); }

// How the demo would have put it, for its files.
DemoOptions demo_options(const SimulateOptions& options, const SimulationInputs& inputs) {
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
  demo.heads = job.training.heads;
  demo.personal = job.training.personal;
  demo.widths = job.training.widths;
  demo.watch = job.training.watch;
  demo.adaptive_mu = job.adaptive_mu;
  demo.strategy = job.strategy.rule;
  demo.security = job.privacy.level;
  demo.dropout = options.dropout;
  return demo;
}

void add(const VirtualRound& round, SimulationStory& tally) {
  tally.drawn += round.drawn;
  tally.counted += round.counted.size();
  tally.lost += round.lost;
  tally.late += round.late;
  tally.surplus += round.surplus;
  tally.virtual_seconds += round.seconds;
  tally.shares.add(round.counted);
}

class Run {
 public:
  Run(const SimulateOptions& options, const SimulationInputs& inputs, const RunFolder& folder, ProgressLine& progress,
      Ranks& ranks)
      : options_(options),
        inputs_(inputs),
        folder_(folder),
        progress_(progress),
        ranks_(ranks),
        last_models_(options.mean_of_last) {
    tally_.shares = CountedShares(options.devices);
  }

  Status run(DemoResult& result);
  const SimulationStory& tally() const { return tally_; }
  double seconds() const { return seconds_; }
  uint64_t rounds_kept() const { return rounds_kept_; }  // of the last checkpoint

 private:
  void watch(uint64_t done);
  Status judge_mean(const Simulation& simulation, RoundReport& report);
  Result<Bytes> judged_model(const Simulation& simulation) const;
  Status note(const SimulatedRound& round, DemoResult& result);
  Status go_on(const Checkpoint& checkpoint, Simulation& simulation, CohortTrainer& trainer, DemoResult& result);
  Status leave(const Simulation& simulation, DemoResult& result) const;
  bool tells() const { return ranks_.rank() == 0; }

  const SimulateOptions& options_;
  const SimulationInputs& inputs_;
  const RunFolder& folder_;
  ProgressLine& progress_;
  Ranks& ranks_;
  SimulationStory tally_;
  Instant begin_{};
  double seconds_ = 0;
  uint64_t round_ = 0, rounds_kept_ = 0, counted_before_ = 0;
  ScalarLog log_;
  LastModels last_models_;  // empty where the newest model is what is judged
};

// Clients a second, and by them the time of the rounds that are left, each of as many clients as the job wants.
void Run::watch(uint64_t done) {
  const double seconds = seconds_since(begin_);
  const RoundSettings& rounds = inputs_.job.horizontal().rounds;
  const uint64_t so_far = tally_.counted + done, all = uint64_t{rounds.count} * rounds.goal_count;
  const uint64_t own = so_far - counted_before_;  // a checkpoint's were not in these seconds
  if (seconds <= 0 || own == 0) return;
  const double rate = static_cast<double>(own) / seconds;
  const double left = static_cast<double>(all - std::min(all, so_far)) / rate;
  progress_.show("round " + std::to_string(round_) + "/" + std::to_string(rounds.count) + "  " + std::to_string(done) +
                 " updates  " + format_fixed(rate, rate < 10 ? 1 : 0) + " clients/s  about " + format_seconds(left) +
                 " left");
}

// The newest one's figures stay where it is the one that is judged, and on ranks that tell nothing.
Status Run::judge_mean(const Simulation& simulation, RoundReport& report) {
  if (options_.mean_of_last == 1 || !tells() || report.state != "done") return {};
  COT_ASSIGN(Bytes model, simulation.model());
  last_models_.add(std::move(model));
  COT_ASSIGN(const Bytes mean, last_models_.mean());
  COT_ASSIGN(const ModelEvaluation judged,
             evaluate_model(mean, inputs_.data.held_out, inputs_.job.horizontal().training));
  report.evaluation_loss = judged.loss;
  report.evaluation_accuracy = judged.accuracy;
  report.evaluation_mae = judged.mae;
  report.evaluation_r2 = judged.r2;
  report.evaluation_heads = judged.heads;
  return {};
}

Result<Bytes> Run::judged_model(const Simulation& simulation) const {
  return options_.mean_of_last == 1 ? simulation.model() : last_models_.mean();
}

Status Run::note(const SimulatedRound& round, DemoResult& result) {
  add(round.plan, tally_);
  result.attempts.push_back(round.report);
  for (const uint32_t device : round.plan.counted) ++result.rounds_trained[device % result.rounds_trained.size()];
  progress_.print(round_line(round.report, inputs_.job.horizontal().rounds.count, progress_.terminal()));
  if (!tells()) return {};
  if (options_.events) {
    std::printf("%s\n", event_of(round.report, round.plan).c_str());
    std::fflush(stdout);
  }
  return log_round(log_, round.report, std::nullopt, result.update_bytes);
}

// Where the next round begins.
Digest position_of(const Simulation& simulation) {
  const SimulationPosition position = simulation.position();
  return content_digest(as_bytes(std::to_string(position.rounds_done) + " " + position.base.digest.hex()));
}

MlflowParams params_of(const SimulateOptions& options, const HorizontalSettings& job) {
  MlflowParams params = {{"data", options.demo.data},
                         {"devices", std::to_string(options.devices)},
                         {"rounds", std::to_string(job.rounds.count)},
                         {"seed", std::to_string(options.demo.seed)}};
  add_training_params(params, job.training.optimizer, job.training.batch_size, job.training.local_epochs);
  return params;
}

Status Run::run(DemoResult& result) {
  const DemoData& data = inputs_.data;
  const HorizontalSettings& job = inputs_.job.horizontal();
  COT_ASSIGN(result.before, evaluate(data.model, data.held_out, loss_of(job.training)));
  COT_TRY(write_data(data, folder_));
  COT_ASSIGN(log_, ScalarLog::create(tells() ? options_.demo.log_dir : ""));
  COT_ASSIGN(std::shared_ptr<ScalarSink> mlflow,
             start_mlflow(tells() ? options_.demo.mlflow : "", "coterie simulate", params_of(options_, job)));
  log_.tell(std::move(mlflow));
  COT_TRY(log_before(log_, result.before));
  std::vector<std::string> shard_files;
  for (uint32_t i = 1; i <= data.devices; ++i) shard_files.push_back(folder_.device_dir(i) + "/data.cotf");
  COT_ASSIGN(const ModelValues values, model_values(data, job.training));
  result.update_bytes = update_bytes(plan_of(job, JobId("simulated"), values));
  result.download_bytes = download_bytes(job.download, data.model);
  CohortTrainer trainer(
      shard_files, options_.demo.seed, options_.threads, [this](uint64_t done) { watch(done); },
      {options_.attack, options_.devices}, options_.held_out_share);
  RankedCohort ranked(trainer, ranks_);
  CohortWorkers& workers = ranks_.count() > 1 ? static_cast<CohortWorkers&>(ranked) : trainer;
  COT_ASSIGN(Simulation simulation,
             Simulation::begin(job, data.model, data.held_out, folder_.server_dir(), inputs_.fleet, workers, tells()));
  result.rounds_trained.assign(data.devices, 0);
  std::optional<Checkpoint> checkpoint;
  if (!options_.checkpoint.empty()) checkpoint.emplace(options_.checkpoint, inputs_.identity, ranks_);
  COT_TRY(agree(ranks_, checkpoint ? go_on(*checkpoint, simulation, trainer, result) : Status()));
  COT_TRY(compare(ranks_, position_of(simulation), "checkpoint, of another round or folder,"));
  const double seconds_before = tally_.seconds;
  begin_ = os::monotonic_now();
  while (simulation.rounds_done() < job.rounds.count) {
    round_ = simulation.rounds_done() + 1;
    COT_ASSIGN(SimulatedRound round, simulation.attempt());
    COT_TRY(judge_mean(simulation, round.report));
    COT_TRY(note(round, result));
    if (!checkpoint || round.plan.is_failed) continue;
    tally_.seconds = seconds_before + seconds_since(begin_);
    tally_.attempts = result.attempts;
    tally_.rounds_trained = result.rounds_trained;
    COT_TRY(checkpoint->write(simulation, trainer, tally_));
    rounds_kept_ = simulation.rounds_done();
  }
  seconds_ = seconds_before + seconds_since(begin_);
  tally_.buffered = simulation.buffered();
  progress_.clear();
  if (options_.held_out_share > 0) {
    COT_ASSIGN(const Bytes model, judged_model(simulation));
    shard_files.resize(options_.devices);
    COT_ASSIGN(tally_.own, own_scores(model, job.training, trainer.states(), shard_files, options_.held_out_share));
  }
  COT_TRY(tells() ? leave(simulation, result) : Status());
  for (const char* name : kKeptResults) log_.leave(folder_.path(name));
  log_.finished();
  return {};
}

Status Run::go_on(const Checkpoint& checkpoint, Simulation& simulation, CohortTrainer& trainer, DemoResult& result) {
  COT_ASSIGN(const bool is_there, checkpoint.is_there());
  if (!options_.resumes && is_there) {
    return Error(ErrorCode::conflict,
                 options_.checkpoint + " has a checkpoint: go on from it with --resume, or name " + "another folder");
  }
  if (!options_.resumes || !is_there) return {};
  COT_ASSIGN(tally_, checkpoint.go_on(simulation, trainer));
  if (tally_.shares.counted().size() != options_.devices) {
    return Error(ErrorCode::malformed, options_.checkpoint + ": /shares is of another number of devices");
  }
  if (tally_.rounds_trained.size() != result.rounds_trained.size()) {
    return Error(ErrorCode::malformed, options_.checkpoint + ": /rounds_trained is of another number of parts");
  }
  counted_before_ = tally_.counted;
  result.attempts = tally_.attempts;
  result.rounds_trained = tally_.rounds_trained;
  rounds_kept_ = simulation.rounds_done();
  progress_.print("goes on behind round " + std::to_string(rounds_kept_) + " of " + options_.checkpoint);
  return {};
}

Status Run::leave(const Simulation& simulation, DemoResult& result) const {
  const DemoData& data = inputs_.data;
  const HorizontalSettings& job = inputs_.job.horizontal();
  COT_ASSIGN(const Bytes model, judged_model(simulation));
  COT_ASSIGN(result.after, evaluate(model, data.held_out, loss_of(job.training)));
  COT_ASSIGN(result.narrow, evaluate_widths(model, data.held_out, job.training));
  result.model_bytes = model.size();
  result.model_digest = content_digest(model).hex();
  COT_TRY(folder_.write("model.cotf", model));
  COT_TRY(folder_.write("metrics.csv", as_bytes(metrics_csv(result))));
  COT_TRY(folder_.write("chart.svg", as_bytes(draw_chart(chart_of(result)))));
  COT_TRY(folder_.write("chart.html", as_bytes(draw_chart_page(chart_of(result)))));
  return folder_.write("summary.json", as_bytes(summary_of(result, tally_, options_, inputs_, seconds_, 2) + "\n"));
}

constexpr const char* kCountsInOneProcess =
    "a job with /analytics counts in one process; mpirun has started several: start one";
constexpr const char* kStart =
    "simulation (job, seed, devices, data, trace and whether there is a --checkpoint have to be the same)";

// That this process may use: mpirun binds each rank to some of them.
uint32_t cores() {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof own, &own) == 0) return static_cast<uint32_t>(std::max(1, CPU_COUNT(&own)));
  return std::max(1u, std::thread::hardware_concurrency());  // more cores than a cpu_set_t has bits
}

std::string rank_name(const Ranks& ranks) { return "rank " + std::to_string(ranks.rank()); }

Status status_of(const auto& result) { return result ? Status() : Status(result.error()); }

// What decides a bit, and what ranks do together: those that keep checkpoints say more to each other.
Digest start_of(const SimulationInputs& inputs, const SimulateOptions& options) {
  return content_digest(
      as_bytes(inputs.identity.hex() + (options.checkpoint.empty() ? " without" : " with") + " checkpoint"));
}

}  // namespace

ExitCode run_simulation(const SimulateOptions& asked, const JobSettings& job, const std::string& program,
                        ProgressLine& progress, Ranks& ranks, SimulatedRun& run_done) {
  const auto give_up = [&](const Error& error, ExitCode code) {
    progress.clear();
    if (ranks.rank() == 0) print_error("simulate", error);
    else if (!ranks.is_error_shared()) print_error("simulate", error.with_context(rank_name(ranks)));
    return code;
  };
  SimulateOptions options = asked;
  if (options.threads == 0) options.threads = cores();
  options.demo.devices = options.shards > 0 ? options.shards : options.devices;
  options.demo.devices_given = !is_shard_folder(options.demo.data);  // which has its own number of shards
  const Result<SimulationInputs> inputs = prepare_simulation(options, job, ranks.count());
  if (const Status all = agree(ranks, status_of(inputs)); !all) return give_up(all.error(), ExitCode::usage);
  if (const Status same = compare(ranks, start_of(*inputs, options), kStart); !same) {
    return give_up(same.error(), ExitCode::usage);
  }
  Result<RunFolder> folder = folder_of(options.demo, ranks);
  if (const Status all = agree(ranks, status_of(folder)); !all) {
    if (folder) leave_nothing(*folder, ranks);
    return give_up(all.error(), ExitCode::usage);
  }

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
  Run run(options, *inputs, *folder, progress, ranks);
  const Status done = run.run(result);
  if (done && ranks.rank() > 0) {
    leave_nothing(*folder, ranks);
    return ExitCode::ok;
  }
  if (done) {
    folder->finished();
    run_done = {.score = score_text(result.after, result),
                .seconds = run.seconds(),
                .summary = summary_of(result, run.tally(), options, *inputs, run.seconds()),
                .told = told(result, run.tally(), run.seconds(), options.mean_of_last)};
    return ExitCode::ok;
  }
  if (ranks.rank() == 0 && run.rounds_kept() > 0) {
    progress.clear();
    std::fprintf(stderr,
                 "coterie simulate: the checkpoint of round %llu is in %s: the same command with --resume%s goes on\n",
                 static_cast<unsigned long long>(run.rounds_kept()), options.checkpoint.c_str(),
                 options.demo.out.empty() ? "" : " and another --out");
  }
  if (done.error().code() == ErrorCode::cancelled) {
    leave_nothing(*folder, ranks);
    return ExitCode::interrupted;
  }
  if (ranks.rank() > 0) leave_nothing(*folder, ranks);
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
  Result<std::unique_ptr<Ranks>> ranks = open_ranks();
  if (!ranks) {
    print_error("simulate", ranks.error());
    return ExitCode::failure;
  }
  const bool tells = (*ranks)->rank() == 0;
  SimulateOptions options = asked;
  options.job_file = job_file_name(asked.job_file);
  options.adopts_files = job->leaves_files_open;
  ProgressLine progress(human, options.demo.quiet || !tells);
  if (job->settings.horizontal().analytics) {
    ExitCode code = ExitCode::usage;
    if ((*ranks)->count() == 1) code = run_counting(options, job->settings, progress, human);
    else if (tells) print_error("simulate", Error(ErrorCode::invalid_argument, kCountsInOneProcess));
    (*ranks)->end();
    return code;
  }
  SimulatedRun done;
  const ExitCode code = run_simulation(options, job->settings, program, progress, **ranks, done);
  progress.clear();
  if (code == ExitCode::ok || code == ExitCode::usage) (*ranks)->end();
  if (code == ExitCode::interrupted && tells) {
    std::fprintf(stderr, "coterie simulate: interrupted; nothing is left behind%s\n",
                 options.checkpoint.empty() ? "" : " but the checkpoint");
  }
  if (code != ExitCode::ok || !tells) return code;
  std::fputs(done.told.c_str(), human);
  if (options.demo.json) std::printf("%s\n", done.summary.c_str());
  return code;
}

}  // namespace coterie
