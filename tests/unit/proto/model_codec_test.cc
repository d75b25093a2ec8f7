#include <limits>
#include <set>
#include <string>

#include "proto/codec/limits.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::changed;
using test::expect_accepted;
using test::expect_rejected;
using M = ModelGraph;

// The typical sample: x[4] -> dense1 (w [4,3] at 0, b [3] at 64) -> relu1 -> dense2 (w [3,2] at 128, b [2] at 192).
// Tensors: 0 x, 1 dense1/w, 2 dense1/b, 3 dense1, 4 relu1, 5 dense2/w, 6 dense2/b, 7 logits.

// For parameters at places whose payload we do not want to allocate.
template <typename Change>
void expect_rejected_with_payload(std::string_view words, size_t payload_bytes, Change change) {
  EXPECT_ERROR(decode_model(test::frame_of(changed<M>(change), Bytes(payload_bytes))), ErrorCode::malformed, words);
}

TEST(ModelCodec, LimitsItsTexts) {
  expect_rejected<M>("model name must have 0 to 256", [](M& m) { m.name.assign(257, 'n'); });
  expect_rejected<M>("tensor name must have 1 to 256", [](M& m) { m.tensors[3].name.clear(); });
  expect_rejected<M>("tensor name must have 1 to 256", [](M& m) { m.tensors[3].name.assign(257, 't'); });
  expect_rejected<M>("op name must have 1 to 256", [](M& m) { m.ops[1].name.clear(); });
  expect_rejected<M>("op name must have 1 to 256", [](M& m) { m.ops[1].name.assign(257, 'o'); });
  expect_rejected<M>("property key must have 1 to 256", [](M& m) { m.properties[""] = "v"; });
  expect_rejected<M>("property key must have 1 to 256", [](M& m) { m.properties[std::string(257, 'k')] = "v"; });
  expect_rejected<M>("property author must have 0 to 2048", [](M& m) { m.properties["author"].assign(2049, 'v'); });
}

TEST(ModelCodec, LimitsItsCounts) {
  expect_rejected<M>("model must have 1 to", [](M& m) { m.ops.clear(); });
  expect_rejected<M>("too many properties", [](M& m) {
    m.properties.clear();
    for (size_t i = 0; i <= limits::kModelPropertiesMax; ++i) m.properties[std::to_string(i)] = "";
  });
  expect_accepted<M>([](M& m) {
    m.properties.clear();
    for (size_t i = 0; i < limits::kModelPropertiesMax; ++i) m.properties[std::to_string(i)] = "";
  });
  expect_rejected<M>("too many tensors", [](M& m) { m.tensors.resize(limits::kModelTensorsMax + 1, m.tensors[7]); });
  expect_rejected<M>("model must have 1 to", [](M& m) { m.ops.resize(limits::kModelOpsMax + 1, m.ops[1]); });
}

TEST(ModelCodec, NamesTheTensorThatIsWrong) {
  expect_rejected<M>("tensor relu1 has an unknown role", [](M& m) { m.tensors[4].role = static_cast<TensorRole>(0); });
  expect_rejected<M>("tensor relu1 has an unknown role", [](M& m) { m.tensors[4].role = static_cast<TensorRole>(6); });
  expect_rejected<M>("tensor x has an unknown type", [](M& m) { m.tensors[0].type = static_cast<DataType>(5); });
  expect_rejected<M>("tensor x is stored as int8", [](M& m) { m.tensors[0].type = static_cast<DataType>(3); });
  expect_rejected<M>("tensor x is stored as packed", [](M& m) { m.tensors[0].type = static_cast<DataType>(4); });
  expect_rejected<M>("tensor dense1/b must be float32", [](M& m) { m.tensors[2].type = DataType::int32; });
  expect_rejected<M>("tensor x is frozen and not a parameter", [](M& m) { m.tensors[0].is_frozen = true; });
  expect_rejected<M>("tensor x has data and is not", [](M& m) { m.tensors[0].data = Bytes(16); });
  expect_rejected<M>("tensor c does not have the data of its shape", [](M& m) {
    m.tensors.push_back({"c", TensorRole::constant, {2}, 0, DataType::int32, false, Bytes(7)});
  });
  expect_accepted<M>([](M& m) {
    m.tensors.push_back({"c", TensorRole::constant, {2}, 0, DataType::int32, false, Bytes(8)});
  });
  expect_rejected<M>("tensor dense1/b has no shape", [](M& m) { m.tensors[2].shape.clear(); });
  expect_rejected<M>("tensor relu1 is an activation", [](M& m) { m.tensors[4].shape = {3}; });
  expect_rejected<M>("tensor x has more than 8 dimensions", [](M& m) { m.tensors[0].shape.assign(9, 1); });
  for (const int64_t dimension : {int64_t{0}, int64_t{-1}, limits::kModelDimensionMax + 1,
                                  std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    expect_rejected<M>("tensor x has a dimension outside", [=](M& m) { m.tensors[0].shape = {4, dimension}; });
  }
  expect_accepted<M>([](M& m) { m.tensors[0].shape = {limits::kModelDimensionMax}; });
}

TEST(ModelCodec, NamesTheOpThatIsWrong) {
  expect_rejected<M>("op relu1 is of an unknown kind", [](M& m) { m.ops[1].kind = static_cast<OpKind>(0); });
  expect_rejected<M>("op relu1 is of an unknown kind", [](M& m) { m.ops[1].kind = static_cast<OpKind>(kOpKinds + 1); });
  expect_rejected<M>("op relu1 must have 1 to 256 inputs", [](M& m) { m.ops[1].inputs.clear(); });
  expect_rejected<M>("op relu1 must have 1 to 256 inputs", [](M& m) { m.ops[1].inputs.assign(257, 3); });
  expect_rejected<M>("op relu1 must have 1 to 256 inputs", [](M& m) { m.ops[1].outputs.clear(); });
  expect_rejected<M>("op relu1 must have 1 to 256 inputs", [](M& m) { m.ops[1].outputs.assign(257, 4); });
  expect_rejected<M>("op relu1 refers to a tensor that does not exist", [](M& m) { m.ops[1].inputs = {8}; });
  expect_rejected<M>("op relu1 refers to a tensor that does not exist", [](M& m) { m.ops[1].outputs = {0xfffffffe}; });
  for (const Shape& shape :
       {Shape(257, 1), Shape{limits::kModelDimensionMax + 1}, Shape{-limits::kModelDimensionMax - 1}}) {
    expect_rejected<M>("op relu1 attribute shape has", [&](M& m) {
      m.ops[1].kind = OpKind::reshape;
      m.ops[1].attributes = ShapeAttributes{shape};
    });
  }
  expect_rejected<M>("op relu1 attribute alpha is unknown to it",
                     [](M& m) { m.ops[1].attributes = UnaryAttributes{.alpha = 1}; });
}

TEST(ModelCodec, ComputesInAnOrderInWhichEveryInputIsReady) {
  expect_rejected<M>("op relu1 reads a tensor that no earlier op has written",
                     [](M& m) { std::swap(m.ops[0], m.ops[1]); });
  expect_rejected<M>("op dense1 reads a tensor that no earlier op has written",
                     [](M& m) { m.ops[0].inputs[0] = 4; });                            // dense1 -> relu1 -> dense1
  expect_rejected<M>("op relu1 reads a tensor", [](M& m) { m.ops[1].inputs = {4}; });  // its own output
}

TEST(ModelCodec, WritesEachActivationOnceAndNothingElse) {
  expect_rejected<M>("op relu1 writes a tensor that is already written", [](M& m) { m.ops[1].outputs = {3}; });
  expect_rejected<M>("op relu1 writes a tensor that is already written", [](M& m) { m.ops[1].outputs = {4, 4}; });
  expect_rejected<M>("op relu1 writes a tensor that is already written", [](M& m) { m.ops[1].outputs = {1, 4}; });
  expect_rejected<M>("op relu1 writes a tensor that is already written", [](M& m) { m.ops[1].outputs = {0, 4}; });
  expect_rejected<M>("tensor orphan is not written by any op", [](M& m) {
    m.tensors.push_back({"orphan", TensorRole::activation, {}, 0});
  });
}

TEST(ModelCodec, HasInputsAndAnOutputThatIsComputed) {
  expect_rejected<M>("input or output that does not exist", [](M& m) { m.inputs = {8}; });
  expect_rejected<M>("input or output that does not exist", [](M& m) { m.output = 0xffffffff; });
  expect_rejected<M>("input is not an input tensor", [](M& m) { m.inputs = {1}; });
  expect_rejected<M>("input is listed twice", [](M& m) { m.inputs = {0, 0}; });
  expect_rejected<M>("model must have 1 to 64 inputs", [](M& m) { m.inputs.clear(); });
  expect_rejected<M>("model must have 1 to 64 inputs", [](M& m) { m.inputs.assign(65, 0); });
  expect_rejected<M>("output", [](M& m) { m.output = 0; });
  expect_rejected<M>("output", [](M& m) { m.output = 1; });
  // Nobody would ever fill a second one.
  expect_rejected<M>("tensor y is an input, but not the model's", [](M& m) {
    m.tensors.push_back({"y", TensorRole::input, {3}, 0});
    m.ops[1] = {OpKind::add, "add", {3, 8}, {4}, {}};
  });
}

TEST(ModelCodec, HasItsParametersInsideThePayload) {
  expect_rejected_with_payload("parameter dense2/b does not lie", 192 + 7, [](M&) {});
  EXPECT_OK(decode_model(test::frame_of(changed<M>([](M&) {}), Bytes(192 + 8))));
  expect_rejected_with_payload("parameter dense1/w does not lie", 256, [](M& m) { m.tensors[1].payload_offset = 256; });
  expect_rejected_with_payload("parameter dense1/w does not lie", 256,
                               [](M& m) { m.tensors[1].payload_offset = ~uint64_t{0} - 63; });
  expect_rejected_with_payload("parameter dense1/w", 256, [](M& m) { m.tensors[1].shape = {1 << 30, 1 << 30}; });
  expect_rejected_with_payload("parameter dense1/w", 256,
                               [](M& m) { m.tensors[1].shape = Shape(8, limits::kModelDimensionMax); });
}

TEST(ModelCodec, HasItsParametersAligned) {
  for (const uint64_t offset : {1u, 4u, 32u, 63u}) {
    expect_rejected_with_payload("parameter dense2/b does not lie aligned", 1024,
                                 [=](M& m) { m.tensors[6].payload_offset = 192 + offset; });
  }
  EXPECT_OK(decode_model(test::frame_of(changed<M>([](M& m) { m.tensors[6].payload_offset = 256; }), Bytes(1024))));
}

TEST(ModelCodec, HasNoTwoParametersOnOneByte) {
  expect_rejected<M>("parameters overlap", [](M& m) { m.tensors[2].payload_offset = 0; });
  expect_rejected_with_payload("parameters overlap", 256, [](M& m) { m.tensors[1].shape = {17}; });  // 68 bytes at 0
  EXPECT_OK(decode_model(test::frame_of(changed<M>([](M& m) { m.tensors[1].shape = {16}; }), Bytes(256))))
      << "64 bytes end where the next begins";
}

// What a server decodes it must be able to write again, with other parameters: the limits on counts and texts have to
// fit into the limit on the header.
TEST(ModelCodec, TheLargestModelThatDecodesEncodesAgain) {
  M graph;
  graph.name.assign(limits::kTextBytesMax, 'm');
  const std::string name(limits::kTextBytesMax, 'n');
  graph.tensors = {{name, TensorRole::input, Shape(limits::kModelRankMax, 1), 0}};
  while (graph.tensors.size() < limits::kModelTensorsMax && graph.ops.size() < limits::kModelOpsMax) {
    const auto next = static_cast<uint32_t>(graph.tensors.size());
    graph.tensors.push_back({name, TensorRole::activation, {}, 0});
    graph.ops.push_back({OpKind::reshape,
                         name,
                         std::vector<uint32_t>(8, next - 1),
                         {next},
                         ShapeAttributes{Shape(limits::kModelRankMax, 1)}});
  }
  graph.inputs = {0};
  graph.output = static_cast<uint32_t>(graph.tensors.size()) - 1;
  for (size_t i = 0; i < limits::kModelPropertiesMax; ++i) {
    std::string key = std::to_string(i);
    key.resize(limits::kTextBytesMax, 'k');
    graph.properties[key].assign(limits::kDetailBytesMax, 'v');
  }
  const Bytes frame = test::frame_of(graph, {});
  EXPECT_LE(parse_prelude(frame)->header_bytes, limits::kFileHeaderBytesMax);
  EXPECT_OK(decode_model(frame));
}

TEST(ElementCount, MultipliesOrSaysWhyNot) {
  EXPECT_EQ(*element_count({}), 1u);
  EXPECT_EQ(*element_count({2, 3, 4}), 24u);
  EXPECT_EQ(*element_count(Shape{int64_t{1} << 31, int64_t{1} << 31}), uint64_t{1} << 62);
  EXPECT_ERROR(element_count(Shape(3, int64_t{1} << 31)), ErrorCode::malformed, "overflows");
  EXPECT_ERROR(element_count({3, 0}), ErrorCode::malformed, "a dimension is 0");
  EXPECT_ERROR(element_count({-5}), ErrorCode::malformed, "a dimension is -5");
}

TEST(OpKind, HasANameForEachAndOneForNone) {
  std::set<std::string_view> names;
  for (size_t i = 1; i <= kOpKinds; ++i) names.insert(to_string(static_cast<OpKind>(i)));
  EXPECT_EQ(names.size(), kOpKinds);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(to_string(OpKind::dense), "dense");
  EXPECT_EQ(to_string(OpKind::reshape), "reshape");
  EXPECT_EQ(to_string(OpKind::identity), "identity");
  EXPECT_EQ(to_string(static_cast<OpKind>(0)), "unknown");
  EXPECT_EQ(to_string(static_cast<OpKind>(kOpKinds + 1)), "unknown");
}

}  // namespace
}  // namespace coterie
