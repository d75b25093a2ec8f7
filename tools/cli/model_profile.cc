#include "tools/cli/model_profile.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "base/os/resident_memory.h"
#include "device_sdk/runtime/profiler.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/model_profile_data.h"
#include "tools/cli/profile_table.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/training_trace.h"
#include "tools/roofline/measured_peaks.h"
#include "tools/roofline/roofline_chart.h"
#include "tools/roofline/roofline_text.h"
#include "train_kernels/kernel_table.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model profile";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string memory_text(const TrainingMemory& memory) {
  return "memory " + format_bytes(memory.arena_bytes) + ": parameters " + format_bytes(memory.parameter_bytes) +
         ", optimizer " + format_bytes(memory.optimizer_bytes) + ", computed once " +
         format_bytes(memory.prepared_bytes) + ",\nactivations, gradients and scratch " +
         format_bytes(memory.planned_bytes) + " (at least " + format_bytes(memory.planned_lower_bound) + ")\n";
}

nlohmann::json json_of(const std::vector<OpTime>& ops) {
  nlohmann::json list = nlohmann::json::array();
  for (const OpTime& op : ops) {
    list.push_back({{"name", op.name},
                    {"kind", op.kind},
                    {"forward_seconds", op.forward_seconds},
                    {"backward_seconds", op.backward_seconds},
                    {"forward_flops", op.forward_flops},
                    {"algorithm", op.algorithm}});
  }
  return list;
}

MachinePeaks peaks_of(const ProfileOptions& options) {
  MachinePeaks peaks;
  if (!options.peak_gflops || !options.memory_gbps) {
    peaks = measured_peaks(options.training.threads, kernels::kernels().name);
  }
  if (options.peak_gflops) peaks.flops_per_second = *options.peak_gflops * 1e9;
  if (options.memory_gbps) peaks.memory = {{0, *options.memory_gbps * 1e9}};
  return peaks;
}

// Empty without a roofline.
struct ProfiledRoofline {
  MachinePeaks peaks;
  std::vector<RoofedOp> ops;
};

Result<ProfiledRoofline> roofline_of(const ProfileOptions& options, const Model& model,
                                     const TrainingProfile& profile) {
  ProfiledRoofline made;
  if (!options.has_roofline) return made;
  made.peaks = peaks_of(options);
  made.ops = roofline(profile, model.graph(), made.peaks);
  if (options.chart.empty()) return made;
  const std::string title = printable(model.graph().name) + ", batch " + std::to_string(options.training.batch_size);
  COT_TRY(os::write_file_atomically(options.chart, as_bytes(draw_roofline(made.ops, made.peaks, title))));
  return made;
}

}  // namespace

std::string cut_trace_text(const TrainingTrace& trace, uint32_t steps) {
  if (trace.training_steps() >= steps) return {};
  return "\nthe trace has the first " + format_count(trace.training_steps()) + " of " + counted(steps, "step") + "\n";
}

ExitCode profile_model(const ProfileOptions& options) {
  if (const Status distinct = distinct_files({{"FILE", options.model}, {"--data", options.data}},
                                             {{"--trace", options.trace}, {"--svg", options.chart}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  const Result<Model> model = open_model(options.model);
  if (!model) return fail_on_input(kCommand, model.error());
  if (!options.data.empty()) return profile_data(options, *model, &seconds_now);
  TrainingTrace trace;
  TrainOptions training = options.training;
  training.loss.kind = options.loss.value_or(Loss::softmax_cross_entropy);
  const Result<TrainingProfile> profile = profile_training(
      *model, training, options.steps, &seconds_now, options.trace.empty() ? nullptr : &trace, &os::resident_bytes);
  if (!profile) return fail_on_input(kCommand, profile.error().with_context(options.model));
  if (!options.trace.empty()) {
    const std::string text = trace_json(*model, fixed_bytes(profile->memory), trace);
    const Status written = os::write_file_atomically(options.trace, as_bytes(text));
    if (!written) return fail_on_output(kCommand, written.error());
  }
  const Result<ProfiledRoofline> roofs = roofline_of(options, *model, *profile);
  if (!roofs) return fail_on_output(kCommand, roofs.error());
  const TrainingMemory& memory = profile->memory;
  if (options.as_json) {
    nlohmann::json answer = {{"batch", options.training.batch_size},
                             {"step_seconds", profile->step_seconds},
                             {"traced_steps", trace.training_steps()},
                             {"forward_flops", profile->forward_flops},
                             {"memory",
                              {{"bytes", memory.arena_bytes},
                               {"parameters", memory.parameter_bytes},
                               {"optimizer", memory.optimizer_bytes},
                               {"prepared", memory.prepared_bytes},
                               {"planned", memory.planned_bytes},
                               {"planned_lower_bound", memory.planned_lower_bound}}},
                             {"ops", json_of(profile->ops)}};
    if (options.has_roofline) answer["roofline"] = roofline_json(roofs->ops, roofs->peaks);
    print_json(answer);
    return ExitCode::ok;
  }
  print_text(printable(model->graph().name) + ", batch " + std::to_string(options.training.batch_size) + ": " +
             format_fixed(profile->step_seconds * 1e3, 3) + " ms a step (median of " + std::to_string(options.steps) +
             "), GFLOP/s of forward\n" + memory_text(memory) + "\n" + kinds_table(profile->ops) + "\n" +
             ops_table(profile->ops));
  if (options.has_roofline) print_text("\n" + roofline_text(roofs->ops, roofs->peaks));
  if (!options.trace.empty()) print_text(cut_trace_text(trace, options.steps));
  return ExitCode::ok;
}

}  // namespace coterie
