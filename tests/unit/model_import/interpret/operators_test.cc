// ONNX's own tests of each operator (tests/golden/onnx_operators), and whether each that is imported is interpreted.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/os/file.h"
#include "model_import/interpret/interpret.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/unit/model_import/onnx_operator_names.h"

namespace coterie::model_import {
namespace {

TEST(InterpretedOperators, AreAllThatAreImported) {
  size_t imported = 0;
  for (const std::string& op : test::onnx_operators()) {
    if (!test::is_imported(op)) continue;
    ++imported;
    EXPECT_TRUE(is_interpreted(op)) << op;
  }
  EXPECT_GT(imported, 75u);
  EXPECT_FALSE(is_interpreted("Einsum"));
}

// Reads the fields of a golden file, as make_operators.py describes them.
class Fields {
 public:
  explicit Fields(Bytes bytes) : bytes_(std::move(bytes)) {}
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

void expect_equal(const Array& seen, const Array& expected, const std::string& name) {
  ASSERT_EQ(seen.shape, expected.shape) << name;
  EXPECT_EQ(seen.element, expected.element) << name;
  for (size_t i = 0; i < seen.values.size(); ++i) {
    const double should = expected.values[i], is = seen.values[i];
    if (std::isnan(should) && std::isnan(is)) continue;
    if (should == is) continue;
    ASSERT_NEAR(is, should, 1e-5 + 1e-5 * std::fabs(should)) << name << ", element " << i;
  }
}

TEST(InterpretedOperators, PassOnnxsOwnTests) {
  const auto file = os::read_file(test::source_dir() + "/tests/golden/onnx_operators/operators.golden", 1 << 20);
  ASSERT_OK(file);
  Fields fields(*file);
  size_t cases = 0;
  while (!fields.is_done()) {
    const std::string name = fields.text();
    const Result<Graph> graph = read_onnx(fields.next());
    const size_t inputs = std::stoul(fields.text()), outputs = std::stoul(fields.text());
    ASSERT_OK(graph) << name;
    const auto array = [&] {
      const Result<HostTensor> tensor = read_onnx_tensor(fields.next());
      EXPECT_OK(tensor) << name;
      return *array_of(*tensor);
    };
    Arrays given;
    for (size_t i = 0; i < inputs; ++i) given[graph->inputs[i].name] = array();
    for (size_t i = 0; i < outputs; ++i) {
      const Array expected = array();
      const std::string& output = graph->outputs[i].name;
      const Result<Arrays> computed = interpret(*graph, given, {output});
      ASSERT_OK(computed) << name;
      expect_equal(computed->at(output), expected, name);
    }
    ++cases;
  }
  EXPECT_GT(cases, 400u);
}

}  // namespace
}  // namespace coterie::model_import
