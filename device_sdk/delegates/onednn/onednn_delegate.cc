#include "device_sdk/delegates/onednn/onednn_delegate.h"

#include <dnnl.hpp>

#include <string>

#include "device_sdk/delegates/onednn/onednn_part.h"
#include "device_sdk/delegates/onednn/onednn_training_part.h"

namespace coterie {
namespace {

// What a layer reads beside its input must be known when it is compiled.
std::string refusal_of_weights(const DelegateGraph& model, const OpInfo& op) {
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i] != kNoTensor && !model.is_stored(op.inputs[i])) return "its weights are computed by the model";
  }
  return model.is_stored(op.inputs[0]) ? "its input is stored" : "";
}

std::string refusal_of_rank(const DelegateGraph& model, const OpInfo& op, size_t rank) {
  const size_t seen = model.shape(op.inputs[0]).size();
  if (seen == rank) return {};
  return "onednn takes inputs of " + std::to_string(rank) + " dimensions, not of " + std::to_string(seen);
}

// oneDNN's channels are the second dimension, which plain() makes of our last one in images and rows alone: elsewhere
// it would read as many scales as there are rows.
std::string refusal_of_norm(const DelegateGraph& model, const OpInfo& op) {
  const size_t rank = model.shape(op.inputs[0]).size();
  if (rank != 2 && rank != 4) return "onednn takes a batch_norm of 2 or 4 dimensions, not of " + std::to_string(rank);
  return refusal_of_weights(model, op);
}

std::string refusal_of_add(const DelegateGraph& model, const OpInfo& op) {
  if (model.is_stored(op.inputs[0]) || model.is_stored(op.inputs[1])) return "it adds a stored tensor";
  if (model.shape(op.inputs[0]) != model.shape(op.inputs[1])) return "it broadcasts";
  return {};
}

std::string refusal_of_softmax(const DelegateGraph& model, const OpInfo& op) {
  if (std::get<AxisAttributes>(op.attributes).axis != 1) return "onednn takes a softmax over the last of 2 dimensions";
  return refusal_of_rank(model, op, 2);
}

class OnednnDelegate final : public Delegate {
 public:
  DelegateTraits traits() const override {
    const dnnl::version_t* const version = dnnl::version();
    return {.name = "onednn",
            .version = std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                       std::to_string(version->patch),
            .computes_backward = true,
            .launch_nanoseconds = 5'000,
            .nanoseconds_per_byte = 0.05,
            .saved_nanoseconds_per_flop = 0.005};
  }

  std::string refusal(const DelegateGraph& model, uint32_t i) const override {
    const OpInfo& op = model.graph.ops[i];
    if (model.trained != nullptr) {
      if (std::string reason = onednn_training_refusal(op.kind); !reason.empty()) return reason;
    }
    switch (op.kind) {
      case OpKind::dense: {
        const std::string weights = refusal_of_weights(model, op);
        return weights.empty() ? refusal_of_rank(model, op, 2) : weights;
      }
      case OpKind::conv2d: return refusal_of_weights(model, op);
      case OpKind::batch_norm: return refusal_of_norm(model, op);
      case OpKind::average_pool2d: {
        const auto& pool = std::get<Pool2dAttributes>(op.attributes);
        const bool is_cut = pool.count_padding && (pool.ceil_h > 0 || pool.ceil_w > 0);
        return is_cut ? "a last, cut window counts its padding" : "";
      }
      case OpKind::max_pool2d:
      case OpKind::global_average_pool2d:
      case OpKind::relu:
      case OpKind::relu6:
      case OpKind::flatten:
      case OpKind::identity:
      case OpKind::dropout: return {};
      case OpKind::add: return refusal_of_add(model, op);
      case OpKind::softmax: return refusal_of_softmax(model, op);
      default: return "onednn is not asked for " + std::string(to_string(op.kind));
    }
  }

  Result<std::unique_ptr<CompiledPart>> compile(const DelegatePart& part) override { return compile_onednn_part(part); }
  Result<std::unique_ptr<TrainingPart>> compile_training(const DelegatePart& part) override {
    return compile_onednn_training_part(part);
  }
};

}  // namespace

std::unique_ptr<Delegate> make_onednn_delegate() { return std::make_unique<OnednnDelegate>(); }

}  // namespace coterie
