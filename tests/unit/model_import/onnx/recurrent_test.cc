// Recurrent operators as PyTorch writes them without constant folding: their tables are made in the graph.
#include <gtest/gtest.h>

#include <set>

#include "base/os/file.h"
#include "model_import/convert/import_graph.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"

namespace coterie::model_import {
namespace {

Graph golden(const std::string& name) {
  const auto file = os::read_file(test::source_dir() + "/tests/golden/onnx/" + name + ".onnx", 1 << 20);
  EXPECT_OK(file);
  auto graph = read_onnx(*file);
  EXPECT_OK(graph);
  return std::move(*graph);
}

// The table [directions, rows, ...] is stored with its rows rotated by one, and a direction at a time without its first
// dimension; the graph puts it together.
void take_apart(Graph& graph, const std::string& name, std::vector<Node>& made) {
  const HostTensor table = graph.constants.at(name).tensor;
  graph.constants.erase(name);
  const auto directions = static_cast<size_t>(table.shape[0]);
  const auto rows = static_cast<size_t>(table.shape[1]);
  const size_t size = table.reals.size() / directions, row = size / rows;
  const auto integers = [&](const std::string& constant, int64_t value) {
    graph.constants[constant] = {host_integers({{value, false}}), false};
    return constant;
  };
  const auto node = [&](const std::string& op, std::vector<std::string> inputs, const std::string& output,
                        std::map<std::string, Attribute> attributes = {}) {
    made.push_back({op, "/" + output, std::move(inputs), {output}, std::move(attributes)});
    return output;
  };
  std::vector<std::string> parts;
  for (size_t d = 0; d < directions; ++d) {
    const std::string part = name + "." + std::to_string(d);
    HostTensor stored;
    stored.shape.assign(table.shape.begin() + 1, table.shape.end());
    const auto first = table.reals.begin() + static_cast<std::ptrdiff_t>(d * size);
    stored.reals.assign(first + static_cast<std::ptrdiff_t>(row), first + static_cast<std::ptrdiff_t>(size));
    stored.reals.insert(stored.reals.end(), first, first + static_cast<std::ptrdiff_t>(row));
    graph.constants[part] = {std::move(stored), false};
    const std::string zero = integers(part + ".zero", 0),
                      last = integers(part + ".last", static_cast<int64_t>(rows) - 1),
                      end = integers(part + ".end", static_cast<int64_t>(rows));
    const std::string head = node("Slice", {part, last, end, zero}, part + ".head");
    const std::string tail = node("Slice", {part, zero, last, zero}, part + ".tail");
    const std::string whole = node("Concat", {head, tail}, part + ".whole", {{"axis", int64_t{0}}});
    parts.push_back(node("Unsqueeze", {whole, zero}, part + ".one"));
  }
  node("Concat", parts, name, {{"axis", int64_t{0}}});
}

class RecurrentTables : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, RecurrentTables,
                         testing::Values("lstm", "lstm_bidirectional", "lstm_static", "gru", "gru_initial_state",
                                         "rnn"));

TEST_P(RecurrentTables, ThatTheGraphMakesAreTrainedAsThoseThatItHas) {
  const auto had = import_graph(golden(GetParam()), {});
  ASSERT_OK(had);
  Graph graph = golden(GetParam());
  std::vector<Node> nodes;
  int tables = 0;
  for (const Node& node : graph.nodes) {
    const bool is_recurrent = node.op == "LSTM" || node.op == "GRU" || node.op == "RNN";
    for (size_t i = 1; is_recurrent && i <= 3; ++i) {
      if (!node.has_input(i)) continue;
      take_apart(graph, node.inputs[i], nodes);
      ++tables;
    }
    nodes.push_back(node);
  }
  ASSERT_GE(tables, 3);
  graph.nodes = std::move(nodes);
  const auto made = import_graph(std::move(graph), {});
  ASSERT_OK(made);
  EXPECT_EQ(made->model, had->model);
}

TEST(RecurrentLayer, MayLeaveOutAllButItsLastState) {
  Graph graph = golden("lstm_last_state");
  const auto had = import_graph(Graph(graph), {});
  ASSERT_OK(had);
  int changed = 0;
  std::set<std::string> read;
  for (const Node& node : graph.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  for (Node& node : graph.nodes) {
    if (node.op != "LSTM" || read.contains(node.outputs[0])) continue;
    node.outputs[0].clear();
    ++changed;
  }
  ASSERT_EQ(changed, 1);
  const auto import = import_graph(std::move(graph), {});
  ASSERT_OK(import);
  EXPECT_EQ(import->model, had->model);
}

}  // namespace
}  // namespace coterie::model_import
