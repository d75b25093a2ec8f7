// Runs test cases of ONNX's backend suite as coterie model run computes them, one line a case on standard output:
//
//   node_cases FOLDER...    prints "name<TAB>operator<TAB>passed", "...<TAB>wrong: why" or "...<TAB>refused: why"
//
// A folder has model.onnx and test_data_set_0/input_K.pb, output_K.pb, as ONNX publishes them. The tolerances are those
// of ONNX's own runner, 1e-3 relative and 1e-7 absolute, or 2^-23 of the largest value: what its float32 rounds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/os/file.h"
#include "model_import/onnx/read_onnx.h"
#include "tools/model/run_graph.h"

namespace coterie::model_import {
namespace {

namespace fs = std::filesystem;

constexpr double kRelative = 1e-3, kAbsolute = 1e-7;
constexpr uint64_t kFileBytesMax = 1 << 28;

Result<Array> value_of(const fs::path& path, Form form) {
  COT_ASSIGN(const Bytes bytes, os::read_file(path.string(), kFileBytesMax));
  COT_ASSIGN(const HostValue value, read_onnx_value(bytes, form));
  return array_of(value);
}

// Empty: equal.
std::string difference(const Array& seen, const Array& expected) {
  if (seen.form != expected.form) return "another form";
  if (seen.items.size() != expected.items.size()) return "another number of items";
  for (size_t i = 0; i < seen.items.size(); ++i) {
    const std::string apart = difference(seen.items[i], expected.items[i]);
    if (!apart.empty()) return "item " + std::to_string(i) + ": " + apart;
  }
  if (seen.shape != expected.shape) return "another shape";
  if (seen.texts != expected.texts) return "other texts";
  if (seen.element != expected.element) return "another type of elements";
  if (expected.element == Element::integer && expected.width != Width::any && seen.width != expected.width)
    return "integers of another width";
  double absolute = kAbsolute;
  for (const double value : expected.values) {
    if (std::isfinite(value)) absolute = std::max(absolute, std::fabs(value) * 0x1p-23);
  }
  for (size_t i = 0; i < seen.values.size(); ++i) {
    const double is = seen.values[i], should = expected.values[i];
    if (is == should || (std::isnan(is) && std::isnan(should))) continue;
    if (std::fabs(is - should) <= absolute + kRelative * std::fabs(should)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(is) + ", should be " + std::to_string(should);
  }
  return {};
}

std::string refused(const Error& error) { return "refused: " + error.message(); }

std::string outcome(const fs::path& folder, std::string& op) {
  const auto bytes = os::read_file((folder / "model.onnx").string(), kFileBytesMax);
  if (!bytes) return refused(bytes.error());
  const Result<Graph> graph = read_onnx(*bytes);
  if (!graph) return refused(graph.error());
  op = graph->nodes.size() == 1 ? graph->nodes[0].op : "several";
  const fs::path data = folder / "test_data_set_0";
  std::vector<Bytes> inputs;
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    Result<Bytes> input = os::read_file((data / ("input_" + std::to_string(i) + ".pb")).string(), kFileBytesMax);
    if (!input) return refused(input.error().with_context("input " + graph->inputs[i].name));
    inputs.push_back(std::move(*input));
  }
  const Result<GraphOutputs> computed = run_graph(*graph, inputs);
  if (!computed) return refused(computed.error());
  for (size_t i = 0; i < graph->outputs.size(); ++i) {
    const Result<Array> expected = value_of(data / ("output_" + std::to_string(i) + ".pb"), graph->outputs[i].form);
    if (!expected) return refused(expected.error().with_context("output " + graph->outputs[i].name));
    const std::string apart = difference((*computed)[i].second, *expected);
    if (!apart.empty()) return "wrong: output " + graph->outputs[i].name + ": " + apart;
  }
  return "passed";
}

}  // namespace
}  // namespace coterie::model_import

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::filesystem::path folder = arguments[i];
    std::string op = "?";
    const std::string result = coterie::model_import::outcome(folder, op);
    std::printf("%s\t%s\t%s\n", folder.filename().c_str(), op.c_str(), result.c_str());
  }
  return 0;
}
