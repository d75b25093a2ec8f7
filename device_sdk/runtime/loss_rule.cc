#include "device_sdk/runtime/loss_rule.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "base/text/concat.h"
#include "device_sdk/runtime/kernels_in_build.h"

namespace coterie {
namespace {

using kernels::ElementLoss;

struct Settings {
  LossSettings loss;
  size_t rows, width;
  float weight = 1;  // of a head

  float scale(const StepContext& context) const { return context.loss_scale / static_cast<float>(rows); }
  kernels::ClassLoss<float> classes() const {
    const float* weights = loss.class_weights.empty() ? nullptr : loss.class_weights.data();
    return {rows, width, loss.label_smoothing, weights};
  }
};

std::optional<ElementLoss> element_loss_of(Loss loss) {
  switch (loss) {
    case Loss::mean_squared_error: return ElementLoss::squared;
    case Loss::binary_cross_entropy: return ElementLoss::binary_cross_entropy_with_logits;
    case Loss::binary_cross_entropy_of_probabilities: return ElementLoss::binary_cross_entropy;
    case Loss::kl_divergence: return ElementLoss::kl_divergence;
    case Loss::l1: return ElementLoss::absolute;
    case Loss::huber: return ElementLoss::huber;
    case Loss::smooth_l1: return ElementLoss::smooth_l1;
    default: return std::nullopt;
  }
}

bool is_class_loss(Loss loss) { return loss == Loss::softmax_cross_entropy || loss == Loss::negative_log_likelihood; }

// How many vectors lie one behind the other in a row of an embedding loss; 1 for the others.
size_t vectors_a_row(Loss loss) { return loss == Loss::cosine_embedding ? 2 : loss == Loss::triplet_margin ? 3 : 1; }

void describe(const Settings& s, SettingsText& text) {
  text.add(to_string(s.loss.kind));
  if (s.loss.label_smoothing != 0) text.add("label smoothing", static_cast<double>(s.loss.label_smoothing));
  if (!s.loss.class_weights.empty()) text.add("class weights", s.loss.class_weights.size());
  if (s.loss.ignore_label) text.add("ignore label", static_cast<double>(*s.loss.ignore_label));
}

void add_weight(const StepContext& context, double weight) {
  if (context.loss_weight != nullptr) *context.loss_weight += weight;
}

// With class weights the mean is a weighted one: PyTorch divides by the weights of the labels. Those belong to the
// step: of a part only the sum is known.
void run_labels(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  float scale = s.scale(context);
  const double weight = context.kernels.label_weight(s.rows, step.ints(1), s.classes().class_weights);
  add_weight(context, weight);
  if (!context.is_part_of_step) scale = weight > 0 ? context.loss_scale / static_cast<float>(weight) : 0;
  const auto loss = s.loss.kind == Loss::softmax_cross_entropy ? context.kernels.cross_entropy
                                                               : context.kernels.negative_log_likelihood;
  loss(s.classes(), step.buffers[0], step.ints(1), scale, step.buffers[2], context.sums);
}

constexpr StepKindOf<Settings> kLabelsStep{"loss.labels", run_labels, describe};

void run_soft_labels(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  add_weight(context, static_cast<double>(s.rows));
  const auto& [y, target, dy] = step.take<3>();
  context.kernels.cross_entropy_of_targets(s.classes(), y, target, s.scale(context), dy, context.sums);
}

constexpr StepKindOf<Settings> kSoftLabelsStep{"loss.soft_labels", run_soft_labels, describe};

// Labels as one-hot targets, or the target itself with one output: what jobs mean by mean_squared_error.
void run_squared_error_of_labels(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  add_weight(context, static_cast<double>(s.rows));
  float* dy = step.buffers[2];
  context.kernels.mean_squared_error(s.rows, s.width, step.buffers[0], step.ints(1), dy, context.sums);
  if (dy != nullptr && context.loss_scale != 1)
    context.kernels.scale_in_place(s.rows * s.width, context.loss_scale, dy);
}

constexpr StepKindOf<Settings> kSquaredErrorOfLabelsStep{"loss.squared_error", run_squared_error_of_labels, describe};

void run_elements(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  add_weight(context, static_cast<double>(s.rows));
  const auto& [y, target, dy] = step.take<3>();
  const kernels::ElementLossShape shape{*element_loss_of(s.loss.kind), s.rows, s.width, s.loss.threshold};
  if (s.loss.target == TargetKind::labels) {
    context.kernels.element_loss_of_labels(shape, y, step.ints(1), s.scale(context), dy, context.sums);
  } else {
    context.kernels.element_loss(shape, y, target, s.scale(context), dy, context.sums);
  }
}

constexpr StepKindOf<Settings> kElementsStep{"loss.elements", run_elements, describe};

// The vectors of a row lie one behind the other, so a row at a time.
void run_embeddings(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  add_weight(context, static_cast<double>(s.rows));
  const size_t vectors = vectors_a_row(s.loss.kind), size = s.width / vectors;
  const float scale = s.scale(context), margin = s.loss.threshold;
  const auto& kernels = context.kernels;
  for (size_t row = 0; row < s.rows; ++row) {
    const float* a = step.buffers[0] + row * s.width;
    float* da = step.buffers[2] == nullptr ? nullptr : step.buffers[2] + row * s.width;
    const auto gradient = [&](size_t i) { return da == nullptr ? nullptr : da + i * size; };
    if (s.loss.kind == Loss::cosine_embedding) {
      kernels.cosine_embedding(1, size, a, a + size, step.ints(1) + row, margin, scale, gradient(0), gradient(1),
                               context.sums);
    } else {
      kernels.triplet_margin(1, size, a, a + size, a + 2 * size, margin, scale, gradient(0), gradient(1), gradient(2),
                             context.sums);
    }
  }
}

constexpr StepKindOf<Settings> kEmbeddingsStep{"loss.embeddings", run_embeddings, describe};

double absolute_error(const Settings& s, const float* output, const float* target) {
  double sum = 0;
  for (size_t i = 0; i < s.rows * s.width; ++i) sum += std::abs(static_cast<double>(output[i]) - target[i]);
  return sum;
}

// A loss as one of several: a context of its own keeps its sums apart.
template <StepFunction kRun>
void run_head(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  HeadSums seen;
  StepContext own = context;
  own.sums = &seen.sums;
  own.loss_weight = &seen.weight;
  own.loss_scale *= s.weight;
  kRun(step, own);
  if (is_distance(s.loss)) seen.absolute_error = absolute_error(s, step.buffers[0], step.buffers[1]);
  std::memcpy(step.buffers[3], &seen, sizeof(seen));
}

constexpr StepKindOf<Settings> kLabelsHead{"loss.labels", run_head<run_labels>, describe};
constexpr StepKindOf<Settings> kSquaredErrorOfLabelsHead{"loss.squared_error", run_head<run_squared_error_of_labels>,
                                                         describe};
constexpr StepKindOf<Settings> kElementsHead{"loss.elements", run_head<run_elements>, describe};
constexpr StepKindOf<Settings> kEmbeddingsHead{"loss.embeddings", run_head<run_embeddings>, describe};

Error does_not_stand(const LossSettings& loss, const std::string& why, const Shape& shape) {
  return Error(ErrorCode::invalid_argument,
               concat({to_string(loss.kind), " needs ", why, ", the model's is ", to_text(shape)}));
}

constexpr bool kHasElementLosses = is_kernel_in_build("element_loss");
constexpr bool kHasSoftLabels = is_kernel_in_build("cross_entropy_of_targets");
constexpr bool kHasEmbeddingLosses = is_kernel_in_build("cosine_embedding");

// -DCOTERIE_OPS_FROM leaves out what no list names: the kernels are null.
bool is_in_build(const LossSettings& loss) {
  const kernels::KernelTable& kernels = kernels::kernels();
  if (vectors_a_row(loss.kind) > 1) return kernels.cosine_embedding != nullptr;
  const bool has_labels = loss.target == TargetKind::labels;
  if (is_class_loss(loss.kind)) return has_labels || kernels.cross_entropy_of_targets != nullptr;
  return (loss.kind == Loss::mean_squared_error && has_labels) || kernels.element_loss != nullptr;
}

}  // namespace

Result<TensorType> target_for_loss(const LossSettings& loss, const TensorType& output) {
  if (!is_in_build(loss)) {
    return Error(ErrorCode::invalid_argument, concat({"this build has no loss ", to_string(loss.kind),
                                                      loss.target == TargetKind::values ? " of values" : ""}));
  }
  // The kernels of the others would take what stands for an ignored label as one.
  if (loss.ignore_label && (!is_class_loss(loss.kind) || loss.target == TargetKind::values)) {
    return Error(ErrorCode::invalid_argument,
                 concat({"ignore_label is of softmax_cross_entropy and negative_log_likelihood with labels, not of ",
                         to_string(loss.kind), (loss.target == TargetKind::values ? " with values" : "")}));
  }
  const Shape& shape = output.shape;
  const int64_t width_min = is_class_loss(loss.kind) ? 2 : 1;
  if (output.type != DataType::float32 || shape.size() < 2 || shape.back() < width_min) {
    return does_not_stand(loss, concat({"an output of batch x at least ", width_min}), shape);
  }
  const size_t vectors = vectors_a_row(loss.kind);
  if (static_cast<size_t>(shape.back()) % vectors != 0) {
    return does_not_stand(loss, concat({"rows of ", vectors, " vectors"}), shape);
  }
  if (!loss.class_weights.empty() && loss.class_weights.size() != static_cast<size_t>(shape.back())) {
    return does_not_stand(loss, concat({"as many classes as class weights (", loss.class_weights.size(), ")"}), shape);
  }
  const Shape rows(shape.begin(), shape.end() - 1);
  if (vectors > 1) return TensorType{DataType::int32, rows};
  if (loss.target == TargetKind::values) {
    if (loss.kind == Loss::negative_log_likelihood) return does_not_stand(loss, "labels, not values", shape);
    return TensorType{DataType::float32, shape};
  }
  if (is_class_loss(loss.kind) || loss.kind == Loss::mean_squared_error) return TensorType{DataType::int32, rows};
  if (loss.kind == Loss::kl_divergence) return does_not_stand(loss, "values, not labels", shape);
  return TensorType{DataType::int32, shape.back() == 1 ? rows : shape};
}

bool is_valid_label(Loss loss, uint64_t classes, int32_t label) {
  switch (loss) {
    case Loss::softmax_cross_entropy:
    case Loss::negative_log_likelihood: return label >= 0 && static_cast<uint64_t>(label) < classes;
    case Loss::mean_squared_error: return classes == 1 || (label >= 0 && static_cast<uint64_t>(label) < classes);
    case Loss::binary_cross_entropy:
    case Loss::binary_cross_entropy_of_probabilities: return label == 0 || label == 1;
    case Loss::cosine_embedding: return label == 1 || label == -1;
    default: return true;
  }
}

std::string valid_labels(Loss loss, uint64_t classes) {
  if (loss == Loss::cosine_embedding) return "{1, -1}";
  if (element_loss_of(loss) && loss != Loss::mean_squared_error) return "{0, 1}";
  return "[0, " + std::to_string(classes) + ")";
}

bool is_distance(const LossSettings& loss) {
  if (loss.target != TargetKind::values) return false;
  return loss.kind == Loss::mean_squared_error || loss.kind == Loss::l1 || loss.kind == Loss::huber ||
         loss.kind == Loss::smooth_l1;
}

void emit_loss(Program& program, const LossSettings& loss, const TensorType& output_type, BufferId output,
               BufferId target, BufferId gradient) {
  const Shape& shape = output_type.shape;
  const Settings settings{loss, elements(shape, 0, shape.size() - 1), static_cast<size_t>(shape.back())};
  const auto emit = [&](const StepKindOf<Settings>& kind) {
    program.emit(Phase::forward, kind, settings, {output, target, gradient});
  };
  const bool has_labels = loss.target == TargetKind::labels;
  if (kHasEmbeddingLosses && vectors_a_row(loss.kind) > 1) emit(kEmbeddingsStep);
  else if (is_class_loss(loss.kind)) emit(has_labels || !kHasSoftLabels ? kLabelsStep : kSoftLabelsStep);
  else if (loss.kind == Loss::mean_squared_error && has_labels) emit(kSquaredErrorOfLabelsStep);
  else if (kHasElementLosses) emit(kElementsStep);
}

// Heads have no soft labels: those are of losses by class with values (loss_heads.h).
void emit_head_loss(Program& program, const LossSettings& loss, const TensorType& output_type, float weight,
                    const LossBuffers& buffers, BufferId sums) {
  const Shape& shape = output_type.shape;
  const Settings settings{loss, elements(shape, 0, shape.size() - 1), static_cast<size_t>(shape.back()), weight};
  const auto emit = [&](const StepKindOf<Settings>& kind) {
    program.emit(Phase::forward, kind, settings, {buffers.output, buffers.target, buffers.gradient, sums});
  };
  const bool has_labels = loss.target == TargetKind::labels;
  if (kHasEmbeddingLosses && vectors_a_row(loss.kind) > 1) emit(kEmbeddingsHead);
  else if (is_class_loss(loss.kind)) emit(kLabelsHead);
  else if (loss.kind == Loss::mean_squared_error && has_labels) emit(kSquaredErrorOfLabelsHead);
  else if (kHasElementLosses) emit(kElementsHead);
}

}  // namespace coterie
