// coterie model train: trains a model file on data of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device_sdk/runtime/head.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/train_options.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct TrainCommand {
  std::string model, data;   // files; of the data also a name that load_data knows
  std::string to;            // where the trained model goes; see trained_name
  TrainOptions training;     // its loss but for the settings of label smoothing and threshold is found by the data
  std::optional<Loss> loss;  // by the data unless given
  std::optional<float> learning_rate;  // by the optimizer unless given
  std::optional<HeadSettings> head;    // replaced before anything else
  std::optional<LoraSettings> lora;    // trains companions of weights; what is written is merged
  std::string checkpoint;              // file; empty: none
  std::string checkpoint_key;          // file of 32 bytes; empty: the checkpoint is plain
  bool resumes = false;                // from the checkpoint, if it is there
  uint32_t checkpoint_steps = 0;       // beside every end of an epoch; 0: never
  uint64_t memory_budget = 0;          // bytes; 0: no limit but the runtime's
  std::string log_dir;                 // of TensorBoard's event files; empty: none
  std::string mlflow;                  // address of a tracking server of MLflow; empty: none
  std::string watch;                   // "recommended", or a watch file; empty: nothing is watched
  std::string watch_report;            // file of what the watch found, in JSON; empty: none
  std::string record;                  // folder that steps are recorded into; empty: none are
  uint32_t record_every = 1;           // the steps 0, record_every, 2 record_every, ...
  uint64_t record_bytes_max = 0;       // of all of them; 0: kRecordBytesMax
  std::string delegate;                // a name that open_delegate knows; empty: our kernels compute all of it
  bool as_json = false;
  bool is_quiet = false;
};

// Where a trained model goes unless told: beside `model`, never over it. "a/net.cot" gives "a/net.trained.cot".
std::string trained_name(const std::string& model);

// Ends with ExitCode::interrupted after Ctrl-C, the checkpoint written.
ExitCode train_model(const TrainCommand& command);

}  // namespace coterie
