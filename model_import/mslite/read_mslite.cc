#include "model_import/mslite/read_mslite.h"

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <map>

#include "model_import/mslite/read_tensors.h"

namespace coterie::model_import {
namespace {

namespace wire = mslite_wire;

constexpr size_t kFirstBytes = 8;  // the root's offset and the identifier

// The operands that an operator cannot do without, which come first.
size_t needed_inputs(MsliteOp op) {
  switch (op) {
    case MsliteOp::add:
    case MsliteOp::sub:
    case MsliteOp::mul:
    case MsliteOp::div:
    case MsliteOp::real_div:
    case MsliteOp::maximum:
    case MsliteOp::minimum:
    case MsliteOp::squared_difference:
    case MsliteOp::power:
    case MsliteOp::bias_add:
    case MsliteOp::convolution:
    case MsliteOp::transposed_convolution:
    case MsliteOp::dense:
    case MsliteOp::matmul:
    case MsliteOp::expand_dims:
    case MsliteOp::pad:
    case MsliteOp::prelu:
    case MsliteOp::reshape:
    case MsliteOp::scale:
    case MsliteOp::transpose: return 2;
    case MsliteOp::batch_norm:
    case MsliteOp::gather:
    case MsliteOp::layer_norm:
    case MsliteOp::slice: return 3;
    case MsliteOp::lstm:
    case MsliteOp::strided_slice: return 4;
    case MsliteOp::gru:
    case MsliteOp::fused_batch_norm: return 5;
    default: return 1;
  }
}

class MsliteReading {
 public:
  MsliteReading(std::vector<uint8_t> bytes, const wire::Graph& root) : root_(root) { model_.bytes = std::move(bytes); }

  Result<MsliteModel> run() {
    if (root_.is_obfuscated()) return mslite_refused("the file is obfuscated: convert the model without that");
    if (size_of(root_.subgraphs()) > 1) {
      return mslite_refused("the file has " + std::to_string(root_.subgraphs()->size()) +
                            " graphs, for branches and loops: only files with one are read");
    }
    model_.name = name_or(root_.name(), "main", kMsliteNameBytesMax);
    model_.version = name_or(root_.version(), "an unknown version", kMsliteNameBytesMax);
    COT_TRY(check_known());
    COT_ASSIGN(model_.tensors, read_mslite_tensors(root_, model_.bytes.size()));
    COT_ASSIGN(model_.inputs, tensors_of(root_.inputs(), "the graph's inputs"));
    COT_ASSIGN(model_.outputs, tensors_of(root_.outputs(), "the graph's outputs"));
    if (model_.outputs.empty()) return malformed("the graph has no output");
    COT_TRY(read_nodes());
    COT_TRY(order());
    return std::move(model_);
  }

 private:
  const wire::Node& node(size_t i) const { return *root_.nodes()->Get(static_cast<flatbuffers::uoffset_t>(i)); }
  static uint8_t code_of(const wire::Node& from) {
    return from.primitive() == nullptr ? 0 : static_cast<uint8_t>(from.primitive()->value_type());
  }
  const MsliteTensor& tensor(uint32_t i) const { return model_.tensors[i]; }

  Result<std::vector<uint32_t>> tensors_of(const flatbuffers::Vector<uint32_t>* from, const std::string& whose) {
    operands_ += size_of(from);
    if (operands_ > kMsliteOperandsMax) return too_many("operands", operands_, kMsliteOperandsMax);
    std::vector<uint32_t> indices;
    for (size_t i = 0; i < size_of(from); ++i) {
      const uint32_t index = from->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (index >= model_.tensors.size()) {
        return malformed(whose + " name tensor " + std::to_string(index) + ", of which there are " +
                         std::to_string(model_.tensors.size()));
      }
      indices.push_back(index);
    }
    return indices;
  }

  Status check_known() const {
    const size_t count = size_of(root_.nodes());
    if (count == 0) return malformed("the graph has no nodes");
    if (count > kMsliteNodesMax) return too_many("nodes", count, kMsliteNodesMax);
    std::map<std::string, size_t> unknown, training;
    for (size_t i = 0; i < count; ++i) {
      const uint8_t code = code_of(node(i));
      if (code == 0) return malformed("node " + std::to_string(i) + " has no operator");
      if (is_training_only(code)) training.emplace(mslite_operator_name(code), i);
      else if (!is_read_mslite(code)) unknown.emplace(mslite_operator_name(code), i);
    }
    if (!training.empty()) {
      return mslite_refused("the file is a training graph (" + listed(training) +
                            "): export it for inference, or bring the model as ONNX; what is read here can be trained");
    }
    if (unknown.empty()) return {};
    return mslite_refused("the model uses operators that are not supported: " + listed(unknown));
  }

  static std::string listed(const std::map<std::string, size_t>& places) {
    std::string text;
    for (const auto& [name, at] : places) {
      text += (text.empty() ? "" : ", ") + name + " (node " + std::to_string(at) + ")";
    }
    return text;
  }

  Status read_nodes() {
    for (size_t i = 0; i < root_.nodes()->size(); ++i) {
      MsliteOperator op;
      op.op = static_cast<MsliteOp>(code_of(node(i)));
      op.place = static_cast<uint32_t>(i);
      if (const Status read = read_node(node(i), op); !read) return read.error().with_context(what_of(op));
      model_.operators.push_back(std::move(op));
    }
    return {};
  }

  Status read_node(const wire::Node& from, MsliteOperator& op) {
    COT_ASSIGN(op.inputs, tensors_of(from.inputs(), "its inputs"));
    COT_ASSIGN(op.outputs, tensors_of(from.outputs(), "its outputs"));
    if (op.inputs.size() < needed_inputs(op.op)) {
      return malformed("it needs " + std::to_string(needed_inputs(op.op)) + " inputs, has " +
                       std::to_string(op.inputs.size()));
    }
    // Recurrent layers have their last states, norms and Dropout what is for training alone.
    const bool has_more = op.op == MsliteOp::split || op.op == MsliteOp::dropout || op.op == MsliteOp::layer_norm ||
                          op.op == MsliteOp::fused_batch_norm || op.op == MsliteOp::lstm || op.op == MsliteOp::gru;
    if (op.outputs.empty() || (op.outputs.size() > 1 && !has_more)) {
      return malformed("it has " + std::to_string(op.outputs.size()) + " outputs");
    }
    COT_ASSIGN(op.attributes, read_mslite_attributes(op.op, *from.primitive()));
    return {};
  }

  // The nodes so that each comes after those whose outputs it reads, else in the file's order.
  Status order() {
    constexpr size_t kNone = SIZE_MAX;
    std::vector<size_t> writer(model_.tensors.size(), kNone);
    std::vector<bool> is_input(model_.tensors.size());
    for (const uint32_t input : model_.inputs) {
      if (tensor(input).is_constant()) return malformed("the input " + tensor(input).name + " is a constant");
      if (is_input[input]) return malformed("the input " + tensor(input).name + " is there twice");
      is_input[input] = true;
    }
    std::vector<MsliteOperator>& nodes = model_.operators;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const uint32_t output : nodes[i].outputs) {
        if (writer[output] != kNone || is_input[output] || tensor(output).is_constant()) {
          return malformed(what_of(nodes[i]) + " writes tensor " + tensor(output).name + ", which is already written");
        }
        writer[output] = i;
      }
    }
    std::vector<std::vector<size_t>> readers(nodes.size());
    std::vector<size_t> waits(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const uint32_t input : nodes[i].inputs) {
        if (is_input[input] || tensor(input).is_constant()) continue;
        if (writer[input] == kNone) {
          return malformed(what_of(nodes[i]) + " reads tensor " + tensor(input).name + ", which nothing has written");
        }
        readers[writer[input]].push_back(i);
        ++waits[i];
      }
    }
    std::vector<size_t> sorted;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (waits[i] == 0) sorted.push_back(i);
    }
    for (size_t at = 0; at < sorted.size(); ++at) {
      for (const size_t reader : readers[sorted[at]]) {
        if (--waits[reader] == 0) sorted.push_back(reader);
      }
    }
    if (sorted.size() != nodes.size()) return malformed("the nodes go in a circle");
    std::vector<MsliteOperator> ordered;
    for (const size_t i : sorted) ordered.push_back(std::move(nodes[i]));
    nodes = std::move(ordered);
    for (const uint32_t output : model_.outputs) {
      if (writer[output] == kNone && !is_input[output]) {
        return malformed("nothing writes the output " + tensor(output).name);
      }
    }
    return {};
  }

  const wire::Graph& root_;
  MsliteModel model_;
  size_t operands_ = 0;
};

}  // namespace

bool is_mslite(ByteView file) {
  return file.size() >= kFirstBytes && std::memcmp(file.data() + 4, wire::GraphIdentifier(), 4) == 0;
}

Result<MsliteModel> read_mslite(ByteView file) {
  if (file.size() > kMsliteFileBytesMax) return Error(ErrorCode::too_large, "the file is larger than 2 GiB");
  if (!is_mslite(file)) return malformed("not a MindSpore Lite model: it has no identifier MSL2");
  std::vector<uint8_t> bytes(file.begin(), file.end());  // aligned, and the table's own
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kMsliteDepthMax, kMsliteTablesMax);
  if (!wire::VerifyGraphBuffer(verifier)) {
    return malformed("not a MindSpore Lite model: the bytes are cut short or no FlatBuffer of the format");
  }
  const wire::Graph& root = *wire::GetGraph(bytes.data());
  return MsliteReading(std::move(bytes), root).run();
}

}  // namespace coterie::model_import
