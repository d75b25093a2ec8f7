#include "tools/model/onnx_verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/os/file.h"
#include "model_import/graph/order.h"
#include "model_import/onnx/read_onnx.h"
#include "tools/model/model_output.h"

namespace coterie {
namespace {

double difference_of(const Words& seen, const Words& expected) {
  double largest = 1, apart = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (std::isnan(seen[i]) != std::isnan(expected[i])) return INFINITY;
    if (std::isnan(seen[i]) || seen[i] == expected[i]) continue;
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
    apart = std::max(apart, std::fabs(static_cast<double>(seen[i]) - static_cast<double>(expected[i])));
  }
  return apart / largest;
}

// The elements of a stored tensor as the model has them, and the number of examples.
Result<Words> laid_out(const model_import::HostTensor& tensor, bool is_image, const Shape& example, uint32_t& batch) {
  if (tensor.shape.empty() || (is_image && tensor.shape.size() != 4))
    return Error(ErrorCode::malformed, "has the wrong rank");
  const model_import::Order order =
      is_image ? model_import::image_order(4) : model_import::identity_order(tensor.shape.size());
  Shape whole = model_import::permuted(tensor.shape, order);
  if (Shape(whole.begin() + 1, whole.end()) != example || whole[0] < 1 || (batch != 0 && whole[0] != int64_t{batch})) {
    return Error(ErrorCode::malformed, "does not have the shape that the model has");
  }
  batch = static_cast<uint32_t>(whole[0]);
  Words words(tensor.stored());
  const std::vector<uint64_t> sources = model_import::permuted_indices(tensor.shape, order);
  for (size_t i = 0; i < words.size(); ++i) {
    if (tensor.element == model_import::Element::real) {
      words[i] = tensor.reals[sources[i]];
      continue;
    }
    const auto number = static_cast<int32_t>(tensor.integers[sources[i]].value);
    std::memcpy(&words[i], &number, sizeof(number));
  }
  return words;
}

Result<model_import::HostTensor> stored_tensor(const std::string& path) {
  COT_ASSIGN(const Bytes bytes, os::read_file(path, model_import::kOnnxFileBytesMax));
  auto tensor = model_import::read_onnx_tensor(bytes);
  if (!tensor) return tensor.error().with_context(path);
  return std::move(*tensor);
}

}  // namespace

Result<VerifyResult> verify_kernels(const Model& model, uint32_t examples) {
  const std::vector<Words> inputs = random_words(model, examples);
  COT_ASSIGN(const Words fast, computed_output(model, inputs, examples, kernels::kernels()));
  COT_ASSIGN(const Words obvious, computed_output(model, inputs, examples, kernels::reference_kernels<float>()));
  return VerifyResult{
      .what = "kernels beside plain loops", .examples = examples, .difference = difference_of(fast, obvious)};
}

Result<std::vector<VerifyResult>> verify_stored(const Model& model, const std::string& onnx_file) {
  const size_t slash = onnx_file.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : onnx_file.substr(0, slash + 1);
  std::vector<VerifyResult> results;
  for (size_t set = 0;; ++set) {
    const std::string name = "test_data_set_" + std::to_string(set);
    if (!os::exists(folder + name + "/output_0.pb")) return results;
    std::vector<Words> inputs;
    uint32_t batch = 0;
    for (size_t i = 0; i < model.graph().inputs.size(); ++i) {
      const std::string path = folder + name + "/input_" + std::to_string(i) + ".pb";
      COT_ASSIGN(const model_import::HostTensor tensor, stored_tensor(path));
      auto words = laid_out(tensor, lies_nhwc(model, "input_layout", i), model.input_shape(i), batch);
      if (!words) return words.error().with_context(path);
      inputs.push_back(std::move(*words));
    }
    COT_ASSIGN(const model_import::HostTensor output, stored_tensor(folder + name + "/output_0.pb"));
    auto expected = laid_out(output, lies_nhwc(model, "output_layout", 0), model.output_shape(), batch);
    if (!expected) return expected.error().with_context(name + "/output_0.pb");
    COT_ASSIGN(const Words seen, computed_output(model, inputs, batch, kernels::kernels()));
    results.push_back({.what = name, .examples = batch, .difference = difference_of(seen, *expected)});
  }
}

}  // namespace coterie
