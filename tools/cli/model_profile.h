// coterie model profile: where the time and the memory of training go.
#pragma once

#include <optional>
#include <string>

#include "device_sdk/runtime/step_tracer.h"
#include "device_sdk/runtime/train_options.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct ProfileOptions {
  std::string model;         // file
  std::string data;          // a data set file or a name that load_data knows; empty: random examples
  TrainOptions training;     // optimizer, batch_size, freeze; augment, with data alone
  std::optional<Loss> loss;  // by the data unless given; without data softmax_cross_entropy
  uint32_t steps = 20;
  std::string trace;  // file of the timeline (tools/model/training_trace.h); empty: none
  // How near each op comes to what the machine can, measured for it unless given; not with data.
  bool has_roofline = false;
  std::optional<double> peak_gflops, memory_gbps;
  std::string chart;  // file of the roofline as SVG; empty: none
  bool as_json = false;
};
ExitCode profile_model(const ProfileOptions& options);

// That a trace of so many steps of training does not have them all; empty if it has.
std::string cut_trace_text(const TrainingTrace& trace, uint32_t steps);

}  // namespace coterie
