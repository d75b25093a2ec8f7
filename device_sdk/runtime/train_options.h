// What training is told: the superset of a job's TrainingSettings, for a device that trains for itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/channels.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/loss_scaling.h"
#include "device_sdk/runtime/optimisation.h"
#include "device_sdk/runtime/schedule.h"
#include "proto/messages/model.h"
#include "proto/messages/plan.h"
#include "secure/crypto/cipher.h"

namespace coterie {

struct LossSettings {
  Loss kind = Loss::softmax_cross_entropy;
  TargetKind target = TargetKind::labels;
  float label_smoothing = 0;              // softmax_cross_entropy, in [0, 1)
  float threshold = 1;                    // huber's delta, smooth_l1's beta, the margin of the embedding losses
  std::vector<float> class_weights = {};  // softmax_cross_entropy and negative_log_likelihood; empty: ones
  // Likewise, of labels: rows with this label have no loss and no gradient and are counted nowhere, in no mean and no
  // accuracy, as PyTorch's ignore_index has it. It may be a class. A batch that has no other has the loss 0.
  std::optional<int32_t> ignore_label = {};
  // Several outputs with a loss each, of which the weighted sum is lowered (loss_heads.h). Then `kind` is the first
  // one's, `target` says what the examples have, and what belongs to a loss is of all heads that take it. Empty: one
  // loss, of the model's own output.
  std::vector<TrainingHead> heads = {};
  friend bool operator==(const LossSettings&, const LossSettings&) = default;
};

// Parameters whose name matches `pattern` (name_pattern.h) are trained with these; the first group that matches counts.
struct ParameterGroup {
  std::string pattern;
  float learning_rate_scale = 1;
  float weight_decay = 0;
  friend bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

struct TrainOptions {
  LossSettings loss;
  OptimizerSettings optimizer;
  LearningRateSchedule schedule;
  uint32_t batch_size = 32;  // examples an optimizer step
  // Examples computed at a time; their gradients are added up (a "virtual batch"). 0: the whole batch. Divides
  // batch_size. The same result up to rounding, unless the model has batch norm in training mode.
  uint32_t micro_batch_size = 0;
  uint32_t epochs = 1;
  uint32_t steps_max = 0;  // 0: no limit but epochs
  float clip_norm = 0;     // of the whole gradient, in L2; 0: not clipped
  float clip_value = 0;    // of each element, after clip_norm; 0: not clipped

  std::vector<std::string> freeze = {};  // patterns of parameters that stay as they are, beside those the model freezes
  std::vector<std::string> train_only = {};  // patterns; if any, every other parameter stays as it is
  uint32_t train_last = 0;  // if above 0: only the parameters of so many last layers that have any; without train_only
  std::vector<ChannelUpdate> channels = {};  // of parameters that are trained, the only channels that change
  std::vector<ParameterGroup> groups = {};
  // Each step's gradient has mu * (w - start) in it, whatever the optimizer makes of it: FedProx (Li et al. 2020). It
  // is neither clipped nor part of the loss that is reported. 0: none.
  float proximal_mu = 0;
  // Each step's gradient has this vector in it, as many values as the model's, beside what proximal_mu adds: what the
  // device's state of a job says (drift_correction.h). Neither clipped nor part of the loss. Null: nothing.
  std::shared_ptr<const std::vector<float>> gradient_offset = {};
  bool freeze_statistics = false;  // batch norm uses its running statistics and leaves them alone

  uint32_t threads = 1;  // with the caller's own, at most limits::kThreadsMax; the results are the same bits
  double part_nanoseconds_min = limits::kPartNanosecondsMin;  // smaller parts of a step are not given to a thread
  Storage storage = Storage::float32;
  // A step whose gradient is not finite is skipped: its examples count as seen, and nothing else changes.
  LossScaling loss_scaling = {};
  uint64_t seed = 0;
  uint64_t arena_bytes_max = limits::kArenaBytesMax;  // Trainer::create fails if this is too little
  std::shared_ptr<const AuthenticatedCipher> checkpoint_cipher =
      {};  // checkpoints are encrypted; empty: they are plain
  // A limit of TrainingMemory::planned_bytes: what does not fit is computed again in backward rather than held, to
  // the same bits, and weights that are not trained are prepared for the kernels in each step rather than
  // once. Trainer::create fails if this is too little all the same. 0: no limit, nothing is computed again.
  uint64_t planned_bytes_max = 0;
  // Neighbouring steps that go element by element run as one. The results are the same bits; false is for those who
  // look at each step.
  bool joins_steps = true;
  // With several threads, independent branches may run at the same time (waves.h). The same bits; false is for who
  // measures what that is worth.
  bool runs_waves = true;
  // Which neighbouring ops are computed as one (fusion.h); a norm is part of a layer only where neither is trained.
  Optimisation optimisation = Optimisation::rounding;
  // The model's first input, an image, is augmented each time it is read (augment.h): parse_augmentation's text. The
  // seed decides with the epoch and the example's number, whatever the order, threads or checkpoints. Empty: it is not.
  std::string augment = {};
  // A share of the examples is held out, and the training ends where they stop gaining from it (validation.h); what is
  // kept are the parameters of their lowest loss. A share that comes to no example holds out none. None: all are
  // trained on.
  std::optional<EarlyStopping> early_stopping = {};
  // Forward computes with the integers that the model will be quantised to; the parameters stay float32, and so do
  // evaluations of held-out examples. Ops are then not fused. Ranges of activations follow each micro-batch. None:
  // nothing is rounded.
  std::optional<QuantisedTraining> qat = {};
};

// "features.*:lr=0.1", "*.bias:lr=2,decay=0": lr is learning_rate_scale, 1 unless given, and decay weight_decay, 0
// unless given. invalid_argument says what is wrong.
Result<ParameterGroup> parse_group(std::string_view text);

// "-100", "255": LossSettings::ignore_label. invalid_argument.
Result<int32_t> parse_ignore_label(std::string_view text);

// "float32" or "bf16". invalid_argument.
Result<Storage> parse_storage(std::string_view text);

// What a job's plan has of a loss.
LossSettings loss_of(const TrainingSettings& settings);

// The options that a job's plan stands for.
TrainOptions options_of(const TrainingSettings& settings, uint64_t seed);

// invalid_argument names the option.
Status check_options(const TrainOptions& options);

// Which tensors are trained, per tensor of the graph. Errors: those of trained_tensors
// (proto/messages/trained_values.h).
Result<std::vector<bool>> trainable_tensors(const ModelGraph& graph, const TrainOptions& options);

}  // namespace coterie
