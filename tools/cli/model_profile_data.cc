#include "tools/cli/model_profile_data.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "base/os/resident_memory.h"
#include "device_sdk/runtime/step_tracer.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/model/default_learning_rate.h"
#include "tools/model/input_profile.h"
#include "tools/model/measure.h"
#include "tools/model/training_trace.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model profile";
constexpr int kColumns = 80;

// What makes a stage shorter.
std::string remedy_for(DataStage stage) {
  switch (stage) {
    case DataStage::read:
      return "a packed file (gzip, zstd) has fewer bytes to read, a data set file of `coterie data make` is mapped";
    case DataStage::unpack:
      return "zstd unpacks faster than gzip, and a data set file of `coterie data make` is not packed";
    case DataStage::parse:
    case DataStage::encode:
    case DataStage::store: return "`coterie data make` does it once, and its data set files are mapped as they are";
    case DataStage::copy: return "make the examples smaller, or put their file on a faster disk";
    case DataStage::transform:
      return "leave a part of --augment out, or resize once, in the source (images:DIR?height=N)";
    case DataStage::batch:
    case DataStage::step: return "the examples are as small as they get, the model computes little";
  }
  return {};
}

double share_of(const std::vector<InputReport::Stage>& stages, DataStage stage) {
  for (const InputReport::Stage& each : stages) {
    if (each.stage == stage) return each.share;
  }
  return 0;
}

std::string step_advice(const InputReport& report) {
  const std::string waits = "a step waits for data " + format_percent(report.wait_share) + " of its time";
  if (report.supply == DataSupply::sufficient) {
    return "computing is the bottleneck: " + waits + "; without --data the profile says which op takes longest";
  }
  const DataStage stage = report.slowest_of_batch;
  const std::string most = ", " + format_percent(share_of(report.steps, stage)) + " in " +
                           std::string(to_string(stage)) + ": " + remedy_for(stage);
  const bool starves = report.supply == DataSupply::starving;
  return (starves ? "data are the bottleneck: " : "computing is the bottleneck, and data slow it down: ") + waits +
         most;
}

std::string loading_advice(const InputReport& report) {
  const DataStage stage = report.slowest_of_loading;
  return "loading takes as long as " + format_fixed(report.loading_epochs, 1) + " epochs, " +
         format_percent(share_of(report.loading, stage)) + " of it in " + std::string(to_string(stage)) + ": " +
         remedy_for(stage);
}

std::vector<std::string> advice_of(const InputReport& report) {
  std::vector<std::string> advice = {step_advice(report)};
  if (report.loads_long()) advice.push_back(loading_advice(report));
  return advice;
}

std::string per_second(double number) { return number > 0 ? format_count(static_cast<uint64_t>(number)) : ""; }

std::vector<std::string> cells_of(std::string name, uint64_t calls, double seconds, const InputReport::Stage& stage) {
  const StageTotal& total = stage.total;
  const bool has_rate = total.bytes > 0 && total.seconds > 0;
  return {std::move(name),
          format_count(calls),
          format_fixed(seconds * 1e6, 1),
          has_rate ? format_fixed(static_cast<double>(total.bytes) / total.seconds / (1 << 20), 1) : "",
          per_second(stage.examples_per_second),
          format_percent(stage.share)};
}

Table table_with(std::string stages, std::string time) {
  using enum Table::Align;
  return Table({{std::move(stages)},
                {"CALLS", right},
                {std::move(time), right},
                {"MiB/s", right},
                {"EXAMPLES/s", right},
                {"SHARE", right}});
}

std::string tables_of(const InputReport& report, uint32_t step_count) {
  Table loading = table_with("BEFORE THE STEPS", "us");
  for (const InputReport::Stage& each : report.loading) {
    loading.add(cells_of(std::string(to_string(each.stage)), each.total.calls, each.total.seconds, each));
  }
  Table steps = table_with("IN EACH STEP", "us A STEP");
  for (const InputReport::Stage& each : report.steps) {
    if (each.stage == DataStage::step) {
      steps.add({"waits for these", "", format_fixed(report.wait_seconds * 1e6, 1), "", "",
                 format_percent(report.wait_share)});
    }
    steps.add(cells_of(std::string(to_string(each.stage)), each.total.calls, each.total.seconds / step_count, each));
  }
  return loading.text() + "\n" + steps.text();
}

nlohmann::json json_of(const std::vector<InputReport::Stage>& stages) {
  nlohmann::json list = nlohmann::json::array();
  for (const InputReport::Stage& each : stages) {
    list.push_back({{"stage", to_string(each.stage)},
                    {"calls", each.total.calls},
                    {"seconds", each.total.seconds},
                    {"bytes", each.total.bytes},
                    {"examples_per_second", each.examples_per_second},
                    {"share", each.share}});
  }
  return list;
}

nlohmann::json json_of(const InputReport& report) {
  return {{"loading", json_of(report.loading)},
          {"steps", json_of(report.steps)},
          {"wait_seconds", report.wait_seconds},
          {"computing_seconds", report.computing_seconds},
          {"wait_share", report.wait_share},
          {"loading_seconds", report.loading_seconds},
          {"loading_epochs", report.loading_epochs},
          {"data", to_string(report.supply)},
          {"slowest_of_batch", to_string(report.slowest_of_batch)},
          {"slowest_of_loading", to_string(report.slowest_of_loading)},
          {"advice", advice_of(report)}};
}

Status write_trace(const std::string& path, const Model& model, uint64_t fixed_bytes, const TrainingTrace& trace,
                   const StageLog& loading, const StageLog& steps) {
  std::vector<StageSlice> data = loading.slices();
  data.insert(data.end(), steps.slices().begin(), steps.slices().end());
  const std::string text = trace_json(model, fixed_bytes, trace, data);
  return os::write_file_atomically(path, as_bytes(text));
}

void report(const ProfileOptions& options, const Model& model, const InputReport& found, uint32_t batch_size,
            uint64_t examples, const TrainingTrace& trace, uint64_t left_out) {
  if (options.as_json) {
    nlohmann::json answer = json_of(found);
    answer["batch"] = batch_size;
    answer["examples"] = examples;
    answer["traced_steps"] = trace.training_steps();
    answer["trace_calls_left_out"] = left_out;
    print_json(answer);
    return;
  }
  const double step_ms = (found.wait_seconds + found.computing_seconds) * 1e3;
  print_text(printable(model.graph().name) + ", batch " + std::to_string(batch_size) + " of " +
             counted(examples, "example") + ": loaded in " + format_fixed(found.loading_seconds * 1e3, 1) + " ms, " +
             format_fixed(step_ms, 3) + " ms a step\n(mean of " + std::to_string(options.steps) + ")\n\n" +
             tables_of(found, options.steps) + "\n" + advice_text(found));
  if (options.trace.empty()) return;
  print_text(cut_trace_text(trace, options.steps));
  if (left_out > 0) {
    print_text("\nthe trace lacks " + counted(left_out, "call") + " of data, beyond " +
               format_count(StageLog::kSlicesMax) + "\n");
  }
}

}  // namespace

std::string advice_text(const InputReport& report) {
  std::string text;
  for (const std::string& advice : advice_of(report)) text += wrapped(advice, kColumns, 2) + "\n";
  return text;
}

ExitCode profile_data(const ProfileOptions& options, const Model& model, const StageLog::Clock& seconds_now) {
  StageLog loading(seconds_now), steps(seconds_now);
  Result<LocalData> data = open_data(options.data, model, &loading);
  if (!data) return fail_on_input(kCommand, data.error());
  TrainOptions training = options.training;
  training.loss = loss_for(data->examples.header(), options.loss);
  training.optimizer.learning_rate = default_learning_rate(training.optimizer.kind);
  InterruptibleSource examples(data->examples);
  TrainingTrace trace;
  StepTracer tracer(trace, seconds_now, &os::resident_bytes);
  const Result<ProfiledInput> profile =
      profile_input(model, training, examples, stored_bytes_of_example(data->examples.header()), options.steps, steps,
                    options.trace.empty() ? nullptr : &tracer);
  if (!profile) return fail_on_input(kCommand, profile.error().with_context(options.model));
  if (!options.trace.empty()) {
    const Status written = write_trace(options.trace, model, profile->fixed_bytes, trace, loading, steps);
    if (!written) return fail_on_output(kCommand, written.error());
  }
  const uint64_t loaded = data->examples.size() + (data->held_out ? data->held_out->size() : 0);
  const InputReport found =
      report_input(loading, loaded, steps, options.steps, profile->batch_size, profile->steps_an_epoch);
  report(options, model, found, profile->batch_size, data->examples.size(), trace,
         loading.slices_left_out() + steps.slices_left_out());
  return ExitCode::ok;
}

}  // namespace coterie
