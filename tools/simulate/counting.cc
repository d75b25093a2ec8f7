#include "tools/simulate/counting.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "device_sdk/agent/count_activations.h"
#include "device_sdk/agent/count_examples.h"
#include "device_sdk/agent/evaluate_examples.h"
#include "device_sdk/agent/training_seed.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/evaluation_fit.h"
#include "fl_server/json/analytics_json.h"
#include "fl_server/json/job_json.h"
#include "proto/messages/analytics_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/round_question.h"
#include "secure/crypto/digest.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/demo/answer_files.h"
#include "tools/demo/progress.h"
#include "tools/explain/feature_names.h"
#include "tools/simulate/inputs.h"
#include "tools/simulate/job_file.h"
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

Status check_numbers(const AnalyticsSettings& analytics, const InputContract& contract) {
  const AnalyticsRules& rules = analytics.rules;
  COT_ASSIGN(const uint64_t numbers, element_count(contract.inputs.at(0).shape));
  if (numbers != rules.input_values) {
    return wrong("/analytics/input_values is " + std::to_string(rules.input_values) + ", an example of " +
                 contract.name + " has " + counted(numbers, "number"));
  }
  return {};
}

// Numbers of another column would be counted as well, and the result would look as if it were one.
Status check_place(const AnalyticsSettings& analytics, const InputContract& contract) {
  const AnalyticsRules& rules = analytics.rules;
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

// Likewise of columns that are permuted, by their names.
Status check_permuted(const AnalyticsSettings& analytics, const InputContract& contract) {
  if (!analytics.rules.evaluation->importance) return {};
  const std::vector<Feature> features = features_of(contract.inputs.at(0).shape, &contract);
  const std::vector<PermutedColumn>& columns = analytics.rules.evaluation->importance->columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto named = std::ranges::find(features, analytics.permuted[i], &Feature::name);
    if (named == features.end() || (named->first == columns[i].feature && named->count == columns[i].width)) continue;
    return wrong("column " + named->name + " of " + contract.name + " has " + counted(named->count, "number") +
                 " from " + std::to_string(named->first) + " on; /analytics/importance/columns/" + std::to_string(i) +
                 " says " + std::to_string(columns[i].width) + " from " + std::to_string(columns[i].feature) + " on");
  }
  return {};
}

// The job names the model that is evaluated: it is this one, or the result would be of another job.
Status take_model(const std::string& job_file, const Bytes& file, AnalyticsSettings& analytics) {
  const auto refuse = [&](const std::string& what) { return wrong(job_file_name(job_file) + ": " + what); };
  std::vector<EvaluatedModel>& models = analytics.rules.evaluation->models;
  if (models.size() != 1) return refuse("/analytics/before: one model is simulated; take it out");
  const Digest digest = content_digest(file);
  if (models[0].digest != Digest{} && models[0].digest != digest) {
    return Error(ErrorCode::conflict, job_file_name(job_file) + ": /analytics/model is " + models[0].digest.hex() +
                                          ", and the model of --model is " + digest.hex());
  }
  models[0] = {digest, file.size()};
  COT_ASSIGN(const Model model, Model::load(file));
  if (const Status fits = check_evaluated(rules_of(analytics), model); !fits) return refuse(fits.error().message());
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
      COT_ASSIGN(const std::unique_ptr<ExampleReader> reader, reader_of(rules, source->size(), seed));
      while (!reader->finished()) COT_TRY(reader->step(*source));
      for (size_t lane = 0; lane < sum.size(); ++lane) sum[lane] += static_cast<uint64_t>(reader->lanes()[lane]);
    }
    if (*std::ranges::max_element(sum) > kTableCountMax) {
      return wrong("a count of round " + std::to_string(round) + " is beyond " + format_count(kTableCountMax) +
                   ", which a table holds exactly");
    }
    return std::vector<float>(sum.begin(), sum.end());
  }

  Result<std::unique_ptr<ExampleReader>> reader_of(const AnalyticsRules& rules, uint64_t size, uint64_t seed) const {
    if (!rules.evaluation) return std::unique_ptr<ExampleReader>(std::make_unique<ExampleCounter>(rules, size, seed));
    COT_ASSIGN(const Model model, Model::load(inputs_.data.model));
    if (rules.evaluation->ranges) {
      COT_ASSIGN(ActivationCounter counter, ActivationCounter::create(rules, model, size, seed));
      return std::unique_ptr<ExampleReader>(std::make_unique<ActivationCounter>(std::move(counter)));
    }
    COT_ASSIGN(ExampleEvaluator evaluator, ExampleEvaluator::create(rules, {&model, 1}, size, seed));
    return std::unique_ptr<ExampleReader>(std::make_unique<ExampleEvaluator>(std::move(evaluator)));
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
  if (job.horizontal().analytics->rules.evaluation && asked.demo.model_file.empty()) {
    return wrong(job_file_name(asked.job_file) + ": /analytics/kind " +
                 std::string(to_string(job.horizontal().analytics->rules.kind)) +
                 ": give the file of the model that devices run, --model FILE");
  }
  SimulateOptions options = asked;
  options.demo.devices = options.shards > 0 ? options.shards : options.devices;
  options.demo.devices_given = true;
  options.adopts_files = true;
  COT_ASSIGN(SimulationInputs inputs, prepare_simulation(options, job, 1));
  inputs.job = job;  // its model is a table, and not the data's
  if (options.rounds > 0) inputs.job.horizontal().rounds.count = options.rounds;
  AnalyticsSettings& analytics = *inputs.job.horizontal().analytics;
  COT_TRY(check_numbers(analytics, inputs.data.contract));
  if (analytics.rules.evaluation) {
    COT_TRY(check_permuted(analytics, inputs.data.contract));
    COT_TRY(take_model(asked.job_file, inputs.data.model, analytics));
  } else {
    COT_TRY(check_place(analytics, inputs.data.contract));
  }
  return inputs;
}

Status leave(const nlohmann::json& answer, const RunFolder& folder, bool is_json, std::FILE* human) {
  COT_ASSIGN(const LeftAnswer left, leave_answer(answer, folder));
  std::fputs((left.text + "\n" + folder.path() + ": " + left.files + "\n").c_str(), human);
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
