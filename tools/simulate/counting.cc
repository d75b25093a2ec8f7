#include "tools/simulate/counting.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "device_sdk/agent/count_examples.h"
#include "device_sdk/agent/training_seed.h"
#include "device_sdk/runtime/dataset_source.h"
#include "fl_server/json/analytics_json.h"
#include "fl_server/json/job_json.h"
#include "proto/messages/analytics_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/round_question.h"
#include "tools/admin/analytics_report.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/demo/progress.h"
#include "tools/simulate/inputs.h"
#include "tools/simulate/options.h"
#include "tools/simulate/resting_devices.h"

namespace coterie {
namespace {

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// What is said of a training means nothing here.
Status check_options(const SimulateOptions& options) {
  const std::pair<bool, const char*> others[] = {{options.attack.is_on(), "--attack"},
                                                 {!options.checkpoint.empty(), "--checkpoint"},
                                                 {options.held_out_share > 0, "--held-out-share"},
                                                 {options.mean_of_last > 1, "--mean-of-last"},
                                                 {options.events, "--events"},
                                                 {!options.demo.log_dir.empty(), "--log-dir"},
                                                 {!options.demo.mlflow.empty(), "--mlflow"}};
  for (const auto& [is_there, name] : others) {
    if (is_there) return wrong(std::string(name) + " does not go with /analytics of the job, which trains nothing");
  }
  return {};
}

// Numbers of another column would be counted as well, and the result would look as if it were one.
Status check_place(const AnalyticsSettings& analytics, const InputContract& contract) {
  const AnalyticsRules& rules = analytics.rules;
  COT_ASSIGN(const uint64_t numbers, element_count(contract.inputs.at(0).shape));
  if (numbers != rules.input_values) {
    return wrong("/analytics/input_values is " + std::to_string(rules.input_values) + ", an example of " +
                 contract.name + " has " + counted(numbers, "number"));
  }
  if (rules.source != AnalyticsSource::feature) return {};
  uint64_t place = 0;
  for (const ContractColumn& column : contract.columns) {
    const size_t width = column.width(contract.one_hot);
    if (column.name == analytics.column && (place != rules.feature || width < rules.feature_width())) {
      return wrong("column " + column.name + " of " + contract.name + " has " + counted(width, "number") + " from " +
                   std::to_string(place) + " on; /analytics/feature is " + std::to_string(rules.feature) + ", of " +
                   counted(rules.feature_width(), "number"));
    }
    place += width;
  }
  return {};
}

class CountingRounds {
 public:
  CountingRounds(const SimulationInputs& inputs, ProgressLine& progress)
      : inputs_(inputs),
        job_(inputs.job.horizontal()),
        progress_(progress),
        sources_(inputs.data.devices),
        resting_(job_.rounds.separation_min) {}

  Result<nlohmann::json> run() {
    const bool asks_anew = job_.analytics->asks_anew();
    for (uint32_t round = 1; round <= job_.rounds.count; ++round) {
      if (asks_anew && nothing_is_left(job_, blocks_)) break;
      progress_.show("round " + std::to_string(round) + "/" + std::to_string(job_.rounds.count));
      COT_ASSIGN(const std::vector<uint32_t> counted, draw(round));
      const AnalyticsSettings question = asks_anew ? question_of_round(job_, blocks_) : *job_.analytics;
      COT_ASSIGN(std::vector<float> counts, count(rules_of(question), counted, round));
      if (asks_anew || blocks_.empty()) blocks_.push_back(std::move(counts));
      else std::ranges::transform(counts, blocks_[0], blocks_[0].begin(), std::plus());
      updates_ += counted.size();
      rounds_ = round;
      resting_.add(counted);
    }
    nlohmann::json answer = analytics_answer(job_, blocks_, 0, 0);
    answer.update({{"job", "simulated"}, {"state", "completed"}, {"rounds", rounds_}, {"updates", updates_}});
    return answer;
  }

 private:
  // Those whom none of the last rounds has counted, as the server draws.
  Result<std::vector<uint32_t>> draw(uint32_t round) const {
    const VirtualRound drawn = draw_attempts(inputs_.fleet, job_, round, resting_.devices());
    if (!drawn.is_failed) return drawn.counted;
    return Error(ErrorCode::timed_out, "round " + std::to_string(round) + ": " +
                                           who_may_be_asked(inputs_.fleet, job_.rounds, resting_.devices()) +
                                           ", and too few of them answer: goal_count_min is " +
                                           std::to_string(job_.rounds.goal_count_min) +
                                           "; take more --devices, or a smaller separation_min");
  }

  Result<std::vector<float>> count(const AnalyticsRules& rules, const std::vector<uint32_t>& devices, uint32_t round) {
    std::vector<uint64_t> sum(lane_count(rules));
    for (const uint32_t device : devices) {
      if (Interrupt::requested()) return interrupted_error();
      std::optional<DatasetSource>& source = sources_[device % sources_.size()];
      if (!source) {
        COT_ASSIGN(Bytes file, inputs_.data.shard_file(device % inputs_.data.devices));
        COT_ASSIGN(source, DatasetSource::load(std::move(file)));
      }
      // As the device of the demo draws, of the version that the round begins with.
      const uint64_t seed = repeated_seed(device_seed(inputs_.fleet.seed, device + 1), ModelVersion(round - 1));
      ExampleCounter counter(rules, source->size(), seed);
      while (!counter.finished()) COT_TRY(counter.step(*source));
      for (size_t lane = 0; lane < sum.size(); ++lane) sum[lane] += static_cast<uint64_t>(counter.lanes()[lane]);
    }
    if (*std::ranges::max_element(sum) > kTableCountMax) {
      return wrong("a count of round " + std::to_string(round) + " is beyond " + format_count(kTableCountMax) +
                   ", which a table holds exactly");
    }
    return std::vector<float>(sum.begin(), sum.end());
  }

  const SimulationInputs& inputs_;
  const HorizontalSettings& job_;
  ProgressLine& progress_;
  std::vector<std::optional<DatasetSource>> sources_;
  std::vector<std::vector<float>> blocks_;
  RestingDevices resting_;
  uint64_t updates_ = 0, rounds_ = 0;
};

Result<SimulationInputs> prepare(const SimulateOptions& asked, const JobSettings& job) {
  COT_TRY(check_options(asked));
  if (job.horizontal().analytics->rules.evaluation) {
    return wrong(asked.job_file + ": /analytics/kind: devices that evaluate models are not simulated");
  }
  SimulateOptions options = asked;
  options.demo.devices = options.shards > 0 ? options.shards : options.devices;
  options.demo.devices_given = true;
  options.adopts_files = true;
  COT_ASSIGN(SimulationInputs inputs, prepare_simulation(options, job, 1));
  inputs.job = job;  // its model is a table, and not the data's
  if (options.rounds > 0) inputs.job.horizontal().rounds.count = options.rounds;
  COT_TRY(check_place(*job.horizontal().analytics, inputs.data.contract));
  return inputs;
}

Status leave(const nlohmann::json& answer, const RunFolder& folder, bool is_json, std::FILE* human) {
  COT_ASSIGN(const AnalyticsReport report, parse_analytics(answer));
  COT_TRY(folder.write("result.json", as_bytes(answer.dump(2) + "\n")));
  COT_TRY(folder.write("chart.svg", as_bytes(draw_analytics(report))));
  std::fputs((analytics_text(report) + "\n" + folder.path() + ": result.json, chart.svg\n").c_str(), human);
  if (is_json) std::printf("%s\n", answer.dump().c_str());
  return {};
}

}  // namespace

ExitCode run_counting(const SimulateOptions& options, const JobSettings& job, ProgressLine& progress,
                      std::FILE* human) {
  const auto give_up = [&progress](const Error& error, ExitCode code) {
    progress.clear();
    print_error("simulate", error);
    return code;
  };
  const Result<SimulationInputs> inputs = prepare(options, job);
  if (!inputs) return give_up(inputs.error(), ExitCode::usage);
  Result<RunFolder> folder = options.demo.out.empty() ? RunFolder::create_default(options.demo.keep)
                                                      : RunFolder::create(options.demo.out, options.demo.keep);
  if (!folder) return give_up(folder.error(), ExitCode::usage);
  for (const std::string& note : inputs->data.notes) {
    progress.print(wrapped("note: " + printable(note), progress.terminal().columns, 2));
  }
  const Result<nlohmann::json> answer = CountingRounds(*inputs, progress).run();
  progress.clear();
  const Status done = answer ? leave(*answer, *folder, options.demo.json, human) : Status(answer.error());
  if (done) {
    folder->finished();
    return ExitCode::ok;
  }
  if (done.error().code() == ErrorCode::cancelled) {
    folder->interrupted();
    return ExitCode::interrupted;
  }
  folder->failed();
  return give_up(done.error(), done.error().code() == ErrorCode::timed_out ? ExitCode::timeout : ExitCode::failure);
}

}  // namespace coterie
