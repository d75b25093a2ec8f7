#include "proto/messages/model_widths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kHalf = 500'000, kQuarter = 250'000;

// A graph op by op; each activation has the name of its op.
class Net {
 public:
  explicit Net(Shape input) {
    graph_.name = "net";
    graph_.tensors = {{.name = "x", .role = TensorRole::input, .shape = std::move(input)}};
    graph_.inputs = {0};
  }
  uint32_t parameter(const std::string& name, Shape shape, TensorRole role = TensorRole::parameter) {
    const uint64_t count = *element_count(shape);
    const uint32_t index = tensor({.name = name, .role = role, .shape = std::move(shape), .payload_offset = bytes_});
    bytes_ += (count * sizeof(float) + 63) / 64 * 64;
    return index;
  }
  uint32_t op(
      OpKind kind, const std::string& name, std::vector<uint32_t> inputs,
      const std::function<void(OpAttributes&)>& change = [](OpAttributes&) {}) {
    OpAttributes attributes = default_attributes(kind);
    change(attributes);
    const uint32_t output = tensor({.name = name});
    graph_.ops.push_back({kind, name, std::move(inputs), {output}, std::move(attributes)});
    return output;
  }
  uint32_t layer(
      OpKind kind, const std::string& name, uint32_t from, Shape weight,
      const std::function<void(OpAttributes&)>& change = [](OpAttributes&) {}) {
    const int64_t out = weight.back();
    const uint32_t w = parameter(name + ".weight", std::move(weight)), b = parameter(name + ".bias", {out});
    return op(kind, name, {from, w, b}, change);
  }
  ModelGraph ending_at(uint32_t output) {
    graph_.output = output;
    return graph_;
  }
  static constexpr uint32_t kInput = 0;

 private:
  uint32_t tensor(TensorInfo info) {
    graph_.tensors.push_back(std::move(info));
    return static_cast<uint32_t>(graph_.tensors.size() - 1);
  }
  ModelGraph graph_;
  uint64_t bytes_ = 0;
};

// 3 inputs, 4 hidden, 2 outputs: values 0..11 w1 [3, 4], 16..19 b1, 32..39 w2 [4, 2], 48..49 b2.
ModelGraph perceptron() {
  Net net({3});
  const uint32_t hidden = net.op(OpKind::relu, "relu", {net.layer(OpKind::dense, "in", Net::kInput, {3, 4})});
  return net.ending_at(net.layer(OpKind::dense, "out", hidden, {4, 2}));
}

std::vector<std::vector<KeptPlaces>> dimensions(const ModelGraph& graph, uint32_t width) {
  const auto slices = width_slices(graph, width);
  EXPECT_OK(slices);
  std::vector<std::vector<KeptPlaces>> all;
  if (slices) {
    for (const TensorSlice& slice : *slices) all.push_back(slice.dimensions);
  }
  return all;
}

KeptPlaces whole(uint64_t size) { return {size, size, size}; }
KeptPlaces first(uint64_t kept, uint64_t size) { return {size, size, kept}; }

TEST(ModelWidths, KeepTheFirstChannelsRoundedUp) {
  for (const auto& [channels, width, kept] : {std::tuple{32u, kWholeWidth, 32u},
                                              {32, kHalf, 16},
                                              {32, kQuarter, 8},
                                              {10, 100'000, 1},
                                              {5, kHalf, 3},
                                              {1, 1, 1},
                                              {33, 333'333, 11}}) {
    EXPECT_EQ(kept_channels(channels, width), kept) << channels << " " << width;
  }
  EXPECT_EQ(width_of(0.0625), 62'500u);
  EXPECT_EQ(width_of(1), kWholeWidth);
  for (const double none : {0.0, -0.5, 1.1, 1e-9, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(width_of(none), std::nullopt) << none;
  }
}

TEST(ModelWidths, LeaveInputsAndOutputsWhole) {
  EXPECT_THAT(dimensions(perceptron(), kHalf), ElementsAre(ElementsAre(whole(3), first(2, 4)), ElementsAre(first(2, 4)),
                                                           ElementsAre(first(2, 4), whole(2)), ElementsAre(whole(2))));
  EXPECT_THAT(dimensions(perceptron(), kWholeWidth),
              ElementsAre(ElementsAre(whole(3), whole(4)), ElementsAre(whole(4)), ElementsAre(whole(4), whole(2)),
                          ElementsAre(whole(2))));
}

// Rows of w1 are 0 1 2 3, 4 5 6 7, 8 9 10 11; of w2 32 33, 34 35, 36 37, 38 39.
TEST(ModelWidths, NestAsWorkedOutByHand) {
  const std::vector<uint32_t> widths = {kWholeWidth, kHalf, kQuarter};
  const auto blocks = width_blocks(perceptron(), widths);
  ASSERT_OK(blocks);
  EXPECT_THAT(
      *blocks,
      ElementsAre(WidthBlock{{0, 1}, 2}, WidthBlock{{1, 1}, 1}, WidthBlock{{2, 2}, 0}, WidthBlock{{4, 1}, 2},
                  WidthBlock{{5, 1}, 1}, WidthBlock{{6, 2}, 0}, WidthBlock{{8, 1}, 2}, WidthBlock{{9, 1}, 1},
                  WidthBlock{{10, 2}, 0}, WidthBlock{{16, 1}, 2}, WidthBlock{{17, 1}, 1}, WidthBlock{{18, 2}, 0},
                  WidthBlock{{32, 2}, 2}, WidthBlock{{34, 2}, 1}, WidthBlock{{36, 4}, 0}, WidthBlock{{48, 2}, 2}));
}

TEST(ModelWidths, CutAGraphWhosePiecesLieWhereTheyDoInTheWholeOne) {
  const auto narrow = narrow_graph(perceptron(), kHalf);
  ASSERT_OK(narrow);
  std::vector<Shape> shapes;
  for (const TensorInfo& tensor : narrow->graph.tensors) {
    if (has_payload(tensor.role)) shapes.push_back(tensor.shape);
  }
  EXPECT_THAT(shapes, ElementsAre(Shape{3, 2}, Shape{2}, Shape{2, 2}, Shape{2}));
  EXPECT_THAT(narrow->pieces, ElementsAre(SlicePiece{0, 0, 2}, SlicePiece{4, 2, 2}, SlicePiece{8, 4, 2},
                                          SlicePiece{16, 16, 2}, SlicePiece{32, 32, 4}, SlicePiece{48, 48, 2}));
  EXPECT_EQ(narrow->value_count, 50u);
  const auto same = narrow_graph(perceptron(), kWholeWidth);
  ASSERT_OK(same);
  EXPECT_EQ(same->graph, perceptron());
}

// Channels are an image's last dimension: of h w C flattened places those of the first channels are left.
TEST(ModelWidths, FollowChannelsThroughImages) {
  Net net({4, 4, 1});
  const uint32_t conv = net.layer(OpKind::conv2d, "conv", Net::kInput, {3, 3, 1, 4});
  const uint32_t flat = net.op(OpKind::flatten, "flat", {net.op(OpKind::max_pool2d, "pool", {conv})});
  const ModelGraph graph = net.ending_at(net.layer(OpKind::dense, "out", flat, {16, 2}));
  EXPECT_THAT(dimensions(graph, kHalf),
              ElementsAre(ElementsAre(whole(3), whole(3), whole(1), first(2, 4)), ElementsAre(first(2, 4)),
                          ElementsAre(KeptPlaces{16, 4, 2}, whole(2)), ElementsAre(whole(2))));
  const auto narrow = narrow_graph(graph, kHalf);
  ASSERT_OK(narrow);
  EXPECT_EQ(narrow->graph.tensors[6].shape, (Shape{8, 2}));
}

TEST(ModelWidths, AddEqualChannelsAndFrozenNorms) {
  Net net({8});
  const uint32_t a = net.layer(OpKind::dense, "a", Net::kInput, {8, 4});
  std::vector<uint32_t> inputs = {a};
  for (const char* name : {"scale", "shift"}) inputs.push_back(net.parameter(name, {4}));
  for (const char* name : {"mean", "variance"}) inputs.push_back(net.parameter(name, {4}, TensorRole::state));
  const uint32_t norm = net.op(OpKind::batch_norm, "norm", inputs,
                               [](OpAttributes& attributes) { std::get<NormAttributes>(attributes).is_frozen = true; });
  const uint32_t b = net.layer(OpKind::dense, "b", norm, {4, 4});
  const uint32_t sum = net.op(OpKind::add, "sum", {norm, b});
  const auto all = dimensions(net.ending_at(net.layer(OpKind::dense, "out", sum, {4, 3})), kQuarter);
  ASSERT_EQ(all.size(), 10u);
  for (size_t i = 1; i < 6; ++i) EXPECT_THAT(all[i], ElementsAre(first(1, 4))) << i;
  EXPECT_THAT(all[6], ElementsAre(first(1, 4), first(1, 4)));
  EXPECT_THAT(all[8], ElementsAre(first(1, 4), whole(3)));
}

TEST(ModelWidths, RefuseByNameWhatHasNoMeaningInPart) {
  const auto expect_refused = [](const ModelGraph& graph, const char* why) {
    EXPECT_ERROR(width_slices(graph, kHalf), ErrorCode::invalid_argument, why);
    EXPECT_ERROR(narrow_graph(graph, kHalf), ErrorCode::invalid_argument, why);
  };
  {
    Net net({4, 4, 4});
    const uint32_t deep = net.layer(OpKind::conv2d, "deep", Net::kInput, {3, 3, 1, 4}, [](OpAttributes& attributes) {
      std::get<Conv2dAttributes>(attributes).groups = 4;
    });
    const uint32_t flat = net.op(OpKind::flatten, "flat", {deep});
    expect_refused(net.ending_at(net.layer(OpKind::dense, "out", flat, {16, 2})), "deep (conv2d) has no meaning");
  }
  {
    Net net({4});
    const uint32_t hidden = net.layer(OpKind::dense, "hidden", Net::kInput, {4, 4});
    const uint32_t sum = net.op(OpKind::add, "around", {hidden, Net::kInput});
    expect_refused(net.ending_at(net.layer(OpKind::dense, "out", sum, {4, 2})), "around (add) adds channels");
  }
  {
    Net net({4});
    const uint32_t hidden = net.layer(OpKind::dense, "hidden", Net::kInput, {4, 4});
    std::vector<uint32_t> inputs = {hidden};
    for (const char* name : {"scale", "shift"}) inputs.push_back(net.parameter(name, {4}));
    for (const char* name : {"mean", "variance"}) inputs.push_back(net.parameter(name, {4}, TensorRole::state));
    const uint32_t norm = net.op(OpKind::batch_norm, "norm", inputs);
    expect_refused(net.ending_at(net.layer(OpKind::dense, "out", norm, {4, 2})), "norm (batch_norm) has no meaning");
  }
  {
    Net net({4});
    const uint32_t words = net.op(OpKind::embedding, "words", {net.parameter("table", {9, 4}), Net::kInput});
    const uint32_t hidden = net.layer(OpKind::dense, "hidden", words, {4, 4});
    expect_refused(net.ending_at(net.layer(OpKind::dense, "out", hidden, {4, 2})), "words (embedding) has no meaning");
  }
  {
    Net net({4});
    const uint32_t hidden = net.layer(OpKind::dense, "hidden", Net::kInput, {4, 4});
    const uint32_t soft = net.op(OpKind::softmax, "soft", {hidden});
    expect_refused(net.ending_at(net.layer(OpKind::dense, "out", soft, {4, 2})), "soft (softmax) has no meaning");
  }
  {
    Net net({4});
    expect_refused(net.ending_at(net.layer(OpKind::dense, "out", Net::kInput, {4, 2})), "no hidden dense or conv2d");
  }
  {  // one weight of a layer that is whole and of one that is cut
    Net net({4});
    const uint32_t w = net.parameter("w", {4, 4});
    const uint32_t hidden = net.op(OpKind::dense, "hidden", {Net::kInput, w, kNoTensor});
    expect_refused(net.ending_at(net.op(OpKind::dense, "out", {hidden, w, kNoTensor})), "out (dense) reads w");
  }
}

}  // namespace
}  // namespace coterie
