#include "proto/messages/training_rules.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "proto/messages/augmentation.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/quantised_training_text.h"
#include "proto/messages/watch_lanes.h"
#include "proto/messages/width_share.h"

namespace coterie {
namespace {

std::string job_check_names() {
  std::string names;
  for (const JobCheck& check : job_checks()) names += (names.empty() ? "" : ", ") + std::string(check.name);
  return names;
}

class Rules {
 public:
  void require(bool condition, std::string pointer, std::string detail) {
    if (!condition) problems_.push_back({std::move(pointer), std::move(detail)});
  }
  // NaN is in no range.
  void in_range(float value, float low, float high, std::string pointer, std::string range) {
    require(std::isfinite(value) && value >= low && value <= high, std::move(pointer), "must be in " + range);
  }
  Problems take() { return std::move(problems_); }

 private:
  Problems problems_;
};

bool has_epsilon(OptimizerKind kind) {
  return kind != OptimizerKind::sgd && kind != OptimizerKind::lion && to_string(kind) != "unknown";
}

void check(const OptimizerSettings& optimizer, Rules& rules) {
  rules.require(to_string(optimizer.kind) != "unknown", "/optimizer/kind", "is no optimizer that this version knows");
  rules.in_range(optimizer.learning_rate, 0, 1e6f, "/optimizer/learning_rate", "(0, 1e6]");
  rules.require(optimizer.learning_rate != 0, "/optimizer/learning_rate", "must be in (0, 1e6]");
  rules.in_range(optimizer.momentum, 0, 1, "/optimizer/momentum", "[0, 1]");
  rules.in_range(optimizer.weight_decay, 0, 1e6f, "/optimizer/weight_decay", "[0, 1e6]");
  // They are part of every plan, whatever its optimizer.
  rules.require(optimizer.beta1 >= 0 && optimizer.beta1 < 1, "/optimizer/beta1", "must be in [0, 1)");
  rules.require(optimizer.beta2 >= 0 && optimizer.beta2 < 1, "/optimizer/beta2", "must be in [0, 1)");
  rules.require(optimizer.smoothing >= 0 && optimizer.smoothing < 1, "/optimizer/smoothing", "must be in [0, 1)");
  // Whoever divides by a root needs it.
  const bool needs_epsilon = has_epsilon(optimizer.kind);
  rules.require(optimizer.epsilon >= 0 && optimizer.epsilon <= 1 && (!needs_epsilon || optimizer.epsilon > 0),
                "/optimizer/epsilon", needs_epsilon ? "must be in (0, 1]" : "must be in [0, 1]");
  rules.require(!optimizer.nesterov || (optimizer.kind == OptimizerKind::sgd && optimizer.momentum > 0),
                "/optimizer/nesterov", "must be false, or the kind sgd with a momentum above 0");
}

bool is_by_class(Loss loss) { return loss == Loss::softmax_cross_entropy || loss == Loss::negative_log_likelihood; }
bool is_of_embeddings(Loss loss) { return loss == Loss::cosine_embedding || loss == Loss::triplet_margin; }

bool any_head(const TrainingSettings& training, bool (*is)(Loss)) {
  return std::ranges::any_of(training.heads, is, &TrainingHead::loss);
}

// Whether the model has these outputs is known by whoever has that.
void check_heads(const TrainingSettings& training, Rules& rules) {
  const std::vector<TrainingHead>& heads = training.heads;
  rules.require(heads.size() <= kHeadsMax, "/heads", "must be at most " + std::to_string(kHeadsMax));
  for (size_t i = 0; i < std::min(heads.size(), kHeadsMax); ++i) {
    const TrainingHead& head = heads[i];
    const std::string pointer = "/heads/" + std::to_string(i);
    rules.require(!head.output.empty() && head.output.size() <= kPatternBytesMax, pointer + "/output",
                  "must have 1 to " + std::to_string(kPatternBytesMax) + " bytes");
    const auto before = heads.begin() + static_cast<ptrdiff_t>(i);
    rules.require(std::none_of(heads.begin(), before, [&](const TrainingHead& h) { return h.output == head.output; }),
                  pointer + "/output", "must be no other head's");
    const std::string name(to_string(head.loss));
    rules.require(name != "unknown", pointer + "/loss", "is none of those that this version knows");
    rules.in_range(head.weight, 0, kHeadWeightMax, pointer + "/weight", "(0, 1e6]");
    rules.require(head.weight != 0, pointer + "/weight", "must be in (0, 1e6]");
    rules.require(head.loss != Loss::kl_divergence || training.target == TargetKind::values, pointer + "/loss",
                  "must not be kl_divergence with labels");
  }
  if (heads.empty()) return;
  rules.require(training.loss == heads[0].loss, "/loss", "must be absent, or that of the first of heads");
  const std::string why = "must be absent with heads";
  rules.require(training.class_weights.empty(), "/class_weights", why + ": they are of one output's classes");
  rules.require(!training.qat, "/qat", why);
  rules.require(training.widths.empty(), "/widths", why + ": a part of the channels is cut for one output");
  rules.require(!training.personal || training.personal->kind != PersonalKind::clusters, "/personal/kind",
                "must not be clusters with heads");
}

void check_loss(const TrainingSettings& training, Rules& rules) {
  const std::string name(to_string(training.loss));
  const bool is_softmax = training.loss == Loss::softmax_cross_entropy;
  rules.require(name != "unknown", "/loss", "is none of those that this version knows");
  rules.require(training.label_smoothing >= 0 && training.label_smoothing < 1, "/label_smoothing", "must be in [0, 1)");
  const bool has_softmax = training.heads.empty()
                               ? is_softmax
                               : any_head(training, [](Loss loss) { return loss == Loss::softmax_cross_entropy; });
  rules.require(training.label_smoothing == 0 || has_softmax, "/label_smoothing",
                "must be 0: " + name + " has no label smoothing");
  rules.in_range(training.loss_threshold, 0, 1e6f, "/loss_threshold", "[0, 1e6]");
  const bool has_huber = training.loss == Loss::huber || any_head(training, [](Loss l) { return l == Loss::huber; });
  rules.require(!has_huber || training.loss_threshold > 0, "/loss_threshold", "must be above 0 with huber");
  const std::vector<float>& weights = training.class_weights;
  rules.require(weights.size() <= kClassWeightsMax, "/class_weights",
                "must be at most " + std::to_string(kClassWeightsMax));
  rules.require(std::ranges::all_of(weights, [](float w) { return w >= 0 && w <= 1e6f; }), "/class_weights",
                "must be in [0, 1e6] each");
  rules.require(weights.empty() || std::ranges::any_of(weights, [](float w) { return w > 0; }), "/class_weights",
                "must not all be 0");
  rules.require(weights.empty() || is_softmax || training.loss == Loss::negative_log_likelihood, "/class_weights",
                "must be absent: " + name + " has no class weights");
  const bool has_classes = training.heads.empty() ? training.target == TargetKind::labels && is_by_class(training.loss)
                                                  : any_head(training, is_by_class);
  rules.require(!training.ignore_label || has_classes, "/ignore_label",
                "must be absent: it is of softmax_cross_entropy and negative_log_likelihood with labels");
}

bool takes_values(Loss loss) {
  return loss != Loss::negative_log_likelihood && loss != Loss::cosine_embedding && loss != Loss::triplet_margin;
}

// As the losses stand behind an output (device_sdk/runtime/loss_rule.h).
void check_target(const TrainingSettings& training, Rules& rules) {
  const std::string name(to_string(training.loss));
  rules.require(to_string(training.target) != "unknown", "/target", "must be labels or values");
  if (training.target == TargetKind::labels || !training.heads.empty()) return;
  rules.require(takes_values(training.loss), "/target", "must be labels with " + name);
  rules.require(training.class_weights.empty(), "/class_weights", "must be absent: values are of no class");
}

void check_patterns(const std::vector<std::string>& patterns, const std::string& pointer, Rules& rules,
                    size_t patterns_max = kPatternsMax) {
  rules.require(patterns.size() <= patterns_max, pointer,
                "must have at most " + std::to_string(patterns_max) + " patterns");
  const auto is_pattern = [](const std::string& text) { return !text.empty() && text.size() <= kPatternBytesMax; };
  rules.require(std::ranges::all_of(patterns, is_pattern), pointer,
                "must have patterns of 1 to " + std::to_string(kPatternBytesMax) + " bytes");
}

void check_normalised_steps(const TrainingSettings& training, Rules& rules) {
  rules.in_range(training.normalised_steps, 0, 1e6f, "/normalised_steps", "[0, 1e6]");
  const OptimizerSettings& optimizer = training.optimizer;
  const bool has_length = optimizer.kind == OptimizerKind::sgd && !optimizer.nesterov;
  rules.require(training.normalised_steps == 0 || has_length, "/normalised_steps",
                "must be 0, or the optimizer sgd without nesterov: of others nobody can say how far a gradient goes");
  rules.require(training.normalised_steps == 0 || training.correction.kind == CorrectionKind::none, "/normalised_steps",
                "must be 0 with " + std::string(to_string(training.correction.kind)) +
                    ": its steps are not those of the device's gradients alone");
}

// The control is the mean of the gradients, read off how far the steps went.
void check_gradient_mean(const TrainingSettings& training, const std::string& name, Rules& rules) {
  const OptimizerSettings& optimizer = training.optimizer;
  rules.require(optimizer.kind == OptimizerKind::sgd, "/optimizer/kind",
                "must be sgd with " + name + ": from steps of others nobody can tell the mean of the gradients");
  rules.require(optimizer.momentum == 0, "/optimizer/momentum",
                "must be 0 with " + name + ": with momentum the steps are not the mean of the gradients");
  rules.require(training.proximal_mu == 0, "/proximal_mu",
                "must be 0 with " + name + ": its control would hold the pull towards models of before");
}

// Devices step as the server's momentum says, and have none of their own.
void check_server_momentum(const TrainingSettings& training, Rules& rules) {
  const OptimizerSettings& optimizer = training.optimizer;
  rules.require(optimizer.kind == OptimizerKind::sgd, "/optimizer/kind",
                "must be sgd with mime_lite: its momentum is added to gradients, which others scale");
  rules.require(optimizer.momentum == 0, "/optimizer/momentum",
                "must be 0 with mime_lite: strategy.momentum is the server's, and the same in all steps of a round");
  rules.require(optimizer.weight_decay == 0, "/optimizer/weight_decay",
                "must be 0 with mime_lite: the momentum has no part of the decay");
}

void check_correction(const TrainingSettings& training, Rules& rules) {
  const DriftCorrection& correction = training.correction;
  const std::string name(to_string(correction.kind));
  rules.require(name != "unknown", "/correction/kind", "is no correction that this version knows");
  if (correction.kind != CorrectionKind::feddyn) {
    const bool is_none = correction.kind == CorrectionKind::none;
    rules.require(correction.alpha == 0, "/correction/alpha",
                  is_none ? "must be 0: there is no correction" : "must be 0: " + name + " has none");
    if (correction.kind == CorrectionKind::scaffold) check_gradient_mean(training, name, rules);
    if (correction.kind == CorrectionKind::mime_lite) check_server_momentum(training, rules);
    return;
  }
  rules.in_range(correction.alpha, 0, 1e6f, "/correction/alpha", "(0, 1e6]");
  rules.require(correction.alpha != 0, "/correction/alpha", "must be in (0, 1e6]");
  rules.require(training.proximal_mu == 0, "/proximal_mu",
                "must be 0 with " + name + ": its alpha pulls towards the given model already");
}

void check_lora(const TrainingSettings& training, Rules& rules) {
  if (!training.lora) return;
  const LoraSettings& lora = *training.lora;
  rules.require(lora.rank >= 1 && lora.rank <= kLoraRankMax, "/lora/rank",
                "must be in [1, " + std::to_string(kLoraRankMax) + "]");
  rules.in_range(lora.alpha, 0, 1e6f, "/lora/alpha", "(0, 1e6]");
  rules.require(lora.alpha != 0, "/lora/alpha", "must be in (0, 1e6]");
  rules.require(!lora.pattern.empty() && lora.pattern.size() <= kLoraPatternBytesMax, "/lora/pattern",
                "must have 1 to " + std::to_string(kLoraPatternBytesMax) + " bytes");
  rules.require(lora.fixed_a_seed.has_value(), "/lora/seed", "must be there: a mean of B needs an A that all share");
  const std::string why = "must be absent with lora: it trains companions, and no parameter of the model";
  rules.require(training.freeze.empty(), "/freeze", why);
  rules.require(training.train_only.empty(), "/train_only", why);
  rules.require(training.train_last == 0, "/train_last", why);
}

// That of its text; whether it goes with the model is known by whoever has that.
void check_augment(const TrainingSettings& training, Rules& rules) {
  if (training.augment.empty()) return;
  const Result<Augmentation> augmentation = parse_augmentation(training.augment);
  rules.require(augmentation.has_value(), "/augment", augmentation ? "" : augmentation.error().message());
}

void check_early_stopping(const TrainingSettings& training, Rules& rules) {
  if (!training.early_stopping) return;
  const EarlyStopping& stopping = *training.early_stopping;
  rules.require(training.local_epochs >= 2, "/early_stopping", "needs 2 local_epochs or more: one has no early end");
  rules.require(stopping.validation_share > 0 && stopping.validation_share <= kValidationShareMax,
                "/early_stopping/validation_share", "must be in (0, 0.5]");
  rules.require(stopping.patience >= 1 && stopping.patience <= kPatienceMax, "/early_stopping/patience",
                "must be in [1, " + std::to_string(kPatienceMax) + "]");
}

// Which values they are is known by whoever has the model (personal_part.h).
void check_personal(const TrainingSettings& training, Rules& rules) {
  if (!training.personal) return;
  const PersonalSettings& personal = *training.personal;
  const bool is_part = personal.kind == PersonalKind::part;
  const bool has_clusters = personal.kind == PersonalKind::clusters;
  rules.require(to_string(personal.kind) != "unknown", "/personal/kind", "must be part, model or clusters");
  rules.require(!has_clusters || (personal.count >= kClustersMin && personal.count <= kClustersMax), "/personal/count",
                "must be in [" + std::to_string(kClustersMin) + ", " + std::to_string(kClustersMax) +
                    "]: a device fetches and evaluates as many models");
  rules.require(has_clusters || personal.count == 0, "/personal/count", "must be absent without clusters");
  check_patterns(personal.parameters, "/personal/parameters", rules, kPersonalPatternsMax);
  rules.require(!is_part || personal.norms || !personal.parameters.empty(), "/personal/parameters",
                "must name parameters, or norms be true: of kind part something has to be the device's own");
  const std::string why = has_clusters ? "must be absent with kind clusters: nothing of the models is the device's own"
                                       : "must be absent with kind model: all of that model is the device's own";
  rules.require(is_part || personal.parameters.empty(), "/personal/parameters", why);
  rules.require(is_part || !personal.norms, "/personal/norms", why);
  rules.require(is_part || personal.first_epochs == 0, "/personal/first_epochs", why);
  rules.require(personal.first_epochs <= kFirstEpochsMax, "/personal/first_epochs",
                "must be in [0, " + std::to_string(kFirstEpochsMax) + "]");
  rules.require((!is_part && !has_clusters) || personal.lambda == 0, "/personal/lambda",
                "must be absent with kind " + std::string(to_string(personal.kind)) + ": nothing pulls it anywhere");
  if (!is_part && !has_clusters) {
    rules.in_range(personal.lambda, 0, kLambdaMax, "/personal/lambda", "(0, 1e6]");
    rules.require(personal.lambda != 0, "/personal/lambda", "must be in (0, 1e6]");
  }
  rules.require(!training.lora, "/personal",
                "must be absent with lora: companions are merged into weights that all devices share");
  rules.require(training.correction.kind == CorrectionKind::none, "/personal",
                "must be absent with " + std::string(to_string(training.correction.kind)) +
                    ": a device keeps one vector of a job, and that one has it already");
}

// Whether they go with the model is known by whoever has that (model_widths.h).
void check_widths(const TrainingSettings& training, Rules& rules) {
  const std::vector<uint32_t>& widths = training.widths;
  if (widths.empty()) return;
  const bool are_falling = std::ranges::is_sorted(widths, std::ranges::greater_equal()) &&
                           std::ranges::adjacent_find(widths) == widths.end();
  rules.require(widths.size() >= kWidthsMin && widths.size() <= kWidthsMax, "/widths/classes",
                "must have " + std::to_string(kWidthsMin) + " to " + std::to_string(kWidthsMax) + " entries");
  rules.require(widths.front() == kWholeWidth && are_falling && widths.back() > 0, "/widths/classes",
                "must begin with 1, fall, and stay above 0: somebody has to train all of the model");
  rules.require(!training.lora, "/widths", "must be absent with lora: companions are of whole weights");
  rules.require(!training.personal, "/widths",
                "must be absent with personal: what a device keeps to itself is of one width, and a round may give it "
                "another one");
}

// Which of them are for something of the model is known by whoever has the model.
void check_watch(const TrainingSettings& training, Rules& rules) {
  if (!training.watch) return;
  const WatchSettings& watch = *training.watch;
  const bool is_recommended = watch.checks.size() == 1 && watch.checks.front() == kRecommendedChecks;
  rules.require(!watch.checks.empty() && watch.checks.size() <= kJobWatchChecksMax, "/watch/checks",
                "must be 1 to " + std::to_string(kJobWatchChecksMax) + " names");
  for (size_t i = 0; i < watch.checks.size() && !is_recommended; ++i) {
    const std::string& check = watch.checks[i];
    if (find_job_check(check) == nullptr) {
      rules.require(false, "/watch/checks",
                    "must be `" + std::string(kRecommendedChecks) +
                        "` by itself, or names of checks that need no "
                        "settings: " +
                        job_check_names());
      break;
    }
    const bool is_again = std::find(watch.checks.begin(), watch.checks.begin() + static_cast<std::ptrdiff_t>(i),
                                    check) != watch.checks.begin() + static_cast<std::ptrdiff_t>(i);
    rules.require(!is_again, "/watch/checks", "must not name " + check + " twice");
  }
  rules.require(watch.every >= 1 && watch.every <= kJobWatchEveryMax, "/watch/every",
                "must be in [1, " + std::to_string(kJobWatchEveryMax) + "]");
  rules.require(!training.lora, "/watch", "must be absent with lora: companions are no layers of the job's model");
  rules.require(training.widths.empty(), "/watch",
                "must be absent with widths: layers of several sizes are not watched as one");
  rules.require(cluster_count(training) == 1, "/watch",
                "must be absent with personal of kind clusters: a hit would be of one model, and nobody knows which");
}

// Whether the model can compute in int8 is known by whoever has it (int8_layers.h).
void check_qat(const TrainingSettings& training, Rules& rules) {
  if (!training.qat) return;
  const QuantisedTraining& quantised = *training.qat;
  rules.require(to_string(quantised.parts) != "unknown", "/qat/parts", "must be weights or full");
  rules.require(quantised.weight_bits >= kWeightBitsMin && quantised.weight_bits <= kWeightBitsMax, "/qat/weight_bits",
                "must be in [" + std::to_string(kWeightBitsMin) + ", " + std::to_string(kWeightBitsMax) + "]");
  rules.require(!training.lora, "/qat",
                "must be absent with lora: what companions are merged into is rounded when they are");
}

}  // namespace

bool is_classified(const TrainingSettings& training) {
  if (training.heads.empty()) return training.target == TargetKind::labels;
  const Loss own = training.heads[0].loss;
  return training.target == TargetKind::labels || is_by_class(own) || is_of_embeddings(own);
}

Problems problems_of(const TrainingSettings& training) {
  Rules rules;
  check_loss(training, rules);
  check_target(training, rules);
  check_heads(training, rules);
  rules.require(training.batch_size >= 1 && training.batch_size <= 4096, "/batch_size", "must be in [1, 4096]");
  rules.require(training.local_epochs >= 1 && training.local_epochs <= 1000, "/local_epochs", "must be in [1, 1000]");
  check(training.optimizer, rules);
  check_patterns(training.freeze, "/freeze", rules);
  check_patterns(training.train_only, "/train_only", rules);
  rules.require(training.train_last == 0 || training.train_only.empty(), "/train_last",
                "must be absent with train_only: both say which parameters change");
  rules.in_range(training.proximal_mu, 0, 1e6f, "/proximal_mu", "[0, 1e6]");
  check_correction(training, rules);
  check_normalised_steps(training, rules);
  check_augment(training, rules);
  check_lora(training, rules);
  rules.require(to_string(training.storage) != "unknown", "/storage", "must be float32 or bf16");
  check_early_stopping(training, rules);
  check_personal(training, rules);
  check_widths(training, rules);
  check_watch(training, rules);
  check_qat(training, rules);
  return rules.take();
}

}  // namespace coterie
