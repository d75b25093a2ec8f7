#include "model_import/tflite/read_tflite.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "model_import/tflite/read_options.h"
#include "model_import/tflite/read_tensors.h"

namespace coterie::model_import {
namespace {

namespace wire = tflite_wire;

constexpr size_t kFirstBytes = 8;  // the root's offset and the identifier
constexpr size_t kVersion = 3;

// The operands that an operator cannot do without, which come first.
size_t needed_inputs(TfliteOp op) {
  switch (op) {
    case TfliteOp::add:
    case TfliteOp::sub:
    case TfliteOp::mul:
    case TfliteOp::conv_2d:
    case TfliteOp::depthwise_conv_2d:
    case TfliteOp::fully_connected:
    case TfliteOp::batch_matmul:
    case TfliteOp::mean:
    case TfliteOp::transpose:
    case TfliteOp::pad:
    case TfliteOp::mirror_pad:
    case TfliteOp::split:
    case TfliteOp::resize_bilinear:
    case TfliteOp::resize_nearest_neighbor: return 2;
    case TfliteOp::transpose_conv: return 3;
    case TfliteOp::strided_slice: return 4;
    default: return 1;
  }
}

class Reading {
 public:
  Reading(std::vector<uint8_t> bytes, const wire::Model& root) : root_(root) { model_.bytes = std::move(bytes); }

  Result<TfliteModel> run() {
    if (root_.version() != kVersion) {
      return Error(ErrorCode::invalid_argument,
                   "the file is of version " + std::to_string(root_.version()) + " of the format, it must be 3");
    }
    if (size_of(root_.subgraphs()) != 1) {
      return Error(ErrorCode::invalid_argument, "the file has " + std::to_string(size_of(root_.subgraphs())) +
                                                    " graphs, it must have one: convert each signature to a file of "
                                                    "its own");
    }
    const wire::SubGraph& graph = *root_.subgraphs()->Get(0);
    model_.name = name_or(graph.name(), "main", kTfliteNameBytesMax);
    COT_ASSIGN(model_.tensors, read_tensors(root_, graph, model_.bytes.size()));
    COT_ASSIGN(model_.inputs, tensors_of(graph.inputs(), "the graph's inputs", false));
    COT_ASSIGN(model_.outputs, tensors_of(graph.outputs(), "the graph's outputs", false));
    if (model_.outputs.empty()) return malformed("the graph has no output");
    COT_TRY(read_operators(graph));
    COT_TRY(check_order());
    return std::move(model_);
  }

 private:
  Result<std::vector<int32_t>> tensors_of(const flatbuffers::Vector<int32_t>* from, const std::string& whose,
                                          bool may_be_absent) {
    operands_ += size_of(from);
    if (operands_ > kTfliteOperandsMax) return too_many("operands", operands_, kTfliteOperandsMax);
    std::vector<int32_t> indices;
    for (size_t i = 0; i < size_of(from); ++i) {
      const int32_t index = from->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (index == kNoOperand && may_be_absent) {
        indices.push_back(index);
        continue;
      }
      if (index < 0 || static_cast<size_t>(index) >= model_.tensors.size()) {
        return malformed(whose + " name tensor " + std::to_string(index) + ", of which there are " +
                         std::to_string(model_.tensors.size()));
      }
      indices.push_back(index);
    }
    return indices;
  }

  Status read_operators(const wire::SubGraph& graph) {
    const size_t count = size_of(graph.operators());
    if (count == 0) return malformed("the graph has no operators");
    if (count > kTfliteOperatorsMax) return too_many("operators", count, kTfliteOperatorsMax);
    COT_TRY(check_known(graph));
    for (size_t i = 0; i < count; ++i) {
      const wire::Operator& from = *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
      TfliteOperator op;
      op.op = static_cast<TfliteOp>(code_of(from));
      model_.operators.push_back(op);
      if (const Status read = read_operator(from, model_.operators.back()); !read) {
        return read.error().with_context(what_of(model_, i));
      }
    }
    return {};
  }

  Status read_operator(const wire::Operator& from, TfliteOperator& op) {
    COT_ASSIGN(op.inputs, tensors_of(from.inputs(), "its inputs", true));
    COT_ASSIGN(op.outputs, tensors_of(from.outputs(), "its outputs", false));
    for (size_t i = 0; i < needed_inputs(op.op); ++i) {
      if (!op.has(i)) return malformed("it needs " + std::to_string(needed_inputs(op.op)) + " inputs");
    }
    if (op.outputs.empty() || (op.op != TfliteOp::split && op.outputs.size() != 1)) {
      return malformed("it has " + std::to_string(op.outputs.size()) + " outputs");
    }
    COT_ASSIGN(op.options, read_options(op.op, from));
    return {};
  }

  // The old field has one byte, the new one is there for what does not fit.
  int32_t code_of(const wire::Operator& from) const {
    const wire::OperatorCode& code = *root_.operator_codes()->Get(from.opcode_index());
    return std::max<int32_t>(code.deprecated_builtin_code(), code.builtin_code());
  }

  Status check_known(const wire::SubGraph& graph) {
    std::map<std::string, size_t> unknown;
    for (size_t i = 0; i < graph.operators()->size(); ++i) {
      const wire::Operator& from = *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (from.opcode_index() >= size_of(root_.operator_codes())) {
        return malformed("operator " + std::to_string(i) + " has code " + std::to_string(from.opcode_index()) +
                         ", of which there are " + std::to_string(size_of(root_.operator_codes())));
      }
      const int32_t code = code_of(from);
      if (is_read(code)) continue;
      const flatbuffers::String* custom = root_.operator_codes()->Get(from.opcode_index())->custom_code();
      unknown.emplace(custom == nullptr ? operator_name(code) : "CUSTOM " + name_or(custom, "", kTfliteNameBytesMax),
                      i);
    }
    if (unknown.empty()) return {};
    std::string text = "the model uses operators that are not supported:";
    for (const auto& [name, at] : unknown) text += " " + name + " (operator " + std::to_string(at) + "),";
    text.pop_back();
    return Error(ErrorCode::invalid_argument, text);
  }

  // The format has operators in the order of execution.
  Status check_order() const {
    std::vector<bool> is_there(model_.tensors.size());
    for (const int32_t input : model_.inputs) {
      if (model_.tensor(input).is_constant())
        return malformed("the input " + model_.tensor(input).name + " is a constant");
      if (is_there[static_cast<size_t>(input)])
        return malformed("the input " + model_.tensor(input).name + " is there twice");
      is_there[static_cast<size_t>(input)] = true;
    }
    for (size_t i = 0; i < model_.operators.size(); ++i) {
      for (const int32_t input : model_.operators[i].inputs) {
        if (input == kNoOperand || model_.tensor(input).is_constant() || model_.tensor(input).is_variable) continue;
        if (is_there[static_cast<size_t>(input)]) continue;
        return malformed(what_of(model_, i) + " reads tensor " + model_.tensor(input).name +
                         ", which nothing has written");
      }
      for (const int32_t output : model_.operators[i].outputs) {
        if (is_there[static_cast<size_t>(output)] || model_.tensor(output).is_constant()) {
          return malformed(what_of(model_, i) + " writes tensor " + model_.tensor(output).name +
                           ", which is already written");
        }
        is_there[static_cast<size_t>(output)] = true;
      }
    }
    for (const int32_t output : model_.outputs) {
      if (!is_there[static_cast<size_t>(output)])
        return malformed("nothing writes the output " + model_.tensor(output).name);
    }
    return {};
  }

  const wire::Model& root_;
  TfliteModel model_;
  size_t operands_ = 0;
};

}  // namespace

bool is_tflite(ByteView file) {
  return file.size() >= kFirstBytes && std::memcmp(file.data() + 4, wire::ModelIdentifier(), 4) == 0;
}

Result<TfliteModel> read_tflite(ByteView file) {
  if (file.size() > kTfliteFileBytesMax) return Error(ErrorCode::too_large, "the file is larger than 2 GiB");
  if (!is_tflite(file)) return malformed("not a TFLite model: it has no identifier TFL3");
  std::vector<uint8_t> bytes(file.begin(), file.end());  // aligned, and the table's own
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kTfliteDepthMax, kTfliteTablesMax);
  if (!wire::VerifyModelBuffer(verifier)) {
    return malformed("not a TFLite model: the bytes are cut short or no FlatBuffer of the format");
  }
  const wire::Model& root = *wire::GetModel(bytes.data());
  return Reading(std::move(bytes), root).run();
}

}  // namespace coterie::model_import
