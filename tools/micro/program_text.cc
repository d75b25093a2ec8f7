#include "tools/micro/program_text.h"

#include <algorithm>

#include "tools/micro/client_text.h"
#include "tools/micro/header_text.h"
#include "tools/micro/identifier.h"
#include "tools/micro/kernel_text.h"
#include "tools/micro/number_text.h"
#include "tools/micro/pass_text.h"
#include "tools/micro/shape_text.h"
#include "tools/micro/training_text.h"

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
                     ".h\"\n\n#include <stdint.h>\n\n" + kernels() + constants() + buffers() +
                     (trains_ ? training_text(training()) : predict()) + client();
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

  // Only what is used: an unused static function is a warning.
  std::string kernels() const {
    const bool has_dense = any(MicroKind::dense), has_conv = any(MicroKind::conv2d);
    const bool has_max = any(MicroKind::max_pool2d), has_average = any(MicroKind::average_pool2d);
    const MicroTraining passes = trains_ ? training() : MicroTraining();
    const bool predicts = !trains_;  // alone
    const std::pair<bool, std::string_view> parts[] = {
        {has_dense, kDenseShape},
        {predicts && has_conv, kConv2dShape},
        {predicts && (has_max || has_average), kPool2dShape},
        {any(MicroKind::softmax) || trains_, kExp},
        {trains_, kLog},
        {predicts && has_dense, kDense},
        {predicts && has_conv, kConv2d},
        {predicts && has_max, kMaxPool2d},
        {predicts && has_average, kAveragePool2d},
        {predicts ? any(MicroKind::relu) : any_relu(passes), kRelu},
        {any(MicroKind::softmax), kSoftmax},
        {trains_, kPass},
        {trains_, kProducts},
        {trains_ && has_dense, kDensePass},
        {trains_ && (has_conv || has_max || has_average), kWindowShape},
        {trains_ && (has_conv || has_max), kWindowPass},
        {trains_ && has_average, kAveragePass},
        {trains_, kCrossEntropy},
        {trains_ && any_relu_gradient(passes), kReluInput},
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
      const std::string name = "s_" + layer_names_[k];
      text += trains_ ? pass_shape_constant(name, layers_[k].shape) : shape_constant(name, layers_[k].shape);
    }
    for (size_t i = 0; i < arena_.parameters.size(); ++i) {
      if (arena_.parameters[i].value) continue;
      text += "\n" + comment_of(i) + "static const float w_" + parameter_names_[i] + "[" +
              std::to_string(arena_.parameters[i].elements) + "] = {\n" + values_of(i) + "};\n";
    }
    if (arena_.trained == 0) return text + "\n";
    // Where training begins, in the order of the arena: to be copied at once.
    text += "\nstatic const float start[" + std::to_string(arena_.trained) + "] = {\n";
    uint64_t written = 0;
    for (size_t i = 0; i < arena_.parameters.size(); ++i) {
      if (!arena_.parameters[i].value) continue;
      written += arena_.parameters[i].elements;
      std::string values = values_of(i);
      if (written < arena_.trained) values.insert(values.size() - 1, ",");
      text += comment_of(i) + values;
    }
    text += "};\n";
    return text + "\n";
  }

  std::string comment_of(size_t parameter) const {
    const TensorInfo& tensor = graph().tensors[arena_.parameters[parameter].tensor];
    return "/* " + micro_comment(tensor.name) + ": " + sizes_text(tensor.shape) + " */\n";
  }
  std::string values_of(size_t parameter) const {
    const MicroParameter& of = arena_.parameters[parameter];
    const uint64_t first = graph().tensors[of.tensor].payload_offset / sizeof(float);
    return list_text(model_.parameters().subspan(first, of.elements));
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

  std::string predict() const {
    std::string calls;
    for (size_t k = 0; k < layers_.size(); ++k) calls += "  " + forward_call(k);
    return "void " + prefix_ + "_predict(const float *input, float *output) {\n" + calls + "}\n";
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

  static const char* pass_of(MicroKind kind) {
    switch (kind) {
      case MicroKind::dense: return "dense_pass";
      case MicroKind::conv2d:
      case MicroKind::max_pool2d: return "window_pass";
      case MicroKind::average_pool2d: return "average_pass";
      case MicroKind::relu:
      case MicroKind::softmax: break;
    }
    return "NULL";
  }

  MicroTraining training() const {
    MicroTraining made{.prefix = prefix_,
                       .first_trained = arena_.first_trained,
                       .trained = arena_.trained,
                       .counts_right = frame_ != nullptr};
    for (size_t k = 0; k < layers_.size(); ++k) {
      const MicroLayer& layer = layers_[k];
      const bool has_shape = !std::holds_alternative<std::monostate>(layer.shape);
      made.layers.push_back({.name = layer_names_[k],
                             .pass = pass_of(layer.kind),
                             .shape = has_shape ? "&s_" + layer_names_[k] : "NULL",
                             .weight = weight(layer.weight),
                             .bias = weight(layer.bias),
                             .weight_gradient = gradient(layer.weight),
                             .bias_gradient = gradient(layer.bias),
                             .value = value(k),
                             .gradient = arena_.gradients[k] ? "d_" + layer_names_[k] : "NULL",
                             .out = layer.out,
                             .filters = layer.bias ? parameter(*layer.bias).elements : 1,
                             .has_relu = layer.has_relu || layer.kind == MicroKind::relu});
    }
    return made;
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
