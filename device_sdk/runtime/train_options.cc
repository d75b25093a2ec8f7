#include "device_sdk/runtime/train_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/concat.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/parse_number.h"
#include "proto/messages/quantised_training_text.h"
#include "proto/messages/trained_values.h"

namespace coterie {
namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"training: ", what})); }

bool is_limit(float value) { return std::isfinite(value) && value >= 0; }

Status check_loss(const LossSettings& loss) {
  if (to_string(loss.kind) == "unknown") return bad("the loss is unknown");
  if (!(loss.label_smoothing >= 0 && loss.label_smoothing < 1)) return bad("label_smoothing must be in [0, 1)");
  if (!is_limit(loss.threshold)) return bad("the loss's threshold must be a number of at least 0");
  if (loss.kind == Loss::huber && loss.threshold == 0) return bad("huber needs a threshold above 0");
  if (!std::all_of(loss.class_weights.begin(), loss.class_weights.end(), is_limit)) {
    return bad("class weights must be numbers of at least 0");
  }
  if (kHasHeads && !loss.heads.empty()) return check_loss_heads(loss);
  if (loss.label_smoothing > 0 && loss.kind != Loss::softmax_cross_entropy) {
    return bad(concat({to_string(loss.kind), " has no label smoothing"}));
  }
  if (!loss.class_weights.empty() && loss.kind != Loss::softmax_cross_entropy &&
      loss.kind != Loss::negative_log_likelihood) {
    return bad(concat({to_string(loss.kind), " has no class weights"}));
  }
  return {};
}

// Augmentation is refused where its text is read.
Status check_left_out(const TrainOptions& options) {
  if (!kHasBfloat16 && options.storage != Storage::float32)
    return left_out("training: storage must be float32", "bf16");
  if (!kHasEarlyStopping && options.early_stopping)
    return left_out("training: no examples can be held out", "early_stopping");
  if (!kHasChannels && !options.channels.empty()) return left_out("training: channels must be empty", "channels");
  if (!kHasEncryption && options.checkpoint_cipher) {
    return left_out("training: checkpoints cannot be encrypted", "encryption");
  }
  if (!kHasHeads && !options.loss.heads.empty()) return left_out("training: no heads can be trained", "heads");
  if (!kHasLossScaling && options.loss_scaling != LossScaling()) {
    return left_out("training: the loss cannot be scaled", "loss_scaling");
  }
  if (!kHasMemoryLimit && options.planned_bytes_max > 0) {
    return left_out("training: planned_bytes_max must be 0", "memory_limit");
  }
  if (!kHasQat && options.qat) return left_out("training: qat must not be asked for", "qat");
  if (!kHasThreads && options.threads > 1) return left_out("training: threads must be 1", "threads");
  return {};
}

}  // namespace

Result<int32_t> parse_ignore_label(std::string_view text) {
  int32_t label = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, label);
  if (error == std::errc() && stopped == end) return label;
  return bad(concat({"ignore_label must be an integer of 32 bits such as -100 or 255, is ", text}));
}

Result<Storage> parse_storage(std::string_view text) {
  const auto names = storage_names();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<Storage>(found - names.begin());
  return bad(concat({"the storage of activations must be float32 or bf16, is ", text}));
}

Result<ParameterGroup> parse_group(std::string_view text) {
  const Error wrong = bad(concat({"a group must be PATTERN:lr=X,decay=Y or one of them, is ", text}));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong;
  ParameterGroup group{.pattern = std::string(text.substr(0, colon))};
  std::string_view numbers = text.substr(colon + 1);
  for (bool is_last = false; !is_last;) {
    const size_t comma = numbers.find(',');
    std::string_view number = numbers.substr(0, comma);
    is_last = comma == std::string_view::npos;
    if (!is_last) numbers.remove_prefix(comma + 1);
    const size_t equals = number.find('=');
    if (equals == std::string_view::npos) return wrong;
    const std::string_view name = number.substr(0, equals);
    number.remove_prefix(equals + 1);
    if (name != "lr" && name != "decay") return wrong;
    float& into = name == "lr" ? group.learning_rate_scale : group.weight_decay;
    if (!parse_number(number, into) || !is_limit(into)) return wrong;
  }
  return group;
}

LossSettings loss_of(const TrainingSettings& settings) {
  return {.kind = settings.loss,
          .target = settings.target,
          .label_smoothing = settings.label_smoothing,
          .threshold = settings.loss_threshold,
          .class_weights = settings.class_weights,
          .ignore_label = settings.ignore_label,
          .heads = settings.heads};
}

TrainOptions options_of(const TrainingSettings& settings, uint64_t seed) {
  TrainOptions options;
  options.loss = loss_of(settings);
  options.optimizer = settings.optimizer;
  options.batch_size = settings.batch_size;
  options.epochs = settings.local_epochs;
  options.steps_max = settings.steps_max;
  options.freeze = settings.freeze;
  options.train_only = settings.train_only;
  options.train_last = settings.train_last;
  options.proximal_mu = settings.proximal_mu;
  options.seed = seed;
  options.augment = settings.augment;
  options.storage = settings.storage;
  options.early_stopping = settings.early_stopping;
  options.qat = settings.qat;
  return options;
}

Status check_options(const TrainOptions& options) {
  COT_TRY(check_left_out(options));
  COT_TRY(check_loss(options.loss));
  COT_TRY(check_optimizer(options.optimizer));
  COT_TRY(check_schedule(options.schedule));
  if (kHasLossScaling) COT_TRY(check_loss_scaling(options.loss_scaling));
  if (const auto& q = options.qat;
      kHasQat && q &&
      (to_string(q->parts) == "unknown" || q->weight_bits < kWeightBitsMin || q->weight_bits > kWeightBitsMax)) {
    return bad("qat must be of weights or full, with 2 to 8 bits of a weight");
  }
  if (kHasQat && kHasHeads && options.qat && !options.loss.heads.empty())
    return bad("qat and heads do not go together");
  if (options.batch_size < 1) return bad("batch_size must be at least 1");
  if (!(options.part_nanoseconds_min >= 0)) return bad("part_nanoseconds_min must be at least 0");
  if (options.threads < 1 || options.threads > limits::kThreadsMax) {
    return bad(concat({"threads must be in 1..", limits::kThreadsMax, ", are ", options.threads}));
  }
  if (options.micro_batch_size > 0 && options.batch_size % options.micro_batch_size != 0) {
    return bad(
        concat({"micro_batch_size ", options.micro_batch_size, " does not divide batch_size ", options.batch_size}));
  }
  if (options.epochs < 1) return bad("epochs must be at least 1");
  if (!is_limit(options.clip_norm) || !is_limit(options.clip_value)) {
    return bad("clip_norm and clip_value must be numbers of at least 0");
  }
  if (!is_limit(options.proximal_mu)) return bad("proximal_mu must be a number of at least 0");
  if (const std::optional<EarlyStopping>& stopping = options.early_stopping; kHasEarlyStopping && stopping) {
    if (!(stopping->validation_share > 0 && stopping->validation_share <= kValidationShareMax)) {
      return bad("validation_share must be in (0, 0.5]");
    }
    if (stopping->patience < 1 || stopping->patience > kPatienceMax) {
      return bad(concat({"patience must be in 1..", kPatienceMax}));
    }
  }
  for (const ParameterGroup& group : options.groups) {
    if (!is_limit(group.learning_rate_scale) || !is_limit(group.weight_decay)) {
      return bad(concat({"the numbers of group ", group.pattern, " must be at least 0"}));
    }
  }
  return {};
}

Result<std::vector<bool>> trainable_tensors(const ModelGraph& graph, const TrainOptions& options) {
  return trained_tensors(graph, {options.freeze, options.train_only, options.train_last});
}

}  // namespace coterie
