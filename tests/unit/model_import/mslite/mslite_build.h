// MindSpore Lite files made in a test, tensor by tensor and node by node.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model_import/mslite/read_mslite.h"
#include "proto/generated/mslite_generated.h"
#include "tests/support/matchers.h"

namespace coterie::test {

namespace ms = mslite_wire;
using model_import::MsliteModel;
using model_import::MsliteOp;
using model_import::MsliteType;
using Longs = std::vector<int64_t>;

// What a tensor is besides its numbers, as the format has it.
struct MsliteForm {
  int32_t layout = 1;  // NHWC
  int32_t compression = 0;
  bool is_huffman_coded = false;
  bool is_elsewhere = false;
};

// The elements of weights(): between -1 and 1, and like none in particular.
inline float weight_at(size_t i) { return static_cast<float>((i * 37 + 11) % 64) / 32 - 1; }

class MsliteBuild {
 public:
  uint32_t value(const std::string& name, const std::vector<int32_t>& shape, MsliteType type = MsliteType::float32,
                 const MsliteForm& form = {}) {
    return add(name, shape, static_cast<int32_t>(type), {}, form);
  }
  template <typename T>
  uint32_t constant(const std::string& name, const std::vector<int32_t>& shape, int32_t type,
                    const std::vector<T>& elements, const MsliteForm& form = {}) {
    std::vector<uint8_t> bytes(elements.size() * sizeof(T));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    return add(name, shape, type, bytes, form);
  }
  // The data of the constant that was made last, again.
  uint32_t again(const std::string& name, const std::vector<int32_t>& shape) {
    return add(name, shape, 43, {}, {}, true);
  }
  uint32_t reals(const std::string& name, const std::vector<int32_t>& shape, const std::vector<float>& elements) {
    return constant(name, shape, 43, elements);
  }
  uint32_t weights(const std::string& name, const std::vector<int32_t>& shape, int32_t layout = 1) {
    size_t count = 1;
    for (const int32_t dimension : shape) count *= static_cast<size_t>(dimension);
    std::vector<float> elements;
    for (size_t i = 0; i < count; ++i) elements.push_back(weight_at(i));
    return constant(name, shape, 43, elements, {.layout = layout});
  }
  uint32_t integers(const std::string& name, const std::vector<int32_t>& elements) {
    return constant(name, {static_cast<int32_t>(elements.size())}, 34, elements);
  }

  const std::vector<int32_t>& shape(uint32_t tensor) const { return shapes_[tensor]; }

  // `attributes` makes the table of the operator's kind.
  template <typename Make>
  void op(MsliteOp code, const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs, Make&& attributes) {
    const flatbuffers::Offset<void> table = attributes(fbb_).Union();
    add_node(static_cast<uint8_t>(code), inputs, outputs, table);
  }
  void op(MsliteOp code, const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs) {
    op(static_cast<uint8_t>(code), inputs, outputs);
  }
  void op(uint8_t code, const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs) {
    add_node(code, inputs, outputs, ms::CreateOpaque(fbb_).Union());
  }
  void op_without_attributes(MsliteOp code, const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs) {
    add_node(static_cast<uint8_t>(code), inputs, outputs, 0);
  }

  Bytes bytes(const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs, size_t subgraphs = 1,
              bool is_obfuscated = false) {
    std::vector<flatbuffers::Offset<ms::Opaque>> parts;
    for (size_t i = 0; i < subgraphs; ++i) parts.push_back(ms::CreateOpaque(fbb_));
    const auto name = fbb_.CreateString("net"), version = fbb_.CreateString("made by a test");
    const auto in = fbb_.CreateVector(inputs), out = fbb_.CreateVector(outputs);
    const auto nodes = fbb_.CreateVector(nodes_);
    const auto tensors = fbb_.CreateVector(tensors_);
    const auto all = fbb_.CreateVector(parts);
    fbb_.Finish(ms::CreateGraph(fbb_, name, version, 3, in, out, 0, nodes, tensors, all, is_obfuscated),
                ms::GraphIdentifier());
    return {fbb_.GetBufferPointer(), fbb_.GetBufferPointer() + fbb_.GetSize()};
  }
  MsliteModel model(const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs) {
    Result<MsliteModel> read = model_import::read_mslite(bytes(inputs, outputs));
    EXPECT_OK(read);
    return read ? std::move(*read) : MsliteModel();
  }

 private:
  uint32_t add(const std::string& name, const std::vector<int32_t>& shape, int32_t type,
               const std::vector<uint8_t>& bytes, const MsliteForm& form, bool is_again = false) {
    if (!bytes.empty()) {
      fbb_.ForceVectorAlignment(bytes.size(), 1, 8);
      last_ = fbb_.CreateVector(bytes);
    }
    const auto data = bytes.empty() && !is_again ? flatbuffers::Offset<flatbuffers::Vector<uint8_t>>(0) : last_;
    const auto dimensions = fbb_.CreateVector(shape);
    const auto text = fbb_.CreateString(name);
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<ms::Opaque>>> elsewhere = 0;
    if (form.is_elsewhere) {
      elsewhere = fbb_.CreateVector(std::vector<flatbuffers::Offset<ms::Opaque>>{ms::CreateOpaque(fbb_)});
    }
    shapes_.push_back(shape);
    tensors_.push_back(ms::CreateTensor(fbb_, 2, type, dimensions, form.layout, 0, 0, data, 0, 0, text,
                                        form.is_huffman_coded, form.compression, elsewhere));
    return static_cast<uint32_t>(tensors_.size() - 1);
  }
  void add_node(uint8_t code, const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs,
                flatbuffers::Offset<void> attributes) {
    const auto primitive = ms::CreatePrimitive(fbb_, static_cast<ms::Attributes>(code), attributes);
    const auto in = fbb_.CreateVector(inputs), out = fbb_.CreateVector(outputs);
    nodes_.push_back(ms::CreateNode(fbb_, 0, 2, primitive, in, out));
  }

  flatbuffers::FlatBufferBuilder fbb_;
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> last_ = 0;
  std::vector<flatbuffers::Offset<ms::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<ms::Node>> nodes_;
  std::vector<std::vector<int32_t>> shapes_;
};

}  // namespace coterie::test
