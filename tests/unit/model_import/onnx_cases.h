// ONNX's own tests of single operators, as tests/golden/onnx_operators/make_operators.py writes them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/os/file.h"
#include "model_import/interpret/array.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"

namespace coterie::test {

struct OnnxCase {
  std::string name;                                        // "test_and2d of opset 11"
  model_import::Graph graph;                               // of one node, or several of one operator
  std::vector<model_import::HostTensor> inputs, expected;  // in the order of the graph's inputs and outputs
};

// Reads the fields of the golden file, as make_operators.py describes them.
class OnnxCaseFields {
 public:
  explicit OnnxCaseFields(Bytes bytes) : bytes_(std::move(bytes)) {}
  bool is_done() const { return at_ == bytes_.size(); }
  ByteView next() {
    uint32_t size;
    std::memcpy(&size, &bytes_[at_], sizeof(size));
    at_ += sizeof(size);
    const ByteView field(&bytes_[at_], size);
    at_ += size;
    return field;
  }
  std::string text() {
    const ByteView field = next();
    return std::string(field.begin(), field.end());
  }

 private:
  Bytes bytes_;
  size_t at_ = 0;
};

inline std::vector<OnnxCase> onnx_cases() {
  Result<Bytes> file = os::read_file(source_dir() + "/tests/golden/onnx_operators/operators.golden", 1 << 20);
  EXPECT_OK(file);
  OnnxCaseFields fields(std::move(*file));
  std::vector<OnnxCase> cases;
  while (!fields.is_done()) {
    OnnxCase read{.name = fields.text(), .graph = {}, .inputs = {}, .expected = {}};
    Result<model_import::Graph> graph = model_import::read_onnx(fields.next());
    EXPECT_OK(graph) << read.name;
    read.graph = std::move(*graph);
    const size_t inputs = std::stoul(fields.text()), outputs = std::stoul(fields.text());
    for (size_t i = 0; i < inputs + outputs; ++i) {
      Result<model_import::HostTensor> tensor = model_import::read_onnx_tensor(fields.next());
      EXPECT_OK(tensor) << read.name;
      (i < inputs ? read.inputs : read.expected).push_back(std::move(*tensor));
    }
    cases.push_back(std::move(read));
  }
  return cases;
}

}  // namespace coterie::test
