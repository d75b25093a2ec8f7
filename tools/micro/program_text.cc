#include "tools/micro/program_text.h"

#include <algorithm>

#include "tools/micro/client_text.h"
#include "tools/micro/header_text.h"
#include "tools/micro/identifier.h"
#include "tools/micro/kernel_text.h"
#include "tools/micro/number_text.h"
#include "tools/micro/shape_text.h"

namespace coterie {
namespace {

using namespace micro_text;

// What the file's functions and constants are called, and where buffers lie.
class ProgramWriter {
 public:
  ProgramWriter(const Model& model, std::vector<MicroLayer> layers, MicroArena arena, const MicroOptions& options)
      : model_(model),
        layers_(std::move(layers)),
        arena_(std::move(arena)),
        trains_(options.trains),
        frame_(options.frame) {
    for (const MicroLayer& layer : layers_) layer_names_.push_back(names_.unique(layer.name));
    for (const MicroParameter& parameter : arena_.parameters) {
      parameter_names_.push_back(names_.unique(graph().tensors[parameter.tensor].name));
    }
    prefix_ = micro_prefix(graph().name);
  }

  MicroProgram write() const {
    // Beside the arena there is how many answers were right.
    MicroProgram program{.prefix = prefix_, .arena_bytes = arena_.bytes() + (frame_ != nullptr ? sizeof(uint32_t) : 0)};
    for (const MicroParameter& parameter : arena_.parameters)
      program.constant_bytes += parameter.elements * kElementBytes;
    program.header = micro_header({.prefix = prefix_,
                                   .model = micro_comment(graph().name),
                                   .input = model_.input_shape(),
                                   .inputs = layers_.front().in,
                                   .outputs = layers_.back().out,
                                   .trained = arena_.trained,
                                   .arena_bytes = program.arena_bytes,
                                   .trains = trains_,
                                   .has_client = frame_ != nullptr});
    program.source = "/* " + prefix_ + ".c: what " + prefix_ +
                     ".h promises. Written by `coterie model export --c`. */\n#include \"" + prefix_ +
                     ".h\"\n\n#include <stdint.h>\n\n" + kernels() + constants() + buffers() + forward() +
                     (trains_ ? training() : std::string()) + client();
    return program;
  }

 private:
  const ModelGraph& graph() const { return model_.graph(); }
  const MicroParameter& parameter(uint32_t tensor) const {
    return *std::ranges::find(arena_.parameters, tensor, &MicroParameter::tensor);
  }
  const std::string& name_of(uint32_t tensor) const {
    return parameter_names_[static_cast<size_t>(&parameter(tensor) - arena_.parameters.data())];
  }
  bool is_trained(std::optional<uint32_t> tensor) const { return tensor && parameter(*tensor).value; }
  bool any(MicroKind kind) const { return std::ranges::count(layers_, kind, &MicroLayer::kind) > 0; }
  // Whether backward has a layer of the kind whose input's gradient somebody needs.
  bool any_input_gradient(MicroKind kind) const {
    const auto first = layers_.begin() + static_cast<std::ptrdiff_t>(arena_.first_trained) + 1;
    return trains_ && std::any_of(first, layers_.end(), [&](const MicroLayer& layer) { return layer.kind == kind; });
  }
  bool any_weight_gradient(MicroKind kind) const {
    return trains_ && std::ranges::any_of(layers_, [&](const MicroLayer& layer) {
             return layer.kind == kind && (is_trained(layer.weight) || is_trained(layer.bias));
           });
  }
  bool any_relu_gradient() const {
    const auto first = layers_.begin() + static_cast<std::ptrdiff_t>(arena_.first_trained);
    return trains_ && std::any_of(first, layers_.end(), [](const MicroLayer& layer) {
             return layer.has_relu || layer.kind == MicroKind::relu;
           });
  }

  // Only what is used: an unused static function is a warning.
  std::string kernels() const {
    const bool pools = any(MicroKind::max_pool2d) || any(MicroKind::average_pool2d);
    const std::pair<bool, std::string_view> parts[] = {
        {any(MicroKind::dense), kDenseShape},
        {any(MicroKind::conv2d), kConv2dShape},
        {pools, kPool2dShape},
        {any(MicroKind::softmax) || trains_, kExp},
        {trains_, kLog},
        {any(MicroKind::dense), kDense},
        {any(MicroKind::conv2d), kConv2d},
        {any(MicroKind::max_pool2d), kMaxPool2d},
        {any(MicroKind::average_pool2d), kAveragePool2d},
        {any(MicroKind::relu), kRelu},
        {any(MicroKind::softmax), kSoftmax},
        {trains_, kCrossEntropy},
        {any_relu_gradient(), kReluInput},
        {any_weight_gradient(MicroKind::dense), kDenseGradients},
        {any_input_gradient(MicroKind::dense), kDenseInput},
        {any_weight_gradient(MicroKind::conv2d), kConv2dGradients},
        {any_input_gradient(MicroKind::conv2d), kConv2dInput},
        {any_input_gradient(MicroKind::max_pool2d), kMaxPool2dInput},
        {any_input_gradient(MicroKind::average_pool2d), kAveragePool2dInput},
    };
    std::string text;
    for (const auto& [is_used, part] : parts) {
      if (is_used) text += std::string(part) + "\n";
    }
    return text;
  }

  std::string constants() const {
    std::string text;
    for (size_t k = 0; k < layers_.size(); ++k) {
      if (std::holds_alternative<std::monostate>(layers_[k].shape)) continue;
      text += shape_constant("s_" + layer_names_[k], layers_[k].shape);
    }
    for (size_t i = 0; i < arena_.parameters.size(); ++i) {
      const MicroParameter& parameter = arena_.parameters[i];
      const TensorInfo& tensor = graph().tensors[parameter.tensor];
      text += "\n/* " + micro_comment(tensor.name) + ": " + sizes_text(tensor.shape) +
              (parameter.value ? ", where training begins */\n" : " */\n") + "static const float " +
              (parameter.value ? "start_" : "w_") + parameter_names_[i] + "[" + std::to_string(parameter.elements) +
              "] = {\n" +
              list_text(model_.parameters().subspan(tensor.payload_offset / sizeof(float), parameter.elements)) +
              "};\n";
    }
    return text + "\n";
  }

  std::string define(const std::string& name, uint64_t offset) const {
    return "#define " + name + " (arena + " + std::to_string(offset) + ")\n";
  }

  std::string buffers() const {
    if (arena_.elements == 0) return "";
    std::string text = "static float arena[" + std::to_string(arena_.elements) + "];\n\n/* Where in it: */\n";
    for (size_t i = 0; i < arena_.parameters.size(); ++i) {
      if (arena_.parameters[i].value) text += define("w_" + parameter_names_[i], *arena_.parameters[i].value);
    }
    for (size_t i = 0; i < arena_.parameters.size(); ++i) {
      if (arena_.parameters[i].gradient) text += define("g_" + parameter_names_[i], *arena_.parameters[i].gradient);
    }
    for (size_t k = 0; k < layers_.size(); ++k) {
      if (arena_.values[k]) text += define("y_" + layer_names_[k], *arena_.values[k]);
      if (arena_.gradients[k]) text += define("d_" + layer_names_[k], *arena_.gradients[k]);
    }
    if (arena_.examples) text += "#define examples arena[" + std::to_string(*arena_.examples) + "]\n";
    return text + "\n";
  }

  std::string weight(std::optional<uint32_t> tensor) const { return tensor ? "w_" + name_of(*tensor) : "NULL"; }
  std::string gradient(std::optional<uint32_t> tensor) const {
    return is_trained(tensor) ? "g_" + name_of(*tensor) : "NULL";
  }
  std::string value(size_t layer) const { return arena_.values[layer] ? "y_" + layer_names_[layer] : "output"; }
  std::string input_of(size_t layer) const { return layer == 0 ? "input" : value(layer - 1); }

  std::string forward_call(size_t k) const {
    const MicroLayer& layer = layers_[k];
    const std::string shape = "&s_" + layer_names_[k] + ", ";
    const std::string in = input_of(k), out = value(k), count = std::to_string(layer.out);
    const std::string weighted = shape + in + ", " + weight(layer.weight) + ", " + weight(layer.bias) + ", " +
                                 (layer.has_relu ? "1" : "0") + ", " + out;
    switch (layer.kind) {
      case MicroKind::dense: return "dense(" + weighted + ");\n";
      case MicroKind::conv2d: return "conv2d(" + weighted + ");\n";
      case MicroKind::max_pool2d: return "max_pool2d(" + shape + in + ", " + out + ");\n";
      case MicroKind::average_pool2d: return "average_pool2d(" + shape + in + ", " + out + ");\n";
      case MicroKind::relu: return "relu(" + count + ", " + in + ", " + out + ");\n";
      case MicroKind::softmax: return "softmax(" + count + ", " + in + ", " + out + ");\n";
    }
    return "";
  }

  std::string forward() const {
    std::string calls;
    for (size_t k = 0; k < layers_.size(); ++k) calls += "  " + forward_call(k);
    const std::string predict = "void " + prefix_ + "_predict(const float *input, float *output) {\n";
    if (!trains_) return predict + calls + "}\n";
    return "static void forward(const float *input) {\n" + calls + "}\n\n" + predict +
           "  forward(input);\n  for (size_t i = 0; i < " + std::to_string(layers_.back().out) +
           "; ++i) output[i] = " + value(layers_.size() - 1) + "[i];\n}\n";
  }

  std::string backward_calls(size_t k) const {
    const MicroLayer& layer = layers_[k];
    const std::string shape = "(&s_" + layer_names_[k] + ", ", dy = "d_" + layer_names_[k];
    std::string text;
    if (layer.has_relu || layer.kind == MicroKind::relu) {
      text += "  relu_input(" + std::to_string(layer.out) + ", " + value(k) + ", " + dy + ");\n";
    }
    const std::string kind = layer.kind == MicroKind::dense ? "dense" : "conv2d";
    if (is_trained(layer.weight) || is_trained(layer.bias)) {
      text += "  " + kind + "_gradients" + shape + input_of(k) + ", " + dy + ", " + gradient(layer.weight) + ", " +
              gradient(layer.bias) + ");\n";
    }
    if (k == arena_.first_trained) return text;
    const std::string dx = ", d_" + layer_names_[k - 1] + ");\n";
    switch (layer.kind) {
      case MicroKind::dense:
      case MicroKind::conv2d: return text + "  " + kind + "_input" + shape + dy + ", " + weight(layer.weight) + dx;
      case MicroKind::max_pool2d: return text + "  max_pool2d_input" + shape + input_of(k) + ", " + dy + dx;
      case MicroKind::average_pool2d: return text + "  average_pool2d_input" + shape + dy + dx;
      case MicroKind::relu:
      case MicroKind::softmax: break;
    }
    return text;
  }

  std::string client() const {
    if (frame_ == nullptr) return "";
    std::vector<MicroSpan> spans;
    for (size_t i = 0; i < arena_.parameters.size(); ++i) {
      const MicroParameter& parameter = arena_.parameters[i];
      spans.push_back({.first = graph().tensors[parameter.tensor].payload_offset / kElementBytes,
                       .count = parameter.elements,
                       .place = parameter.value,
                       .constant = "w_" + parameter_names_[i]});
    }
    return client_text({.prefix = prefix_, .frame = *frame_, .spans = std::move(spans), .trained = arena_.trained});
  }

  std::string training() const {
    const size_t last = layers_.size() - 1;
    const std::string classes = std::to_string(layers_[last].out), trained = std::to_string(arena_.trained);
    std::string text = frame_ != nullptr ? std::string(micro_text::kRightAnswers) : std::string();
    text += "\nvoid " + prefix_ + "_init(void) {\n";
    for (size_t i = 0; i < arena_.parameters.size(); ++i) {
      if (!arena_.parameters[i].value) continue;
      const std::string& name = parameter_names_[i];
      text += "  for (size_t i = 0; i < " + std::to_string(arena_.parameters[i].elements) + "; ++i) w_" + name +
              "[i] = start_" + name + "[i];\n";
    }
    text +=
        "  for (size_t i = 0; i < " + trained + "; ++i) arena[" + trained + " + i] = 0.0f;\n  examples = 0.0f;\n}\n\n";
    text += "float *" + prefix_ + "_parameters(void) { return arena; }\n\n";
    text += "float " + prefix_ +
            "_accumulate(const float *input, size_t label) {\n  float loss;\n  if (label >= " + classes +
            ") return -1.0f;\n  forward(input);\n" +
            (frame_ != nullptr ? "  right_answers += is_largest(" + classes + ", " + value(last) + ", label);\n"
                               : std::string()) +
            "  loss = cross_entropy(" + classes + ", " + value(last) + ", label, d_" + layer_names_[last] + ");\n";
    for (size_t k = layers_.size(); k-- > arena_.first_trained;) text += backward_calls(k);
    text += "  examples += 1.0f;\n  return loss;\n}\n\n";
    text += "void " + prefix_ + "_apply(float learning_rate) {\n  float step;\n  if (examples < 1.0f) return;\n" +
            "  step = learning_rate / examples;\n  for (size_t i = 0; i < " + trained +
            "; ++i) {\n    arena[i] -= step * arena[" + trained + " + i];\n    arena[" + trained +
            " + i] = 0.0f;\n  }\n  examples = 0.0f;\n}\n";
    return text;
  }

  const Model& model_;
  std::vector<MicroLayer> layers_;
  MicroArena arena_;
  bool trains_;
  const MicroModelFrame* frame_;
  MicroNames names_;
  std::vector<std::string> layer_names_, parameter_names_;
  std::string prefix_;
};

// A device holds each value of a model that comes against a place of its own; between them there are zeros.
Status check_places(const ModelGraph& graph, const MicroArena& arena) {
  for (uint32_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    if (!has_payload(graph.tensors[tensor].role)) continue;
    if (std::ranges::find(arena.parameters, tensor, &MicroParameter::tensor) != arena.parameters.end()) continue;
    return Error(ErrorCode::invalid_argument, "no layer reads its parameter " + graph.tensors[tensor].name +
                                                  ", for which a device has no place; convert the model without it");
  }
  return {};
}

}  // namespace

Result<MicroProgram> write_micro_program(const Model& model, const MicroOptions& options) {
  COT_ASSIGN(std::vector<MicroLayer> layers, micro_layers(model, options.trains));
  COT_ASSIGN(MicroArena arena, plan_micro_arena(model.graph(), layers, options.trains, options.arena_bytes_max));
  if (options.frame != nullptr) COT_TRY(check_places(model.graph(), arena));
  return ProgramWriter(model, std::move(layers), std::move(arena), options).write();
}

}  // namespace coterie
