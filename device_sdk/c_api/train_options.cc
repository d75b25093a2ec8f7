#include "device_sdk/c_api/train_options.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device_sdk/c_api/structs.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/parse_optimisation.h"
#include "proto/messages/quantised_training_text.h"
#include "secure/crypto/xchacha20_poly1305.h"

namespace coterie {
namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "options." + what); }

// Reads an enum whose values count from 1 and whose to_string says "unknown" behind the last.
template <typename Value>
std::string all_names() {
  std::string names;
  for (uint8_t i = 1; to_string(static_cast<Value>(i)) != "unknown"; ++i) {
    names += (i == 1 ? "" : ", ") + std::string(to_string(static_cast<Value>(i)));
  }
  return names;
}

template <typename Value>
Result<Value> named(const char* option, const char* name, std::optional<Value> (*find)(std::string_view),
                    Value otherwise) {
  if (name == nullptr) return otherwise;
  if (const std::optional<Value> found = find(name)) return *found;
  return bad(std::string(option) + " is " + name + ", it must be one of " + all_names<Value>());
}

template <typename T>
Result<std::span<const T>> array(const char* option, const T* values, size_t count) {
  if (values == nullptr && count > 0)
    return bad(std::string(option) + " is NULL, with a count of " + std::to_string(count));
  return std::span<const T>(values, count);
}

Result<std::vector<std::string>> patterns(const char* option, const char* const* texts, size_t count) {
  COT_ASSIGN(const auto given, array(option, texts, count));
  std::vector<std::string> all;
  for (const char* text : given) {
    if (text == nullptr) return bad(std::string(option) + "[" + std::to_string(all.size()) + "] is NULL");
    all.emplace_back(text);
  }
  return all;
}

template <typename T>
T or_else(T given, T otherwise) {
  return given == 0 ? otherwise : given;
}

// Each text as `parse` reads it.
template <typename Value>
Result<std::vector<Value>> parsed(const char* option, const char* const* texts, size_t count,
                                  Result<Value> (*parse)(std::string_view)) {
  COT_ASSIGN(const std::vector<std::string> given, patterns(option, texts, count));
  std::vector<Value> values;
  for (const std::string& text : given) {
    COT_ASSIGN(Value value, parse(text));
    values.push_back(std::move(value));
  }
  return values;
}

Result<LossSettings> loss_of(const coterie_train_options& given) {
  LossSettings loss;
  COT_ASSIGN(loss.kind, named("loss", given.loss, &loss_from, loss.kind));
  if (given.targets_are_values != 0) loss.target = TargetKind::values;
  loss.label_smoothing = given.label_smoothing;
  loss.threshold = or_else(given.loss_threshold, loss.threshold);
  COT_ASSIGN(const auto weights, array("class_weights", given.class_weights, given.class_weight_count));
  loss.class_weights.assign(weights.begin(), weights.end());
  if (given.ignore_label != nullptr) {
    COT_ASSIGN(loss.ignore_label, parse_ignore_label(given.ignore_label));
  }
  if (given.head_count > kHeadsMax) {
    return bad("head_count is " + std::to_string(given.head_count) + ", at most " + std::to_string(kHeadsMax));
  }
  COT_ASSIGN(std::vector<TrainingHead> heads, parsed("heads", given.heads, given.head_count, &parse_training_head));
  if (!heads.empty() && given.loss != nullptr) return bad("loss does not go with heads: each of them has its own");
  set_heads(loss, std::move(heads));
  return loss;
}

Result<OptimizerSettings> optimizer_of(const coterie_train_options& given) {
  OptimizerSettings optimizer;
  COT_ASSIGN(optimizer.kind, named("optimizer", given.optimizer, &optimizer_from, optimizer.kind));
  if (!(given.learning_rate >= 0)) return bad("learning_rate must be a number of at least 0");
  optimizer.learning_rate = or_else(given.learning_rate, optimizer.kind == OptimizerKind::sgd ? 0.1f : 0.001f);
  optimizer.momentum = given.momentum;
  optimizer.nesterov = given.nesterov != 0;
  optimizer.weight_decay = given.weight_decay;
  optimizer.beta1 = or_else(given.beta1, optimizer.beta1);
  optimizer.beta2 = or_else(given.beta2, optimizer.beta2);
  optimizer.epsilon = or_else(given.epsilon, optimizer.epsilon);
  optimizer.smoothing = or_else(given.smoothing, optimizer.smoothing);
  return optimizer;
}

Result<std::shared_ptr<const AuthenticatedCipher>> cipher_of(const coterie_train_options& given) {
  COT_ASSIGN(const auto key, array("checkpoint_key", given.checkpoint_key, given.checkpoint_key_size));
  if (key.empty()) return std::shared_ptr<const AuthenticatedCipher>();
  if (key.size() != CipherKey::kSize) {
    return bad("checkpoint_key has " + std::to_string(key.size()) + " bytes, it must have 32");
  }
  return std::shared_ptr<const AuthenticatedCipher>(
      make_xchacha20_poly1305(CipherKey(std::span<const uint8_t, CipherKey::kSize>(key))));
}

}  // namespace

Result<KnownOptions> train_options_of(const coterie_train_options* given) {
  coterie_train_options known{};
  if (given != nullptr) {
    COT_ASSIGN(known, known_part(given, "options"));
  }
  KnownOptions all;
  TrainOptions& options = all.training;
  COT_ASSIGN(options.loss, loss_of(known));
  COT_ASSIGN(options.optimizer, optimizer_of(known));
  if (known.schedule != nullptr) {
    COT_ASSIGN(options.schedule, parse_schedule(known.schedule));
  }
  options.batch_size = or_else(known.batch_size, options.batch_size);
  options.micro_batch_size = known.micro_batch_size;
  options.epochs = or_else(known.epochs, options.epochs);
  options.steps_max = known.steps_max;
  options.clip_norm = known.clip_norm;
  options.clip_value = known.clip_value;
  COT_ASSIGN(options.freeze, patterns("freeze", known.freeze, known.freeze_count));
  COT_ASSIGN(options.train_only, patterns("train_only", known.train_only, known.train_only_count));
  options.freeze_statistics = known.freeze_statistics != 0;
  options.seed = known.seed;
  options.arena_bytes_max = or_else(known.memory_bytes_max, options.arena_bytes_max);
  options.train_last = known.train_last;
  COT_ASSIGN(options.channels, parsed("channels", known.channels, known.channel_count, &parse_channels));
  COT_ASSIGN(options.groups, parsed("groups", known.groups, known.group_count, &parse_group));
  COT_ASSIGN(options.checkpoint_cipher, cipher_of(known));
  if (known.lora != nullptr) {
    COT_ASSIGN(all.lora, parse_lora(known.lora));
  }
  options.threads = or_else(known.threads, options.threads);
  if (known.storage != nullptr) {
    COT_ASSIGN(options.storage, parse_storage(known.storage));
  }
  if (known.loss_scale != nullptr) {
    COT_ASSIGN(options.loss_scaling, parse_loss_scaling(known.loss_scale));
  }
  if (known.augment != nullptr) options.augment = known.augment;
  if (known.qat != nullptr) {
    COT_ASSIGN(options.qat, parse_quantised_training(known.qat));
    if (all.lora) return bad("qat does not go with lora: what companions are merged into is rounded when they are");
  }
  if (known.optimise != nullptr) {
    COT_ASSIGN(options.optimisation, parse_optimisation(known.optimise));
  }
  all.memory_budget_bytes = known.memory_budget_bytes;
  return all;
}

}  // namespace coterie
