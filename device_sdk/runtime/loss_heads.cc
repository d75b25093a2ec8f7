#include "device_sdk/runtime/loss_heads.h"

#include <algorithm>
#include <cmath>

#include "base/text/concat.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/parse_number.h"
#include "device_sdk/runtime/shape_inference.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"heads: ", what})); }

bool is_by_class(Loss loss) { return loss == Loss::softmax_cross_entropy || loss == Loss::negative_log_likelihood; }
bool is_of_embeddings(Loss loss) { return loss == Loss::cosine_embedding || loss == Loss::triplet_margin; }

std::string names_of_outputs(const ModelGraph& graph) {
  std::string names = graph.tensors[graph.output].name;
  for (const uint32_t tensor : further_outputs(graph)) names += ", " + graph.tensors[tensor].name;
  return names;
}

Status check_head(const TrainingHead& head) {
  if (head.output.empty()) return bad("one has no output");
  if (to_string(head.loss) == "unknown") return bad(concat({"the loss of ", head.output, " is unknown"}));
  if (!(head.weight > 0 && head.weight <= kHeadWeightMax)) {
    return bad(concat({"the weight of ", head.output, " must be in (0, 1000000]"}));
  }
  return {};
}

}  // namespace

std::string_view to_string(HeadMeasure measure) {
  switch (measure) {
    case HeadMeasure::accuracy: return "accuracy";
    case HeadMeasure::mean_absolute_error: return "mae";
    default: return "none";
  }
}

Result<TrainingHead> parse_training_head(std::string_view text) {
  const Error wrong = bad(concat(
      {"must be OUTPUT:LOSS or OUTPUT:LOSS:WEIGHT with a weight above 0, as age:l1:0.5, is ", text.substr(0, 80)}));
  const auto take_word = [&text]() -> std::string_view {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view word = text.substr(colon + 1);
    text = text.substr(0, colon);
    return word;
  };
  TrainingHead head;
  std::string_view word = take_word();
  if (!loss_from(word)) {
    if (!parse_number(word, head.weight) || !(head.weight > 0 && head.weight <= kHeadWeightMax)) return wrong;
    word = take_word();
  }
  const std::optional<Loss> loss = loss_from(word);
  if (!loss || text.empty()) return wrong;
  head.loss = *loss;
  head.output = std::string(text);
  return head;
}

void set_heads(LossSettings& loss, std::vector<TrainingHead> heads) {
  loss.heads = std::move(heads);
  if (!loss.heads.empty()) loss.kind = loss.heads[0].loss;
}

Status check_loss_heads(const LossSettings& loss) {
  const std::vector<TrainingHead>& heads = loss.heads;
  if (heads.empty()) return {};
  if (heads.size() > kHeadsMax) {
    return bad(concat({"there are ", heads.size(), ", at most ", kHeadsMax}));
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    COT_TRY(check_head(heads[i]));
    const auto is_same = [&](const TrainingHead& other) { return other.output == heads[i].output; };
    const auto before = heads.begin() + static_cast<ptrdiff_t>(i);
    if (std::any_of(heads.begin(), before, is_same)) return bad(concat({"two are of the output ", heads[i].output}));
  }
  if (loss.kind != heads[0].loss) return bad("the loss of the training must be that of the first one");
  if (!loss.class_weights.empty()) return bad("they go without class_weights, which are of one output's classes");
  const auto any = [&](auto&& is) { return std::ranges::any_of(heads, is, &TrainingHead::loss); };
  if (loss.label_smoothing > 0 && !any([](Loss kind) { return kind == Loss::softmax_cross_entropy; })) {
    return bad("label_smoothing is of softmax_cross_entropy, which none has");
  }
  if (loss.ignore_label && !any(is_by_class)) {
    return bad("ignore_label is of softmax_cross_entropy and negative_log_likelihood, which none has");
  }
  if (loss.threshold == 0 && any([](Loss kind) { return kind == Loss::huber; })) {
    return bad("huber needs a threshold above 0");
  }
  return {};
}

LossSettings loss_of_head(const LossSettings& loss, size_t i) {
  const Loss kind = loss.heads[i].loss;
  const bool has_labels = is_by_class(kind) || is_of_embeddings(kind);
  LossSettings one{.kind = kind, .target = has_labels ? TargetKind::labels : loss.target, .threshold = loss.threshold};
  if (kind == Loss::softmax_cross_entropy) one.label_smoothing = loss.label_smoothing;
  if (is_by_class(kind)) one.ignore_label = loss.ignore_label;
  return one;
}

LossSettings loss_of_own_output(const LossSettings& loss) { return loss.heads.empty() ? loss : loss_of_head(loss, 0); }

// Where the kernels count what is right.
HeadMeasure measure_of(const LossSettings& head, uint64_t width) {
  if (is_distance(head)) return HeadMeasure::mean_absolute_error;
  switch (head.kind) {
    case Loss::softmax_cross_entropy:
    case Loss::negative_log_likelihood: return HeadMeasure::accuracy;
    case Loss::mean_squared_error: return width > 1 ? HeadMeasure::accuracy : HeadMeasure::none;
    case Loss::binary_cross_entropy:
    case Loss::binary_cross_entropy_of_probabilities: return width == 1 ? HeadMeasure::accuracy : HeadMeasure::none;
    default: return HeadMeasure::none;
  }
}

Result<std::vector<uint32_t>> head_tensors(const ModelGraph& graph, const LossSettings& loss) {
  COT_ASSIGN(const std::vector<uint32_t> outputs, graph_outputs(graph));
  std::vector<uint32_t> tensors;
  for (const TrainingHead& head : loss.heads) {
    const auto is_called = [&](uint32_t tensor) { return graph.tensors[tensor].name == head.output; };
    const auto found = std::ranges::find_if(outputs, is_called);
    if (found == outputs.end()) {
      return bad(concat({"the model has no output ", head.output, "; it has ", names_of_outputs(graph)}));
    }
    tensors.push_back(*found);
  }
  if (!tensors.empty() && tensors[0] != graph.output) {
    return bad(concat({"the first must be of the model's own output, ", graph.tensors[graph.output].name,
                       ", and is of ", loss.heads[0].output}));
  }
  return tensors;
}

Result<uint64_t> target_elements(const Model& model, const LossSettings& loss) {
  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), 1));
  if (loss.heads.empty()) {
    COT_ASSIGN(const TensorType target, target_for_loss(loss, inferred.types[model.graph().output]));
    return elements(target.shape);
  }
  COT_ASSIGN(const std::vector<uint32_t> tensors, head_tensors(model.graph(), loss));
  uint64_t count = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    COT_ASSIGN(const TensorType target, target_for_loss(loss_of_head(loss, i), inferred.types[tensors[i]]));
    count += elements(target.shape);
  }
  return count;
}

}  // namespace coterie
