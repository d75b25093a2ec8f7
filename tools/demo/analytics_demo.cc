#include "tools/demo/analytics_demo.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/os/clock.h"
#include "proto/messages/analytics_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/demo/analytics_option.h"
#include "tools/demo/answer_files.h"
#include "tools/demo/demo_data.h"
#include "tools/demo/demo_server.h"
#include "tools/demo/fleet.h"
#include "tools/demo/importance_job.h"
#include "tools/demo/job_request.h"
#include "tools/demo/pooled_counts.h"
#include "tools/demo/progress.h"
#include "tools/demo/range_job.h"
#include "tools/demo/round_watch.h"

namespace coterie {
namespace {

constexpr Millis kLookEvery{50};
constexpr Millis kEnrollMax{300'000};
constexpr Millis kDevicesGrace{5'000};

struct Prepared {
  DemoOptions options;
  DemoData data;
  JobSettings job;
};

// Not a column of the data, but a model on them.
bool evaluates(const DemoOptions& options) { return options.analytics->kind == AnalyticsKind::evaluation; }
bool runs_model(const DemoOptions& options) {
  return evaluates(options) || options.analytics->kind == AnalyticsKind::activation_ranges;
}

// What a job with analytics would be refused for, and what would be another demo. What is said of a training means
// nothing here.
Status check_options(const DemoOptions& options) {
  const std::pair<bool, const char*> others[] = {{options.attack.is_on(), "--attack"},
                                                 {options.aggregation.keeps_updates(), "--aggregation"},
                                                 {options.is_buffered, "--round-policy buffered"},
                                                 {options.compression.is_on(), "--update-bits or --compression"},
                                                 {options.download_bits > 0, "--download-bits"},
                                                 {options.adaptive_clip.has_value(), "--adaptive-clip"},
                                                 {options.clip.has_value(), "--clip (values=N bounds a device)"},
                                                 {options.dropout > 0, "--dropout"}};
  for (const auto& [is_there, name] : others) {
    if (is_there) return Error(ErrorCode::invalid_argument, std::string("--analytics does not go with ") + name);
  }
  if (!runs_model(options)) {
    if (!options.model && options.model_file.empty()) return {};
    return Error(ErrorCode::invalid_argument, "--analytics of a column does not go with --model: nothing is trained");
  }
  if (evaluates(options) && options.has_noise()) {
    return Error(ErrorCode::invalid_argument,
                 "--analytics importance does not go with noise: take --security active, masked or none");
  }
  if (!options.model_file.empty()) return {};
  const std::string name = evaluates(options) ? "importance" : std::string(to_string(options.analytics->kind));
  return Error(
      ErrorCode::invalid_argument,
      "--analytics " + name + " is of a trained model: give its file, --model FILE, as `coterie demo` leaves one");
}

// What the devices of a job like this one look at, unless said.
Result<AnalyticsSettings> asked_of(const DemoOptions& options, const DemoData& data) {
  const AnalyticsChoice& choice = *options.analytics;
  const uint64_t all = std::min<uint64_t>(most_examples(data), kAnalyticsValuesMax);
  if (evaluates(options)) {
    const uint64_t values = choice.values > 0 ? choice.values : std::min<uint64_t>(all, kEvaluatedValues);
    return importance_of_columns(choice, data.contract, data.model, static_cast<uint32_t>(values));
  }
  if (runs_model(options)) {
    const uint64_t values = choice.values > 0 ? choice.values : std::min<uint64_t>(all, kRangedValues);
    return ranges_of_model(choice, data.contract, data.model, static_cast<uint32_t>(values), options.has_noise());
  }
  const auto values = static_cast<uint32_t>(choice.values > 0 ? choice.values : options.has_noise() ? 1 : all);
  return analytics_of(choice, data.contract, values, options.devices);
}

// All devices are asked, in one round; in each, where rounds ask what those before leave open.
Result<Prepared> prepare(const DemoOptions& asked) {
  COT_TRY(check_options(asked));
  Prepared prepared;
  COT_ASSIGN(prepared.data, prepare_data(asked));
  DemoOptions& options = prepared.options;
  options = settled(asked, prepared.data);
  options.fraction = 1;
  COT_ASSIGN(AnalyticsSettings analytics, asked_of(options, prepared.data));
  const AnalyticsRules rules = rules_of(analytics);
  if (const Status good = validate(rules); !good) return good.error().with_context("--analytics");
  HorizontalSettings settings;
  set_defaults(analytics, settings);
  settings.analytics = std::move(analytics);
  options.rounds = options.analytics->rounds.value_or(settings.rounds.count);
  options.clip = static_cast<double>(clip_of(rules));
  COT_ASSIGN(const HorizontalSettings trained, job_settings(options, lane_count(rules)));
  settings.rounds = trained.rounds;
  settings.rounds.separation_min = 1;  // unless said, rounds would ask other devices each
  settings.privacy = trained.privacy;
  prepared.job = {.common = {.name = "demo-analytics"}, .kind = std::move(settings)};
  if (const Problems problems = validate(prepared.job); !problems.empty()) {
    return Error(ErrorCode::invalid_argument, problems[0].pointer + " " + problems[0].detail);
  }
  return prepared;
}

class AnalyticsDemo {
 public:
  AnalyticsDemo(const Prepared& prepared, const RunFolder& folder, ProgressLine& progress)
      : prepared_(prepared), folder_(folder), progress_(progress) {}
  // Devices first: a server that goes first would leave them complaining in their logs.
  ~AnalyticsDemo() {
    progress_.show("stopping devices and server");
    if (fleet_) fleet_->stop(kDevicesGrace);
    if (server_) server_->stop();
    progress_.clear();
  }

  // The server's answer.
  Result<nlohmann::json> run() {
    COT_TRY(write_data(prepared_.data, folder_));
    progress_.show("starting the server");
    COT_ASSIGN(server_, DemoServer::start(folder_, prepared_.options.seed));
    if (runs_model(prepared_.options)) COT_TRY(server_->upload("models", prepared_.data.model));
    COT_TRY(start_devices());
    COT_ASSIGN(const std::string job, server_->create_job(to_text(prepared_.job)));
    COT_TRY(wait_for(job));
    return server_->admin().get("jobs/" + path_segment(job) + "/result");
  }

 private:
  Status start_devices() {
    const DemoOptions& options = prepared_.options;
    COT_ASSIGN(const std::string token, server_->create_token(options.devices));
    COT_ASSIGN(const std::string self, own_path());
    std::vector<std::string> policy = device_policy(options);
    policy.push_back("--accept-analytics");
    fleet_.emplace(DemoFleetSettings{.program = self,
                                     .server_url = server_->endpoints().device_url,
                                     .ca_file = server_->endpoints().ca_file,
                                     .token = token,
                                     .seed = options.seed,
                                     .devices = options.devices,
                                     .policy = std::move(policy)},
                   folder_);
    progress_.show("starting " + counted(options.devices, "device"));
    COT_TRY(fleet_->start());
    const Instant until = os::monotonic_now() + kEnrollMax;
    for (;;) {
      COT_ASSIGN(const uint64_t enrolled, server_->count_devices());
      if (enrolled >= options.devices) return {};
      if (os::monotonic_now() > until) {
        return Error(ErrorCode::timed_out, "waited for devices to enroll; " + std::to_string(enrolled) + " of " +
                                               std::to_string(options.devices) + " have");
      }
      COT_TRY(look_after_devices());
      COT_TRY(Interrupt::wait(kLookEvery));
    }
  }

  Status look_after_devices() {
    COT_TRY(server_->check());
    COT_ASSIGN(const std::vector<std::string> notes, fleet_->look_after());
    for (const std::string& note : notes) progress_.print("  " + note);
    return {};
  }

  Status wait_for(const std::string& job) {
    const auto get = [this](const std::string& target) { return server_->admin().get(target); };
    RoundWatch watch(get, job, prepared_.job.horizontal().rounds.count, progress_);
    for (;;) {
      COT_ASSIGN(const bool is_over, watch.look(os::monotonic_now()));
      COT_TRY(look_after_devices());
      if (is_over) return watch.check_completed();
      COT_TRY(Interrupt::wait(kLookEvery));
    }
  }

  const Prepared& prepared_;
  const RunFolder& folder_;
  ProgressLine& progress_;
  std::unique_ptr<DemoServer> server_;
  std::optional<Fleet> fleet_;
};

Status finish(const Prepared& prepared, const RunFolder& folder, const nlohmann::json& answer, std::FILE* human) {
  COT_ASSIGN(const LeftAnswer left, leave_answer(answer, folder));
  COT_TRY(folder.write("job.json", as_bytes(to_text(prepared.job))));
  std::string text = left.text + "\n";
  if (!runs_model(prepared.options)) {
    COT_ASSIGN(const std::string verdict, verdict_on(answer, prepared.job.horizontal(), prepared.data));
    text += verdict + "\n";
  }
  std::fputs((text + folder.path() + ": " + left.files + ", job.json\n").c_str(), human);
  std::fflush(human);
  if (prepared.options.json) std::printf("%s\n", answer.dump().c_str());
  std::fflush(stdout);
  return {};
}

}  // namespace

ExitCode run_analytics_demo(const DemoOptions& asked) {
  std::FILE* const human = asked.json ? stderr : stdout;
  const auto give_up = [](const Error& error, ExitCode code) {
    print_error("demo", error);
    return code;
  };
  const Result<Prepared> prepared = prepare(asked);
  if (!prepared) return give_up(prepared.error(), ExitCode::usage);
  if (asked.print_job) {
    std::fputs(to_text(prepared->job).c_str(), stdout);
    return ExitCode::ok;
  }
  Result<RunFolder> folder =
      asked.out.empty() ? RunFolder::create_default(asked.keep) : RunFolder::create(asked.out, asked.keep);
  if (!folder) return give_up(folder.error(), ExitCode::usage);
  Status done;
  {
    ProgressLine progress(human, asked.quiet);
    for (const std::string& note : prepared->data.notes) {
      progress.print(wrapped("note: " + printable(note), progress.terminal().columns, 2));
    }
    Result<nlohmann::json> answer = AnalyticsDemo(*prepared, *folder, progress).run();
    done = answer ? finish(*prepared, *folder, *answer, human) : Status(answer.error());
    if (Interrupt::requested()) done = interrupted_error();
  }
  if (done) {
    folder->finished();
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
