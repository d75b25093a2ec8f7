// TFLite files made in a test, tensor by tensor and operator by operator.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "model_import/tflite/read_tflite.h"
#include "proto/generated/tflite_generated.h"
#include "tests/support/matchers.h"

namespace coterie::test {

namespace wire = tflite_wire;
using model_import::TfliteModel;
using model_import::TfliteOp;
using model_import::TfliteType;

struct Grid {
  std::vector<float> scales;
  std::vector<int64_t> zeros;
  int32_t axis = 0;
};

class TfliteBuild {
 public:
  TfliteBuild() { buffers_.push_back(wire::CreateBuffer(fbb_)); }

  int32_t value(const std::string& name, const std::vector<int32_t>& shape, TfliteType type = TfliteType::float32,
                const Grid& grid = {}) {
    return add(name, shape, type, grid, 0);
  }
  int32_t variable(const std::string& name, const std::vector<int32_t>& shape) {
    return add(name, shape, TfliteType::float32, {}, 0, true);
  }
  // Its elements as the file has them.
  template <typename T>
  int32_t constant(const std::string& name, const std::vector<int32_t>& shape, TfliteType type,
                   const std::vector<T>& elements, const Grid& grid = {}) {
    std::vector<uint8_t> bytes(elements.size() * sizeof(T));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    buffers_.push_back(wire::CreateBuffer(fbb_, fbb_.CreateVector(bytes)));
    return add(name, shape, type, grid, static_cast<uint32_t>(buffers_.size() - 1));
  }
  // The data of the constant that was made last, again.
  int32_t again(const std::string& name, const std::vector<int32_t>& shape, TfliteType type) {
    return add(name, shape, type, {}, static_cast<uint32_t>(buffers_.size() - 1));
  }
  int32_t reals(const std::string& name, const std::vector<int32_t>& shape, const std::vector<float>& elements) {
    return constant(name, shape, TfliteType::float32, elements);
  }
  // Numbers between -1 and 1 that look like none in particular.
  int32_t weights(const std::string& name, const std::vector<int32_t>& shape) {
    size_t count = 1;
    for (const int32_t dimension : shape) count *= static_cast<size_t>(dimension);
    std::vector<float> elements;
    for (size_t i = 0; i < count; ++i) elements.push_back(static_cast<float>((i * 37 + 11) % 64) / 32 - 1);
    return reals(name, shape, elements);
  }
  int32_t integers(const std::string& name, const std::vector<int32_t>& elements) {
    return constant(name, {static_cast<int32_t>(elements.size())}, TfliteType::int32, elements);
  }

  const std::vector<int32_t>& shape(int32_t tensor) const { return shapes_[static_cast<size_t>(tensor)]; }

  // `options` makes the table of the kind; kinds without a table need none.
  template <typename Make>
  void op(TfliteOp code, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs, wire::Options kind,
          Make&& options) {
    const flatbuffers::Offset<void> table = options(fbb_).Union();
    add_op(static_cast<int32_t>(code), inputs, outputs, kind, table);
  }
  void op(TfliteOp code, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
    add_op(static_cast<int32_t>(code), inputs, outputs, wire::Options::NONE, 0);
  }
  void unknown_op(int32_t code, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
    add_op(code, inputs, outputs, wire::Options::NONE, 0);
  }

  Bytes bytes(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs, size_t graphs = 1,
              uint32_t version = 3) {
    std::vector<flatbuffers::Offset<wire::SubGraph>> all;
    for (size_t i = 0; i < graphs; ++i) {
      all.push_back(wire::CreateSubGraph(fbb_, fbb_.CreateVector(tensors_), fbb_.CreateVector(inputs),
                                         fbb_.CreateVector(outputs), fbb_.CreateVector(operators_),
                                         fbb_.CreateString("net")));
    }
    const auto codes = fbb_.CreateVector(codes_);
    const auto subgraphs = fbb_.CreateVector(all);
    const auto description = fbb_.CreateString("made by a test");
    const auto buffers = fbb_.CreateVector(buffers_);
    fbb_.Finish(wire::CreateModel(fbb_, version, codes, subgraphs, description, buffers), wire::ModelIdentifier());
    return {fbb_.GetBufferPointer(), fbb_.GetBufferPointer() + fbb_.GetSize()};
  }
  TfliteModel model(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
    Result<TfliteModel> read = model_import::read_tflite(bytes(inputs, outputs));
    EXPECT_OK(read);
    return read ? std::move(*read) : TfliteModel();
  }

 private:
  int32_t add(const std::string& name, const std::vector<int32_t>& shape, TfliteType type, const Grid& grid,
              uint32_t buffer, bool is_variable = false) {
    flatbuffers::Offset<wire::Quantisation> quantisation = 0;
    if (!grid.scales.empty()) {
      const auto scales = fbb_.CreateVector(grid.scales);
      const auto zeros = fbb_.CreateVector(grid.zeros);
      quantisation = wire::CreateQuantisation(fbb_, 0, 0, scales, zeros, 0, 0, grid.axis);
    }
    shapes_.push_back(shape);
    const auto dimensions = fbb_.CreateVector(shape);
    const auto text = fbb_.CreateString(name);
    tensors_.push_back(
        wire::CreateTensor(fbb_, dimensions, static_cast<int8_t>(type), buffer, text, quantisation, is_variable));
    return static_cast<int32_t>(tensors_.size() - 1);
  }
  void add_op(int32_t code, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs, wire::Options kind,
              flatbuffers::Offset<void> options) {
    codes_.push_back(wire::CreateOperatorCode(fbb_, static_cast<int8_t>(std::min(code, 127)), 0, 1, code));
    const auto in = fbb_.CreateVector(inputs);
    const auto out = fbb_.CreateVector(outputs);
    operators_.push_back(wire::CreateOperator(fbb_, static_cast<uint32_t>(codes_.size() - 1), in, out, kind, options));
  }

  flatbuffers::FlatBufferBuilder fbb_;
  std::vector<flatbuffers::Offset<wire::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<wire::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<wire::Operator>> operators_;
  std::vector<std::vector<int32_t>> shapes_;
  std::vector<flatbuffers::Offset<wire::OperatorCode>> codes_;
};

}  // namespace coterie::test
