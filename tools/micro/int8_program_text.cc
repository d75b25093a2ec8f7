#include "tools/micro/int8_program_text.h"

#include <algorithm>

#include "device_sdk/runtime/int8/int8_arena.h"
#include "device_sdk/runtime/int8/int8_program.h"
#include "tools/micro/header_text.h"
#include "tools/micro/identifier.h"
#include "tools/micro/int8_kernel_text.h"
#include "tools/micro/kernel_text.h"
#include "tools/micro/number_text.h"
#include "tools/micro/shape_text.h"

namespace coterie {
namespace {

using namespace micro_text;

constexpr uint64_t kConstantBytesMax = (1ull << 31) - 1;  // size_t has 32 bits on a microcontroller

template <typename T>
std::string integers_text(const std::vector<T>& values) {
  constexpr size_t kPerLine = 20;
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i % kPerLine == 0 ? "  " : " ") + std::to_string(static_cast<int32_t>(values[i]));
    if (i + 1 < values.size()) text += ",";
    if (i % kPerLine == kPerLine - 1 || i + 1 == values.size()) text += "\n";
  }
  return text;
}

class Int8Writer {
 public:
  Int8Writer(const Int8Program& program, Int8Arena arena) : program_(program), arena_(std::move(arena)) {
    for (const Int8Step& step : program.steps) names_.push_back(given_.unique(step.name));
    prefix_ = micro_prefix(program.name);
  }

  MicroProgram write() const {
    MicroProgram written{.prefix = prefix_, .arena_bytes = arena_.bytes, .constant_bytes = constant_bytes()};
    written.header = micro_header({.prefix = prefix_,
                                   .model = micro_comment(program_.name),
                                   .input = program_.input_shape,
                                   .inputs = program_.values[0].elements,
                                   .outputs = program_.values[program_.output].elements,
                                   .arena_bytes = arena_.bytes,
                                   .is_int8 = true});
    written.source = "/* " + prefix_ + ".c: what " + prefix_ +
                     ".h promises. Written by `coterie model export --c --int8`. */\n#include \"" + prefix_ +
                     ".h\"\n\n#include <stdint.h>\n\n" + kernels() + constants() + "static int8_t arena[" +
                     std::to_string(arena_.bytes) + "];\n\n" + predict();
    return written;
  }

  uint64_t constant_bytes() const {
    uint64_t bytes = 0;
    for (const Int8Step& step : program_.steps) {
      bytes += step.weights.size() + sizeof(int32_t) * step.bias.size();
      if (!step.weights.empty()) bytes += sizeof(float) * step.multipliers.size();
    }
    return bytes;
  }

 private:
  bool any(Int8Kind kind) const { return std::ranges::count(program_.steps, kind, &Int8Step::kind) > 0; }

  // Only what is used: an unused static function is a warning.
  std::string kernels() const {
    const bool pools = any(Int8Kind::max_pool2d) || any(Int8Kind::average_pool2d);
    const std::pair<bool, std::string_view> parts[] = {
        {any(Int8Kind::dense), kDenseShape},
        {any(Int8Kind::conv2d), kConv2dShape},
        {pools, kPool2dShape},
        {true, kInt8Rounded},
        {true, kInt8Quantise},
        {any(Int8Kind::dense), kInt8Dense},
        {any(Int8Kind::conv2d), kInt8Conv2d},
        {any(Int8Kind::max_pool2d), kInt8MaxPool2d},
        {any(Int8Kind::average_pool2d), kInt8AveragePool2d},
        {any(Int8Kind::add), kInt8Add},
        {any(Int8Kind::clamp), kInt8Clamp},
        {true, kInt8Dequantise},
        {program_.has_softmax, kExp},
        {program_.has_softmax, kSoftmax},
    };
    std::string text;
    for (const auto& [is_used, part] : parts) {
      if (is_used) text += std::string(part) + "\n";
    }
    return text;
  }

  std::string constants() const {
    std::string text;
    for (size_t k = 0; k < program_.steps.size(); ++k) {
      const Int8Step& step = program_.steps[k];
      text += shape_constant("s_" + names_[k], step.shape);
      if (step.kind != Int8Kind::max_pool2d) {
        text += "static const int8_target t_" + names_[k] + " = {" + std::to_string(step.to.zero) + ", " +
                std::to_string(step.to.low) + ", " + std::to_string(step.to.high) + "};\n";
      }
      if (step.weights.empty()) continue;
      const auto array = [&](const char* type, const char* kind, size_t count, const std::string& values) {
        return "static const " + std::string(type) + " " + kind + names_[k] + "[" + std::to_string(count) + "] = {\n" +
               values + "};\n";
      };
      text += array("int8_t", "w_", step.weights.size(), integers_text(step.weights)) +
              array("int32_t", "b_", step.bias.size(), integers_text(step.bias)) +
              array("float", "m_", step.multipliers.size(), list_text(step.multipliers));
    }
    return text + "\n";
  }

  std::string at(uint32_t value) const { return "arena + " + std::to_string(arena_.offsets[value]); }
  std::string zero(uint32_t value) const { return std::to_string(program_.zero_of(value)); }
  std::string count(uint32_t value) const { return std::to_string(program_.values[value].elements); }

  std::string call(size_t k) const {
    const Int8Step& step = program_.steps[k];
    const std::string &name = names_[k], x = at(step.inputs[0]), y = at(step.output), from = zero(step.inputs[0]);
    const std::string to = "&t_" + name + ", ", shape = "(&s_" + name + ", " + x + ", ";
    const auto multiplier = [&](size_t i) { return float_text(step.multipliers[i]); };
    const std::string weighted = shape + from + ", w_" + name + ", b_" + name + ", m_" + name + ", " + to + y + ");\n";
    switch (step.kind) {
      case Int8Kind::dense: return "int8_dense" + weighted;
      case Int8Kind::conv2d: return "int8_conv2d" + weighted;
      case Int8Kind::max_pool2d: return "int8_max_pool2d" + shape + y + ");\n";
      case Int8Kind::average_pool2d:
        return "int8_average_pool2d" + shape + from + ", " + multiplier(0) + ", " + to + y + ");\n";
      case Int8Kind::add:
        return "int8_add(" + count(step.output) + ", " + x + ", " + from + ", " + multiplier(0) + ", " +
               at(step.inputs[1]) + ", " + zero(step.inputs[1]) + ", " + multiplier(1) + ", " + to + y + ");\n";
      case Int8Kind::clamp: return "int8_clamp(" + count(step.output) + ", " + to + x + ", " + y + ");\n";
    }
    return "";
  }

  std::string ends(const char* function, uint32_t value, const std::string& operands) const {
    return "  " + std::string(function) + "(" + count(value) + ", " + float_text(program_.values[value].grid.scale) +
           ", " + zero(value) + ", " + operands + ");\n";
  }

  std::string predict() const {
    std::string text = "void " + prefix_ + "_predict(const float *input, float *output) {\n" +
                       ends("int8_quantise", 0, "input, " + at(0));
    for (size_t k = 0; k < program_.steps.size(); ++k) text += "  " + call(k);
    text += ends("int8_dequantise", program_.output, at(program_.output) + ", output");
    if (program_.has_softmax) text += "  softmax(" + count(program_.output) + ", output, output);\n";
    return text + "}\n";
  }

  const Int8Program& program_;
  Int8Arena arena_;
  MicroNames given_;
  std::vector<std::string> names_;  // of each step
  std::string prefix_;
};

}  // namespace

Result<MicroProgram> write_int8_program(const Int8Program& program, uint64_t arena_bytes_max) {
  for (const Int8Value& value : program.values) {
    if (value.elements > kMicroArenaBytesMax) {
      return Error(ErrorCode::too_large, "an example of the model does not fit the memory of a microcontroller");
    }
  }
  Int8Arena arena = plan_int8_arena(program);
  const uint64_t allowed = std::min(arena_bytes_max, kMicroArenaBytesMax);
  if (arena.bytes > allowed) {
    return Error(ErrorCode::too_large, "the arena would have " + std::to_string(arena.bytes) + " bytes, and " +
                                           std::to_string(allowed) + " bytes are allowed; take a smaller model");
  }
  const Int8Writer writer(program, std::move(arena));
  if (writer.constant_bytes() > kConstantBytesMax) {
    return Error(ErrorCode::too_large, "the parameters have more than 2^31 - 1 bytes");
  }
  return writer.write();
}

}  // namespace coterie
