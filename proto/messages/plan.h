// Plan: what a job asks of every device, immutable, named by the digest of its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "proto/messages/analytics.h"
#include "proto/messages/clip_rules.h"
#include "proto/messages/device_requirements.h"
#include "proto/messages/download_rules.h"
#include "proto/messages/drift_correction.h"
#include "proto/messages/early_stopping.h"
#include "proto/messages/fair_weight.h"
#include "proto/messages/ledger_head.h"
#include "proto/messages/lora_settings.h"
#include "proto/messages/personal_settings.h"
#include "proto/messages/population_log.h"
#include "proto/messages/privacy_rules.h"
#include "proto/messages/quantised_training.h"
#include "proto/messages/quantization.h"
#include "proto/messages/staleness.h"
#include "proto/messages/top_k.h"
#include "proto/messages/training_head.h"
#include "proto/messages/update_scalars.h"
#include "proto/messages/watch_settings.h"
#include "proto/ring/fixed_point.h"

namespace coterie {

enum class Loss : uint8_t {
  softmax_cross_entropy = 1,
  mean_squared_error,
  binary_cross_entropy,  // of logits
  binary_cross_entropy_of_probabilities,
  negative_log_likelihood,  // of log-probabilities
  kl_divergence,            // of log-probabilities from probabilities
  l1,
  huber,
  smooth_l1,
  cosine_embedding,  // output rows are pairs, one behind the other; labels 1 and -1
  triplet_margin,    // output rows are anchor, positive, negative; labels are not looked at
};
// What a loss compares the output with: class numbers (int32), or numbers of the output's own shape (float32).
enum class TargetKind : uint8_t { labels, values };
// As what the activations that backward reads are held between forward and backward. As bfloat16 they take half the
// memory, and each is off by at most 2^-8 of itself where the gradient is computed; where that makes two values equal,
// a maximum may send its gradient to the other one. Forward is exact, unless the CPU multiplies bfloat16: then operands
// of products are rounded likewise, forward and backward (ADR 196). Weights, optimizer state, and what an op keeps
// beside its output (statistics, masks) are float32.
enum class Storage : uint8_t { float32, bfloat16 };
enum class OptimizerKind : uint8_t { sgd = 1, adam, adamw, adagrad, rmsprop, adadelta, lamb, lion, muon, shampoo };
// float32         every coordinate is trained - given
// float32_pooled  the same, but running statistics come as proto/messages/running_statistics.h says
// quantized       clipped trained - given in few bits a value, as proto/messages/quantized_lanes.h says
// float32_clip_bit  clipped trained - given, and whether clipped
// top_k           the largest values of trained - given, as proto/messages/top_k.h says
// eden            trained - given in few bits a value, each update on a grid of its own (secure/quantize/eden.h)
enum class UpdateEncoding : uint8_t { float32 = 1, float32_pooled, quantized, float32_clip_bit, top_k, eden };

// SGD:  v <- momentum * v + (g + weight_decay * w);  w <- w - learning_rate * v           (PyTorch's convention)
// Adam: g += weight_decay * w; m, v moments with bias correction (Kingma and Ba 2015, algorithm 1);
//       w <- w - learning_rate * m_hat / (sqrt(v_hat) + epsilon)
// The others: train_kernels/tables/optimizer.h; muon, shampoo: device_sdk/runtime/muon_step.h, shampoo_step.h.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::sgd;
  float learning_rate = 0.1f;
  float momentum = 0;
  float weight_decay = 0;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float smoothing = 0.99f;  // rmsprop's alpha, adadelta's rho
  bool nesterov = false;    // sgd
  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;
};

struct TrainingSettings {
  Loss loss = Loss::softmax_cross_entropy;
  uint32_t batch_size = 16;
  uint32_t local_epochs = 1;
  uint32_t steps_max = 0;  // 0: no limit but local_epochs
  OptimizerSettings optimizer = {};

  float label_smoothing = 0;                 // softmax_cross_entropy
  float loss_threshold = 1;                  // huber's delta, smooth_l1's beta, the margin of the embedding losses
  std::vector<float> class_weights = {};     // softmax_cross_entropy and negative_log_likelihood; empty: ones
  std::optional<int32_t> ignore_label = {};  // LossSettings has it
  std::vector<TrainingHead> heads = {};      // likewise; empty: the model's own output has `loss`
  // Which parameters change, as TrainOptions has it (device_sdk/runtime/train_options.h). Updates have no others, but
  // for jobs of before ADR 109, where they have zeros there.
  std::vector<std::string> freeze = {};
  std::vector<std::string> train_only = {};
  uint32_t train_last = 0;
  // FedProx (Li et al. 2020): mu / 2 |w - given|^2 is added to the loss that each step lowers; 0: nothing is. What
  // devices report as their loss has no part of it.
  float proximal_mu = 0;
  // FedNova (Wang et al. 2020) with this effective number of steps: the update is scaled to what so many plain steps
  // would have come to (device_sdk/agent/normalised_steps.h); 0: it is as training left it. sgd alone.
  float normalised_steps = 0;
  // What devices' examples have beside their inputs.
  TargetKind target = TargetKind::labels;
  // A plan alone has one: the strategy of its job says it (scheduler/job/correction_rules.h).
  DriftCorrection correction = {};
  std::string augment = {};  // images, before each is trained on (proto/messages/augmentation.h); empty: as they are
  // Companions are trained instead of parameters, and merged when a round ends; fixed_a_seed is set.
  std::optional<LoraSettings> lora = {};
  // A matter of the device's memory and its own rounding: devices that do not know it take float32.
  Storage storage = Storage::float32;
  std::optional<EarlyStopping> early_stopping = {};  // none: all examples are trained on, in all local_epochs
  std::optional<PersonalSettings> personal = {};     // none: all of the model is trained together
  // HeteroFL (Diao et al. 2021): the widths that devices may train the model at (model_widths.h), in millionths,
  // falling from the whole one; empty: all train all of it.
  std::vector<uint32_t> widths = {};
  std::optional<WatchSettings> watch = {};    // none: nobody looks at the training
  std::optional<QuantisedTraining> qat = {};  // none: devices train float32, and nothing is rounded
  friend bool operator==(const TrainingSettings&, const TrainingSettings&) = default;
};

// The shape of an update: one coordinate for each float32 of the model's payload (padding between parameters included,
// always 0), or for each that is trained (trained_values.h); local - global; of running statistics as `encoding` says;
// with float32_clip_bit one more. With a control part so many again behind them (drift_correction.h): of each parameter
// its control's, and 0. Scalars are the last (update_scalars.h).
struct UpdateRules {
  UpdateEncoding encoding = UpdateEncoding::float32;
  uint64_t value_count = 0;
  float clip_l2 = 0;  // the device scales its update, all parts by one factor, to at most this norm; 0: no clipping.
                      // With float32_pooled running statistics do not count
  FixedPointSpec fixed_point;  // of quantized updates its bounds alone: lanes are levels
  QuantizationRules quantization = {};
  ClipRules clip = {};
  uint64_t control_value_count = 0;  // of value_count, behind the first: the update's second part; 0: it has none
  uint64_t whole_value_count = 0;    // of the model, where an update has the trained values alone; 0: it has all
  TopKRules top_k = {};
  bool has_clip_bit() const { return encoding == UpdateEncoding::float32_clip_bit; }
  bool has_trained_alone() const { return whole_value_count > 0; }
  // Whether a payload has all values as they are.
  bool is_float32() const {
    return encoding == UpdateEncoding::float32 || encoding == UpdateEncoding::float32_pooled || has_clip_bit();
  }
  // Bits of a value or a level, where a payload has not all values as they are; else 0.
  uint32_t level_bits() const { return encoding == UpdateEncoding::top_k ? top_k.bits : quantization.bits; }
  // How far the model moves: as many as `gather` gives (trained_values.h), or as the model has.
  uint64_t step_value_count() const { return vector_value_count() - control_value_count - (has_clip_bit() ? 1 : 0); }
  uint64_t model_value_count() const { return has_trained_alone() ? whole_value_count : step_value_count(); }
  std::vector<ScalarRule> scalars = {};  // of value_count, the last
  FairWeight fair = {};                  // by what devices weigh beside
  // All but the scalars: what clips and norms are of.
  uint64_t vector_value_count() const { return value_count - scalars.size(); }
  friend bool operator==(const UpdateRules&, const UpdateRules&) = default;
};

struct Plan {
  JobId job;
  TrainingSettings training;
  UpdateRules update;
  PrivacyRules privacy;
  LedgerHead ledger = {};  // of a job whose releases are in one: from before the round; no records: there is
                           // none, or none yet
  std::optional<SignedLogHead> log = {};        // of the job's population, from the same moment; none: it has no record
  DeviceRequirements device_requirements = {};  // while a device works by this plan
  std::optional<Digest> control = {};           // with a control part: of the file with the server's control, an
      // OptimizerStateHeader frame of one vector; none: zeros, as in the first round
  StalenessRules staleness = {};  // of a job with buffered rounds: whether a later round may count the update
  DownloadRules download = {};    // older devices do not know it
  // What devices count instead of training, of which all settings are at their defaults; the model is the table so far.
  std::optional<AnalyticsRules> analytics = {};
  friend bool operator==(const Plan&, const Plan&) = default;
};

// In the enums' order.
std::span<const std::string_view> loss_names();
std::span<const std::string_view> optimizer_names();
std::span<const std::string_view> target_names();
std::span<const std::string_view> storage_names();  // float32, bf16
std::string_view to_string(Loss loss);
std::string_view to_string(OptimizerKind kind);
std::string_view to_string(TargetKind kind);
std::string_view to_string(Storage storage);
std::optional<Loss> loss_from(std::string_view name);
std::optional<OptimizerKind> optimizer_from(std::string_view name);

// Every rule a plan must obey, the same on the server that makes it and on the device that receives it.
Status validate(const Plan& plan);

}  // namespace coterie
