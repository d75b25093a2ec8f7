// coterie model delegate: what a delegate computes of a model, whether it computes the same, and how long it takes; of
// predictions, or of a training.
#pragma once

#include <cstdint>
#include <string>

#include "proto/messages/plan.h"
#include "tools/cli/exit_code.h"

namespace coterie {

class Delegate;
class Model;

struct ModelDelegateOptions {
  std::string model;  // file
  std::string to;     // a name that open_delegate knows
  uint32_t batch_size = 1;
  uint32_t threads = 1;
  uint32_t steps = 20;                      // measured, with and without
  bool takes_whatever_cost = false;         // PartitionSettings
  bool trains = false;                      // forward and backward, in place of predictions
  Loss loss = Loss::softmax_cross_entropy;  // of that
  bool as_json = false;
};

// On random inputs. failure: a part was refused.
ExitCode delegate_model(const ModelDelegateOptions& options);
// The same with what `options.model` and `options.to` name, opened.
ExitCode delegate_opened_model(const ModelDelegateOptions& options, const Model& model, Delegate& delegate);

}  // namespace coterie
