// Nodes that run graphs of their own, and what they are given that is no tensor.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "model_import/interpret/interpret.h"
#include "tests/support/matchers.h"

namespace coterie::model_import {
namespace {

Array reals(Shape shape, std::vector<double> values) { return {Element::real, std::move(shape), std::move(values)}; }
Array number(double value) { return {Element::integer, {}, {value}}; }
Array truth(bool value) { return {Element::boolean, {}, {value ? 1.0 : 0.0}}; }
Array texts(Shape shape, std::vector<std::string> values) {
  Array array;
  array.form = Form::text;
  array.shape = std::move(shape);
  array.texts = std::move(values);
  return array;
}
Array sequence(std::vector<Array> items) {
  Array array;
  array.form = Form::sequence;
  array.items = std::move(items);
  return array;
}

using Names = std::vector<std::string>;
Node node(const std::string& op, Names inputs, Names outputs, std::map<std::string, Attribute> attributes = {}) {
  return {.op = op,
          .name = outputs[0],
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .attributes = std::move(attributes),
          .captures = {}};
}

Graph graph_of(const Names& inputs, std::vector<Node> nodes, const Names& outputs) {
  Graph graph;
  for (const std::string& name : inputs) graph.inputs.push_back({.name = name, .element = Element::real, .shape = {}});
  for (const std::string& name : outputs)
    graph.outputs.push_back({.name = name, .element = Element::real, .shape = {}});
  graph.nodes = std::move(nodes);
  return graph;
}

Attribute body(const Names& inputs, std::vector<Node> nodes, const Names& outputs,
               std::set<std::string> captures = {}) {
  Graph graph = graph_of(inputs, std::move(nodes), outputs);
  graph.captures = std::move(captures);
  return std::make_shared<const Graph>(std::move(graph));
}

Result<Array> computed(Node of, const Arrays& values, const std::string& output = "y") {
  auto result = interpret(graph_of({}, {std::move(of)}, {output}), values, {output}, Intent::specification);
  if (!result) return result.error();
  return result->at(output);
}

TEST(InterpretedBodies, IfRunsOneBranchAndReadsWhatIsAroundIt) {
  Node branch = node("If", {"c"}, {"y"},
                     {{"then_branch", body({}, {node("Neg", {"x"}, {"t"})}, {"t"}, {"x"})},
                      {"else_branch", body({}, {}, {"x"}, {"x"})}});
  branch.captures = {"x"};
  for (const bool condition : {false, true}) {
    const auto y = computed(branch, {{"c", truth(condition)}, {"x", reals({2}, {1, 2})}});
    ASSERT_OK(y);
    EXPECT_EQ(y->values, condition ? (std::vector<double>{-1, -2}) : (std::vector<double>{1, 2}));
  }
  EXPECT_ERROR(computed(branch, {{"c", reals({2}, {1, 1})}, {"x", reals({1}, {1})}}), ErrorCode::malformed,
               "a condition that is not one boolean");
}

Node doubling_loop() {
  return node("Loop", {"m", "c", "x"}, {"last", "y"},
              {{"body", body({"i", "go", "v"}, {node("Add", {"v", "v"}, {"w"})}, {"go", "w", "v"})}});
}

TEST(InterpretedBodies, ALoopCarriesAndGathers) {
  const Arrays values = {{"m", number(3)}, {"c", truth(true)}, {"x", reals({1}, {5})}};
  const auto gathered = computed(doubling_loop(), values);
  ASSERT_OK(gathered);
  EXPECT_EQ(gathered->shape, (Shape{3, 1}));
  EXPECT_EQ(gathered->values, (std::vector<double>{5, 10, 20}));
  const auto last = computed(doubling_loop(), values, "last");
  ASSERT_OK(last);
  EXPECT_EQ(last->values, (std::vector<double>{40}));
}

TEST(InterpretedBodies, ALoopThatDoesNotEndIsStopped) {
  Node loop = node("Loop", {"", "", "x"}, {"y"}, {{"body", body({"i", "go", "v"}, {}, {"go", "v"})}});
  EXPECT_ERROR(computed(loop, {{"x", number(1)}}), ErrorCode::too_large, "more than the interpreter does");
}

Node loop_that_reads(const std::string& captured, Node reader) {
  Node loop = node("Loop", {"m", "", "x"}, {"last", "y"},
                   {{"body", body({"i", "go", "v"}, {std::move(reader)}, {"go", "v", "w"}, {captured})}});
  loop.captures = {captured};
  return loop;
}

TEST(InterpretedBodies, ALoopThatLooksUpRowsOfALargeTensorIsNoWork) {
  constexpr int64_t kElements = int64_t{1} << 20, kRuns = 5000;
  const Arrays values = {{"m", number(kRuns)},
                         {"x", number(0)},
                         {"z", reals({kElements}, std::vector<double>(static_cast<size_t>(kElements), 2))}};
  const auto rows = computed(loop_that_reads("z", node("Gather", {"z", "i"}, {"w"})), values);
  ASSERT_OK(rows);
  EXPECT_EQ(rows->values, std::vector<double>(kRuns, 2));
}

TEST(InterpretedBodies, ALoopPaysForAllThatItReads) {
  const Arrays values = {
      {"m", number(5000)}, {"x", number(0)}, {"z", sequence(std::vector<Array>(size_t{1} << 14, number(1)))}};
  EXPECT_ERROR(computed(loop_that_reads("z", node("SequenceLength", {"z"}, {"w"})), values), ErrorCode::too_large,
               "more than the interpreter does");
}

TEST(InterpretedBodies, ABodyOfOtherInputsIsRefused) {
  Node loop = node("Loop", {"m", "", "x"}, {"y"}, {{"body", body({"i"}, {}, {"i", "i"})}});
  EXPECT_ERROR(computed(loop, {{"m", number(1)}, {"x", number(1)}}), ErrorCode::malformed, "a body of 1 inputs");
  EXPECT_ERROR(computed(node("Loop", {"m", "", "x"}, {"y"}), {{"m", number(1)}, {"x", number(1)}}),
               ErrorCode::malformed, "no graph body");
}

TEST(InterpretedBodies, AScanWalksBackwardAlongItsAxis) {
  Node scan = node("Scan", {"s", "x"}, {"sum", "y"},
                   {{"body", body({"a", "b"}, {node("Add", {"a", "b"}, {"c"})}, {"c", "c"})},
                    {"num_scan_inputs", int64_t{1}},
                    {"scan_input_axes", std::vector<int64_t>{1}},
                    {"scan_input_directions", std::vector<int64_t>{1}}});
  const auto y = computed(scan, {{"s", reals({1}, {0})}, {"x", reals({1, 3}, {1, 2, 3})}});
  ASSERT_OK(y);
  EXPECT_EQ(y->shape, (Shape{3, 1}));
  EXPECT_EQ(y->values, (std::vector<double>{3, 5, 6}));
}

TEST(InterpretedForms, SequencesInsertEraseAndTakeFromTheirEnds) {
  const Arrays values = {{"s", sequence({number(1), number(2)})},
                         {"x", number(7)},
                         {"at", number(-1)},
                         {"behind", number(2)},
                         {"beyond", number(3)}};
  const auto before_last = computed(node("SequenceInsert", {"s", "x", "at"}, {"y"}), values);
  ASSERT_OK(before_last);
  EXPECT_EQ(before_last->items[1].values, (std::vector<double>{7}));
  const auto behind = computed(node("SequenceInsert", {"s", "x", "behind"}, {"y"}), values);
  ASSERT_OK(behind);
  EXPECT_EQ(behind->items.back().values, (std::vector<double>{7}));
  EXPECT_ERROR(computed(node("SequenceInsert", {"s", "x", "beyond"}, {"y"}), values), ErrorCode::malformed,
               "position 3");
  const auto erased = computed(node("SequenceErase", {"s", "at"}, {"y"}), values);
  ASSERT_OK(erased);
  EXPECT_EQ(erased->items.size(), 1u);
  EXPECT_ERROR(computed(node("SequenceInsert", {"s", "s"}, {"y"}), values), ErrorCode::malformed,
               "an item that is no tensor");
}

TEST(InterpretedForms, SplitToSequenceKeepsTheRestAndDropsTheAxisWhereAsked) {
  const Arrays values = {{"x", reals({5}, {1, 2, 3, 4, 5})}, {"two", number(2)}};
  const auto pairs = computed(node("SplitToSequence", {"x", "two"}, {"y"}), values);
  ASSERT_OK(pairs);
  ASSERT_EQ(pairs->items.size(), 3u);
  EXPECT_EQ(pairs->items[2].values, (std::vector<double>{5}));
  const auto each = computed(node("SplitToSequence", {"x"}, {"y"}, {{"keepdims", int64_t{0}}}), values);
  ASSERT_OK(each);
  ASSERT_EQ(each->items.size(), 5u);
  EXPECT_EQ(each->items[0].shape, (Shape{}));
}

TEST(InterpretedForms, OperatorsOfTensorsRefuseSequencesAndTexts) {
  EXPECT_ERROR(computed(node("Neg", {"x"}, {"y"}), {{"x", sequence({number(1)})}}), ErrorCode::malformed,
               "no tensor of numbers");
  EXPECT_ERROR(computed(node("Neg", {"x"}, {"y"}), {{"x", texts({1}, {"a"})}}), ErrorCode::malformed,
               "no tensor of numbers");
  EXPECT_ERROR(computed(node("Scan", {"x"}, {"y"}, {{"body", body({"a"}, {}, {"a"})}, {"num_scan_inputs", int64_t{1}}}),
                        {{"x", texts({1}, {"a"})}}),
               ErrorCode::malformed, "no tensor");
}

TEST(InterpretedForms, TextsBecomeNumbersWhole) {
  const auto cast = [](const std::string& text) {
    return computed(node("Cast", {"x"}, {"y"}, {{"to", int64_t{1}}}), {{"x", texts({1}, {text})}});
  };
  for (const auto& [text, value] : std::map<std::string, double>{{"+1.5", 1.5}, {"-2e3", -2000}, {"+INF", INFINITY}}) {
    const auto y = cast(text);
    ASSERT_OK(y) << text;
    EXPECT_EQ(y->values[0], value) << text;
  }
  for (const char* text : {"", "+", "+-1", "1 ", "0x10", "one"})
    EXPECT_ERROR(cast(text), ErrorCode::malformed, "no number") << text;
}

TEST(InterpretedForms, AFloatBecomesTheShortestTextThatIsTheSame) {
  Array x = reals({3}, {0.1f, 3, 1e-5f});
  x.width = Width::float32;
  const auto y = computed(node("Cast", {"x"}, {"y"}, {{"to", int64_t{8}}}), {{"x", x}});
  ASSERT_OK(y);
  EXPECT_EQ(y->texts, (std::vector<std::string>{"0.1", "3.0", "1e-05"}));
}

TEST(InterpretedForms, StopWordsGoInAnyCaseAndLettersBeyondAsciiAreRefused) {
  const std::map<std::string, Attribute> upper = {{"case_change_action", std::string("UPPER")},
                                                  {"stopwords", std::vector<std::string>{"monday"}}};
  const auto y = computed(node("StringNormalizer", {"x"}, {"y"}, upper), {{"x", texts({2}, {"Monday", "tuesday"})}});
  ASSERT_OK(y);
  EXPECT_EQ(y->texts, (std::vector<std::string>{"TUESDAY"}));
  EXPECT_ERROR(computed(node("StringNormalizer", {"x"}, {"y"}, upper), {{"x", texts({1}, {"\xc3\xa4"})}}),
               ErrorCode::invalid_argument, "beyond ASCII");
}

TEST(InterpretedForms, AnEmptyOptionalHasNothingToTake) {
  Array nothing;
  nothing.form = Form::optional;
  const auto has = computed(node("OptionalHasElement", {"x"}, {"y"}), {{"x", nothing}});
  ASSERT_OK(has);
  EXPECT_EQ(has->values[0], 0);
  EXPECT_ERROR(computed(node("OptionalGetElement", {"x"}, {"y"}), {{"x", nothing}}), ErrorCode::malformed,
               "holds nothing");
}

TEST(InterpretedForms, RegionsThatAreFarTooLargeAreRefused) {
  const Arrays values = {{"x", reals({1, 1, 4, 4}, std::vector<double>(16, 1))},
                         {"r", reals({1, 4}, {0, 0, 1e30, 1e30})},
                         {"i", Array{Element::integer, {1}, {0}}}};
  EXPECT_ERROR(computed(node("RoiAlign", {"x", "r", "i"}, {"y"}), values), ErrorCode::malformed,
               "a region out of range");
}

TEST(InterpretedForms, RegionsOfMoreSamplesThanTheInterpreterTakesAreRefused) {
  const Arrays values = {{"x", reals({1, 1, 4, 4}, std::vector<double>(16, 1))},
                         {"r", reals({1, 4}, {0, 0, 4, 4})},
                         {"i", Array{Element::integer, {1}, {0}}}};
  const std::map<std::string, Attribute> fine = {
      {"output_height", int64_t{64}}, {"output_width", int64_t{64}}, {"sampling_ratio", int64_t{4096}}};
  EXPECT_ERROR(computed(node("RoiAlign", {"x", "r", "i"}, {"y"}, fine), values), ErrorCode::too_large,
               "more than the interpreter does");
}

}  // namespace
}  // namespace coterie::model_import
