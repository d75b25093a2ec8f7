#include "tools/demo/demo.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/os/clock.h"
#include "device_sdk/runtime/train_options.h"
#include "proto/messages/training_rules.h"
#include "secure/crypto/digest.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/terminal.h"
#include "tools/cli/wrap.h"
#include "tools/demo/aggregation_option.h"
#include "tools/demo/analytics_demo.h"
#include "tools/demo/compression_option.h"
#include "tools/demo/demo_data.h"
#include "tools/demo/demo_server.h"
#include "tools/demo/download_bytes.h"
#include "tools/demo/fleet.h"
#include "tools/demo/job_request.h"
#include "tools/demo/progress.h"
#include "tools/demo/result.h"
#include "tools/demo/round_watch.h"
#include "tools/demo/strategy_option.h"
#include "tools/demo/update_bytes.h"
#include "tools/mlflow/mlflow_run.h"
#include "tools/mlflow/run_params.h"
#include "tools/model/evaluate.h"
#include "tools/tensorboard/round_scalars.h"
#include "tools/tensorboard/scalar_log.h"

namespace coterie {
namespace {

constexpr Millis kLookEvery{50};
constexpr Millis kDeathMax{500};
constexpr Millis kLookOftenEvery{10};  // at rounds in which devices vanish: these are not to begin and end unseen
constexpr Millis kEnrollMax{300'000};
constexpr Millis kDevicesGrace{5'000};
constexpr Millis kRoundMax{60'000};

// Seconds since the last call.
class Stopwatch {
 public:
  double lap() {
    const Instant now = os::monotonic_now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  Instant last_ = os::monotonic_now();
};

class Demo {
 public:
  Demo(const DemoOptions& options, const RunFolder& folder, const DemoData& data, ProgressLine& progress)
      : options_(options), folder_(folder), data_(data), progress_(progress) {}
  // Devices first: a server that goes first would leave them complaining in their logs.
  ~Demo() {
    progress_.show("stopping devices and server");
    if (fleet_) fleet_->stop(kDevicesGrace);
    if (server_) server_->stop();
    progress_.clear();
  }

  // Fills what happened into `result`; everything is stopped when it returns without an error.
  Status run(DemoResult& result);
  // Behind run(), when the results are in the folder: whoever else shows the run has them, too.
  void finish_log();

 private:
  Status upload(Digest& model, Digest& held_out);
  Status start_devices();
  Status train(const Digest& model, const Digest& held_out, DemoResult& result);
  Status fetch_ledger(DemoResult& result);
  Status fetch_model(DemoResult& result);
  Status look_after_devices();
  void drop_out(const std::optional<RoundReport>& live);
  Status log_news(const RoundWatch& watch, uint64_t update_bytes);

  const DemoOptions& options_;
  const RunFolder& folder_;
  const DemoData& data_;
  ProgressLine& progress_;
  std::unique_ptr<DemoServer> server_;
  std::optional<Fleet> fleet_;
  std::string job_;
  std::pair<uint64_t, uint32_t> round_;  // and attempt, in which devices vanish
  ScalarLog log_;
  size_t attempts_logged_ = 0;
  Instant round_began_{};
  Millis round_length_{500};
};

MlflowParams params_of(const DemoOptions& options) {
  MlflowParams params = {{"data", options.data},
                         {"devices", std::to_string(options.devices)},
                         {"rounds", std::to_string(options.rounds)},
                         {"seed", std::to_string(options.seed)},
                         {"strategy", std::string(options.strategy->name)},
                         {"security", std::string(to_string(options.security))}};
  add_training_params(params, training_of(options).optimizer, options.batch_size, options.local_epochs);
  return params;
}

Status Demo::run(DemoResult& result) {
  Stopwatch watch;
  COT_ASSIGN(result.before, evaluate(data_.model, data_.held_out, loss_of(options_.judged_by())));
  COT_TRY(write_data(data_, folder_));
  COT_ASSIGN(log_, ScalarLog::create(options_.log_dir));
  COT_ASSIGN(std::shared_ptr<ScalarSink> mlflow, start_mlflow(options_.mlflow, "coterie demo", params_of(options_)));
  log_.tell(std::move(mlflow));
  COT_TRY(log_before(log_, result.before));
  result.phases.prepare += watch.lap();

  progress_.show("starting the server");
  COT_ASSIGN(server_, DemoServer::start(folder_, options_.seed));
  Digest model, held_out;
  COT_TRY(upload(model, held_out));
  result.phases.server_start = watch.lap();

  COT_TRY(start_devices());
  result.phases.devices_start = watch.lap();

  COT_TRY(train(model, held_out, result));
  result.phases.rounds = watch.lap();
  result.phases.training = training_seconds(done_rounds(result));
  result.phases.finalizing = server_->finalize_seconds();

  progress_.show("fetching the model");
  COT_TRY(fetch_model(result));
  progress_.show("stopping devices and server");
  fleet_->stop(kDevicesGrace);
  result.rounds_trained = fleet_->rounds_trained();
  result.devices_restarted = fleet_->restarts();
  result.dropouts = fleet_->dropouts();
  server_->stop();
  progress_.clear();
  result.phases.finish = watch.lap();
  return {};
}

Status Demo::upload(Digest& model, Digest& held_out) {
  COT_ASSIGN(model, server_->upload("models", data_.model));
  COT_ASSIGN(held_out, server_->upload("datasets", data_.held_out));
  return {};
}

Status Demo::start_devices() {
  COT_ASSIGN(const std::string token, server_->create_token(options_.devices));
  COT_ASSIGN(const std::string self, own_path());
  fleet_.emplace(DemoFleetSettings{.program = self,
                                   .server_url = server_->endpoints().device_url,
                                   .ca_file = server_->endpoints().ca_file,
                                   .token = token,
                                   .seed = options_.seed,
                                   .devices = options_.devices,
                                   .dropout = options_.dropout,
                                   .liars = options_.attack.liars_of(options_.devices),
                                   .lie = to_string(Lie{options_.attack.kind, options_.goal_count()}),
                                   .widths = options_.widths,
                                   .policy = device_policy(options_),
                                   .groups = groups_of(options_)},
                 folder_);
  progress_.show("starting " + counted(options_.devices, "device"));
  COT_TRY(fleet_->start());
  const Instant until = os::monotonic_now() + kEnrollMax;
  for (;;) {
    COT_ASSIGN(const uint64_t enrolled, server_->count_devices());
    if (enrolled >= options_.devices) break;
    progress_.show(std::to_string(enrolled) + "/" + std::to_string(options_.devices) + " devices enrolled");
    if (os::monotonic_now() > until) {
      return Error(ErrorCode::timed_out, "waited " + format_seconds(std::chrono::duration<double>(kEnrollMax).count()) +
                                             " for devices to enroll; " + std::to_string(enrolled) + " of " +
                                             std::to_string(options_.devices) + " have");
    }
    COT_TRY(look_after_devices());
    COT_TRY(Interrupt::wait(kLookEvery));
  }
  return {};
}

void Demo::drop_out(const std::optional<RoundReport>& live) {
  if (options_.dropout == 0) return;
  const Instant now = os::monotonic_now();
  const std::pair<uint64_t, uint32_t> round =
      live ? std::pair(live->number, live->attempt) : std::pair(uint64_t{0}, 0u);
  if (round != round_) fleet_->absences().end_round(now);
  if (live && live->state == "collecting" && round != round_) {
    if (round_.first > 0) round_length_ = std::min(kRoundMax, std::chrono::duration_cast<Millis>(now - round_began_));
    round_ = round;
    round_began_ = now;
    fleet_->absences().begin_round(now, round_length_);
  }
  fleet_->drop_out(now);
}

// What is spent is known as of now: it goes with the newest round.
Status Demo::log_news(const RoundWatch& watch, uint64_t update_bytes) {
  for (; attempts_logged_ < watch.attempts().size(); ++attempts_logged_) {
    const bool is_newest = attempts_logged_ + 1 == watch.attempts().size();
    COT_TRY(
        log_round(log_, watch.attempts()[attempts_logged_], is_newest ? watch.epsilon() : std::nullopt, update_bytes));
  }
  return {};
}

Status Demo::look_after_devices() {
  COT_TRY(server_->check());
  COT_ASSIGN(const std::vector<std::string> notes, fleet_->look_after());
  for (const std::string& note : notes) progress_.print("  " + note);
  return {};
}

Status Demo::train(const Digest& model, const Digest& held_out, DemoResult& result) {
  COT_ASSIGN(const ModelValues values, model_values(data_, training_of(options_)));
  COT_ASSIGN(const HorizontalSettings settings, job_settings(options_, values.step_count()));
  result.update_bytes = update_bytes(plan_of(settings, JobId("demo"), values));
  result.download_bytes = download_bytes(settings.download, data_.model);
  COT_ASSIGN(const std::string request, job_request(options_, values.step_count(), model, held_out));
  COT_TRY(folder_.write("job.json", as_bytes(request)));
  COT_ASSIGN(job_, server_->create_job(request));
  const auto get = [this](const std::string& target) { return server_->admin().get(target); };
  std::optional<GuessLevel> guess{{.accuracy = data_.majority_accuracy, .r2 = {}}};
  if (data_.mean_baseline) guess->r2 = data_.mean_baseline->r2;
  // Nobody's model is judged where each device has a part of its own.
  if (options_.personal && options_.personal->kind == PersonalKind::part) guess.reset();
  RoundWatch watch(get, job_, options_.rounds, progress_, guess);
  for (;;) {
    const Result<bool> is_over = watch.look(os::monotonic_now());
    // A server that has died explains a lost connection better than the connection does.
    COT_TRY(look_after_devices());
    if (!is_over) {
      // Its sockets are closed a moment before it can be waited for.
      COT_TRY(Interrupt::wait(kDeathMax));
      COT_TRY(look_after_devices());
      return is_over.error();
    }
    COT_TRY(log_news(watch, result.update_bytes));
    if (*is_over) break;
    drop_out(watch.live());
    COT_TRY(Interrupt::wait(options_.dropout > 0 ? kLookOftenEvery : kLookEvery));
  }
  result.attempts = watch.take_attempts();
  COT_TRY(watch.check_completed());
  if (!options_.has_noise()) return {};
  COT_ASSIGN(const nlohmann::json job, server_->admin().get("jobs/" + path_segment(job_)));
  result.privacy = privacy_in(job);
  return fetch_ledger(result);
}

// The model is trained by then: a server that does not show its ledger costs the run that file, and no more.
Status Demo::fetch_ledger(DemoResult& result) {
  const Result<nlohmann::json> ledger = server_->admin().get_pages("ledger?limit=1000", "records");
  if (!ledger && ledger.error().code() == ErrorCode::cancelled) return ledger.error();
  if (!ledger) {
    progress_.print("  note: there is no ledger.json: " + printable(ledger.error().message()));
    return {};
  }
  COT_TRY(folder_.write("ledger.json", as_bytes(ledger->dump() + "\n")));
  result.has_ledger = true;
  return {};
}

Status Demo::fetch_model(DemoResult& result) {
  COT_ASSIGN(const Bytes model, server_->download_model(job_, options_.rounds));
  COT_ASSIGN(result.after, evaluate(model, data_.held_out, loss_of(options_.judged_by())));
  COT_ASSIGN(result.narrow, evaluate_widths(model, data_.held_out, training_of(options_)));
  result.model_bytes = model.size();
  result.model_digest = content_digest(model).hex();
  return folder_.write("model.cotf", model);
}

void Demo::finish_log() {
  for (const char* name : kKeptResults) log_.leave(folder_.path(name));
  log_.finished();
}

Status write_results(const DemoResult& result, const RunFolder& folder) {
  COT_TRY(folder.write("metrics.csv", as_bytes(metrics_csv(result))));
  COT_TRY(folder.write("chart.svg", as_bytes(draw_chart(chart_of(result)))));
  COT_TRY(folder.write("chart.html", as_bytes(draw_chart_page(chart_of(result)))));
  return folder.write("summary.json", as_bytes(summary_json(result, 2) + "\n"));
}

// From data to results.
Status run_whole(const DemoData& data, const RunFolder& folder, ProgressLine& progress, DemoResult& result) {
  Demo demo(result.options, folder, data, progress);
  COT_TRY(demo.run(result));
  COT_TRY(write_results(result, folder));
  demo.finish_log();
  return {};
}

// The same without liars: what they cost is the difference.
Status run_without_attack(const DemoResult& begun, const RunFolder& folder, const DemoData& data,
                          ProgressLine& progress, std::optional<double>& accuracy) {
  DemoResult result = begun;
  result.options.attack = {};
  if (!result.options.log_dir.empty()) result.options.log_dir += "/without-attack";
  COT_ASSIGN(RunFolder honest, RunFolder::create(folder.path("without-attack"), result.options.keep));
  result.run_dir = honest.path();
  progress.print("first without the attack:");
  COT_TRY(run_whole(data, honest, progress, result));
  honest.finished();
  accuracy = result.after.accuracy;
  const uint32_t liars = begun.options.attack.liars_of(begun.options.devices);
  progress.print("and now " + counted(liars, "device") + (liars == 1 ? " lies" : " lie") + " in every round (" +
                 to_string(begun.options.attack) + "):");
  return {};
}

std::string opening_line(const DemoOptions& options, const DemoData& data) {
  return data.model_name + " on " + printable(data.name()) + ": " + counted(data.training_examples, "example") +
         " on " + counted(options.devices, "device") + " (" + to_string(options.split) + "), " +
         format_count(data.held_out_examples) + " held out; " + counted(options.goal_count(), "device") + " a round" +
         (options.security == SecurityLevel::none
              ? ". No secure aggregation: the server sees each update (--security none)"
              : ". Security " + std::string(to_string(options.security)) +
                    ": the server sees sums of updates, none alone");
}

Status check_privacy(const DemoOptions& options) {
  const bool is_of_devices = options.security == SecurityLevel::active_dp;
  const std::string level = "--security " + std::string(to_string(options.security));
  if (is_of_devices && !options.has_noise()) {
    return Error(ErrorCode::invalid_argument,
                 "--security active_dp needs noise: give --target-epsilon or --noise-multiplier");
  }
  if (options.has_noise() && !is_of_devices && options.security != SecurityLevel::none) {
    return Error(ErrorCode::invalid_argument,
                 "noise of the server's does not go with " + level +
                     ": it cannot see that updates are clipped. Say --security active_dp, and the devices add it; or "
                     "--security none, and the server sees each update");
  }
  if (options.has_noise() && !options.clip) {
    return Error(ErrorCode::invalid_argument, "noise needs --clip: it is what the noise has to hide");
  }
  if (options.adaptive_clip && !options.has_noise()) {
    return Error(ErrorCode::invalid_argument,
                 "--adaptive-clip needs noise: it is for what noise is made for; give --target-epsilon or "
                 "--noise-multiplier");
  }
  return {};
}

// What the server would say of the training, said before one is started.
Status check_training_settings(const DemoOptions& options, uint64_t value_count) {
  COT_ASSIGN(const HorizontalSettings settings, job_settings(options, value_count));
  const Problems problems = problems_of(settings.training);
  if (problems.empty()) return {};
  return Error(ErrorCode::invalid_argument,
               "the training's " + problems[0].pointer.substr(1) + " " + problems[0].detail);
}

// To standard output, and nothing else goes there.
Status print_job(const DemoOptions& options, const DemoData& data, uint64_t value_count) {
  COT_ASSIGN(const JobSettings job,
             demo_job(options, value_count, content_digest(data.model), content_digest(data.held_out)));
  if (const Problems problems = validate(job); !problems.empty()) {
    return Error(ErrorCode::invalid_argument, problems[0].pointer + " " + problems[0].detail);
  }
  std::fputs(to_text(job).c_str(), stdout);
  return {};
}

// A sum of one is that device's update.
Status check_round(const DemoOptions& options) {
  if (options.security == SecurityLevel::none || options.goal_count() >= 2) return {};
  return Error(ErrorCode::invalid_argument,
               "--security " + std::string(to_string(options.security)) +
                   ": a round of one device has no sum to hide it in. Take more of them with --devices or --fraction, "
                   "or say --security none, and the server sees each update");
}

// The wait for the end of the children is over and the results lie on disk: what is left is to say so.
void tell(const DemoResult& result, std::FILE* human) {
  std::fputs(summary_text(result, Terminal::of(human)).c_str(), human);
  std::fflush(human);
  if (!result.options.json) return;
  std::printf("%s\n", summary_json(result, -1).c_str());
  std::fflush(stdout);
}

}  // namespace

ExitCode run_demo(const DemoOptions& asked, const std::string& program) {
  if (asked.analytics) return run_analytics_demo(asked);
  std::FILE* const human = asked.json ? stderr : stdout;
  const auto give_up = [](const Error& error, ExitCode code) {
    print_error("demo", error);
    return code;
  };
  Stopwatch watch;
  if (const Status usable = check_privacy(asked); !usable) return give_up(usable.error(), ExitCode::usage);
  Result<DemoData> data = prepare_data(asked);
  if (!data) return give_up(data.error(), ExitCode::usage);
  if (const Status made = add_clusters(training_of(asked), asked.seed, *data); !made) {
    return give_up(made.error(), ExitCode::usage);
  }
  const DemoOptions options = settled(asked, *data);
  if (const Status fits = check_strategy(options); !fits) return give_up(fits.error(), ExitCode::usage);
  if (const Status enough = check_round(options); !enough) return give_up(enough.error(), ExitCode::usage);
  if (const Status fits = check_aggregation(options); !fits) return give_up(fits.error(), ExitCode::usage);
  if (const Status fits = check_compression(options); !fits) return give_up(fits.error(), ExitCode::usage);
  const Result<ModelValues> values = model_values(*data, training_of(options));
  if (!values) return give_up(values.error(), ExitCode::usage);
  if (options.has_noise()) {
    const Result<DemoNoise> noise = noise_of(options, values->step_count());
    if (!noise) return give_up(noise.error(), ExitCode::usage);
  }
  const Status trains = check_training_settings(options, values->step_count());
  if (!trains) return give_up(trains.error(), ExitCode::usage);
  if (options.print_job) {
    const Status printed = print_job(options, *data, values->step_count());
    return printed ? ExitCode::ok : give_up(printed.error(), ExitCode::usage);
  }
  Result<RunFolder> folder =
      options.out.empty() ? RunFolder::create_default(options.keep) : RunFolder::create(options.out, options.keep);
  if (!folder) return give_up(folder.error(), ExitCode::usage);

  DemoResult result;
  result.options = options;
  result.program = program;
  result.run_dir = folder->path();
  result.data_name = printable(data->name());
  result.model_name = data->model_name;
  result.class_names = data->contract.target.classes;
  result.majority_accuracy = data->majority_accuracy;
  result.mean_baseline = data->mean_baseline;
  result.training_examples = data->training_examples;
  result.held_out_examples = data->held_out_examples;
  result.label_counts = data->label_counts;
  result.phases.prepare = watch.lap();
  Status done;
  {
    ProgressLine progress(human, options.quiet);
    const int columns = progress.terminal().columns;
    progress.print(wrapped(opening_line(options, *data), columns, 2));
    for (const std::string& note : data->notes) progress.print(wrapped("note: " + printable(note), columns, 2));
    if (const std::string warning = skew_warning(options); !warning.empty()) {
      progress.print(wrapped("note: " + warning, columns, 2));
    }
    if (options.attack.is_on()) {
      done = run_without_attack(result, *folder, *data, progress, result.accuracy_without_attack);
    }
    if (done) done = run_whole(*data, *folder, progress, result);
    if (Interrupt::requested()) done = interrupted_error();
  }
  if (done) {
    folder->finished();
    tell(result, human);
    return ExitCode::ok;
  }
  if (done.error().code() == ErrorCode::cancelled) {
    folder->interrupted();
    std::fprintf(stderr, "coterie demo: interrupted; all processes ended, nothing is left behind\n");
    return ExitCode::interrupted;
  }
  folder->failed();
  return give_up(done.error(), done.error().code() == ErrorCode::timed_out ? ExitCode::timeout : ExitCode::failure);
}

}  // namespace coterie
