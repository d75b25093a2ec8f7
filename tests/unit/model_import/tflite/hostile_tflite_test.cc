// Bytes that are no honest TFLite model: each is a typed error.
#include <gtest/gtest.h>

#include <random>

#include "model_import/tflite/import_tflite.h"
#include "model_import/tflite_reference/run_tflite.h"
#include "tests/unit/model_import/tflite/tflite_build.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

// A small net in int8: a convolution, a pool, a reshape, a dense layer, a softmax.
Bytes small_net() {
  TfliteBuild b;
  const Grid in{{0.05f}, {-3}};
  const int32_t x = b.value("x", {1, 4, 4, 2}, TfliteType::int8, in);
  const int32_t w =
      b.constant("w", {2, 2, 2, 2}, TfliteType::int8, std::vector<int8_t>(16, 7), {{0.1f, 0.2f}, {0, 0}, 0});
  const int32_t bias =
      b.constant("b", {2}, TfliteType::int32, std::vector<int32_t>{3, -5}, {{0.005f, 0.01f}, {0, 0}, 0});
  const int32_t c = b.value("c", {1, 3, 3, 2}, TfliteType::int8, {{0.08f}, {-128}}),
                p = b.value("p", {1, 1, 1, 2}, TfliteType::int8, {{0.08f}, {-128}});
  b.op(TfliteOp::conv_2d, {x, w, bias}, {c}, wire::Options::Conv2D,
       [](auto& f) { return wire::CreateConv2D(f, 1, 1, 1, 1); });
  b.op(TfliteOp::max_pool_2d, {c}, {p}, wire::Options::Pool2D,
       [](auto& f) { return wire::CreatePool2D(f, 1, 2, 2, 3, 3); });
  const int32_t to = b.integers("to", {-1, 2}), r = b.value("r", {1, 2}, TfliteType::int8, {{0.08f}, {-128}});
  b.op(TfliteOp::reshape, {p, to}, {r}, wire::Options::Reshape, [](auto& f) {
    return wire::CreateReshape(f, f.CreateVector(std::vector<int32_t>{-1, 2}));
  });
  const int32_t d =
      b.constant("d", {3, 2}, TfliteType::int8, std::vector<int8_t>{1, -2, 3, -4, 5, 127}, {{0.02f}, {0}});
  const int32_t l = b.value("l", {1, 3}, TfliteType::int8, {{0.3f}, {4}}),
                y = b.value("y", {1, 3}, TfliteType::int8, {{1 / 256.f}, {-128}});
  b.op(TfliteOp::fully_connected, {r, d}, {l}, wire::Options::FullyConnected,
       [](auto& f) { return wire::CreateFullyConnected(f); });
  b.op(TfliteOp::softmax, {l}, {y}, wire::Options::Softmax, [](auto& f) { return wire::CreateSoftmax(f, 1); });
  return b.bytes({x}, {y});
}

// The same layers but for the softmax, in floats, and with activations of 16 bits, whose biases have 64.
Bytes small_net_of(TfliteType type) {
  const bool is_real = type == TfliteType::float32;
  TfliteBuild b;
  const auto on = [&](float scale) { return is_real ? Grid{} : Grid{{scale}, {0}}; };
  const auto table = [&](const std::string& name, const std::vector<int32_t>& shape) {
    if (is_real) return b.weights(name, shape);
    const std::vector<int8_t> elements(static_cast<size_t>(shape[0] * shape.back() * (shape.size() == 4 ? 4 : 1)), 7);
    return b.constant(name, shape, TfliteType::int8, elements, {{0.1f, 0.2f}, {0, 0}, 0});
  };
  const int32_t x = b.value("x", {1, 4, 4, 2}, type, on(0.05f)), w = table("w", {2, 2, 2, 2});
  const int32_t bias =
      is_real ? b.reals("b", {2}, {0.5f, -1})
              : b.constant("b", {2}, TfliteType::int64, std::vector<int64_t>{3, -5}, {{0.005f, 0.01f}, {0, 0}, 0});
  const int32_t c = b.value("c", {1, 3, 3, 2}, type, on(0.08f)), p = b.value("p", {1, 1, 1, 2}, type, on(0.08f));
  b.op(TfliteOp::conv_2d, {x, w, bias}, {c}, wire::Options::Conv2D,
       [](auto& f) { return wire::CreateConv2D(f, 1, 1, 1, 1); });
  b.op(TfliteOp::max_pool_2d, {c}, {p}, wire::Options::Pool2D,
       [](auto& f) { return wire::CreatePool2D(f, 1, 2, 2, 3, 3); });
  const int32_t to = b.integers("to", {-1, 2}), r = b.value("r", {1, 2}, type, on(0.08f));
  b.op(TfliteOp::reshape, {p, to}, {r});
  const int32_t d = table("d", {2, 2}), y = b.value("y", {1, 2}, type, on(0.3f));
  b.op(TfliteOp::fully_connected, {r, d}, {y}, wire::Options::FullyConnected,
       [](auto& f) { return wire::CreateFullyConnected(f); });
  return b.bytes({x}, {y});
}

struct NamedFile {
  const char* name;
  Bytes file;
};
std::vector<NamedFile> small_nets() {
  return {
      {"int8", small_net()}, {"float32", small_net_of(TfliteType::float32)}, {"16x8", small_net_of(TfliteType::int16)}};
}

// Read, imported and computed: the error, or none.
Status taken(ByteView file) {
  COT_ASSIGN(const TfliteModel model, read_tflite(file));
  COT_TRY(import_tflite(model));
  for (const TfliteTensor& tensor : model.tensors) {
    COT_ASSIGN(const size_t count, elements_of(tensor));
    if (count > 4'096) return {};  // larger ones only cost time
  }
  std::vector<TfliteArray> inputs;
  for (const int32_t input : model.inputs) {
    COT_ASSIGN(TfliteArray array, zeros_of(model.tensor(input)));
    inputs.push_back(std::move(array));
  }
  COT_TRY(run_tflite(model, inputs));
  return {};
}

TEST(HostileTflite, TheWholeFileIsTaken) {
  for (const auto& [name, file] : small_nets()) EXPECT_TRUE(is_ok(taken(file))) << name;
}

// FlatBuffers' verifier asks the length of a list to be aligned, not its numbers: here it lies at a multiple of 8.
TEST(HostileTflite, ZeroPointsAreReadWhereverTheyLie) {
  Bytes file = small_net();
  const wire::Quantisation& grid = *wire::GetModel(file.data())->subgraphs()->Get(0)->tensors()->Get(0)->quantization();
  const uint8_t* const place =
      reinterpret_cast<const flatbuffers::Table&>(grid).GetAddressOf(wire::Quantisation::VT_ZERO_POINT);
  const auto field = static_cast<size_t>(place - file.data());
  const size_t list = (file.size() + 7) / 8 * 8;
  file.resize(list + sizeof(uint32_t) + sizeof(int64_t));
  flatbuffers::WriteScalar(file.data() + field, static_cast<uint32_t>(list - field));
  flatbuffers::WriteScalar<uint32_t>(file.data() + list, 1);
  flatbuffers::WriteScalar<uint32_t>(file.data() + list + 4, 5);  // the number's lower half
  const Result<TfliteModel> model = read_tflite(file);
  ASSERT_OK(model);
  EXPECT_EQ(model->tensors[0].grid.zeros, std::vector<int64_t>{5});
}

TEST(HostileTflite, EveryPrefixIsRefused) {
  for (const auto& [name, file] : small_nets()) {
    SCOPED_TRACE(name);
    for (size_t size = 0; size < file.size(); ++size) {
      // In a buffer of its own, so that a read behind the end is seen.
      const Bytes prefix(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      const Result<TfliteModel> model = read_tflite(prefix);
      // FlatBuffers write from the end: the last bytes may be padding of what lies there.
      if (model) continue;
      ASSERT_NE(model.error().code(), ErrorCode::internal) << size;
    }
    EXPECT_ERROR(read_tflite(ByteView(file).first(file.size() / 2)), ErrorCode::malformed, "not a TFLite model");
  }
}

void expect_no_mutation_breaks(const Bytes& file) {
  std::mt19937_64 chance(7);
  size_t taken_whole = 0;
  for (int i = 0; i < 2'000; ++i) {
    Bytes damaged = file;
    for (uint64_t changes = 1 + chance() % 4; changes > 0; --changes) {
      static constexpr uint8_t kBytes[] = {0, 1, 0x7f, 0x80, 0xff};
      uint8_t& byte = damaged[chance() % damaged.size()];
      byte = chance() % 2 == 0 ? kBytes[chance() % 5] : static_cast<uint8_t>(byte ^ (1u << chance() % 8));
    }
    const Status status = taken(damaged);
    if (status) ++taken_whole;
    else ASSERT_NE(status.error().code(), ErrorCode::internal) << i << ": " << status.error().message();
  }
  EXPECT_GT(taken_whole, 0u);  // a weight of another value
  EXPECT_LT(taken_whole, 2'000u);
}

TEST(HostileTflite, TwoThousandMutationsOfEachNeverBreakIt) {
  for (const auto& [name, file] : small_nets()) {
    SCOPED_TRACE(name);
    expect_no_mutation_breaks(file);
  }
}

// One fault at a time.
struct Damaged {
  TfliteBuild b;
  int32_t x = b.value("x", {1, 4}), y = b.value("y", {1, 4});
  Result<TfliteModel> read(std::vector<int32_t> inputs = {0}, std::vector<int32_t> outputs = {1}) {
    return read_tflite(b.bytes(inputs, outputs));
  }
};

TEST(HostileTflite, IndicesOutOfRange) {
  Damaged input;
  input.b.op(TfliteOp::relu, {input.x}, {input.y});
  EXPECT_ERROR(input.read({7}), ErrorCode::malformed, "name tensor 7, of which there are 2");
  Damaged operand;
  operand.b.op(TfliteOp::relu, {9}, {operand.y});
  EXPECT_ERROR(operand.read(), ErrorCode::malformed, "operator 0 (RELU): its inputs name tensor 9");
  Damaged result;
  result.b.op(TfliteOp::relu, {result.x}, {-1});
  EXPECT_ERROR(result.read(), ErrorCode::malformed, "its outputs name tensor -1");
}

TEST(HostileTflite, OperatorsOutOfOrder) {
  Damaged twice;
  twice.b.op(TfliteOp::relu, {twice.x}, {twice.y});
  twice.b.op(TfliteOp::tanh, {twice.x}, {twice.y});
  EXPECT_ERROR(twice.read(), ErrorCode::malformed, "writes tensor y, which is already written");
  Damaged self;
  self.b.op(TfliteOp::relu, {self.y}, {self.y});
  EXPECT_ERROR(self.read(), ErrorCode::malformed, "which nothing has written");
}

TEST(HostileTflite, ShapesThatAreBombs) {
  Damaged bomb;
  bomb.b.value("z", {2'000'000'000, 2'000'000'000});
  bomb.b.op(TfliteOp::relu, {bomb.x}, {bomb.y});
  EXPECT_ERROR(bomb.read(), ErrorCode::too_large, "more than 2^40 elements");
  Damaged rank;
  rank.b.value("z", std::vector<int32_t>(9, 1));
  rank.b.op(TfliteOp::relu, {rank.x}, {rank.y});
  EXPECT_ERROR(rank.read(), ErrorCode::too_large, "more than 8 dimensions");
  Damaged negative;
  negative.b.value("z", {-1, 4});
  negative.b.op(TfliteOp::relu, {negative.x}, {negative.y});
  EXPECT_ERROR(negative.read(), ErrorCode::malformed, "a dimension of -1");
  Damaged pads;
  const int32_t sizes =
      pads.b.constant("pads", {2, 2}, TfliteType::int32, std::vector<int32_t>{0, 0, 0, 2'000'000'000});
  pads.b.op(TfliteOp::pad, {pads.x, sizes}, {pads.y});
  const Result<TfliteModel> model = pads.read();
  ASSERT_OK(model);
  EXPECT_FALSE(run_tflite(*model, {{.shape = {1, 4}, .reals = {1, 2, 3, 4}, .integers = {}}}));
}

TEST(HostileTflite, DataThatDoesNotFitItsShape) {
  Damaged data;
  data.b.constant("z", {5}, TfliteType::float32, std::vector<float>{1, 2, 3});
  data.b.op(TfliteOp::relu, {data.x}, {data.y});
  EXPECT_ERROR(data.read(), ErrorCode::malformed, "has 12 bytes, its shape needs 20");
}

TEST(HostileTflite, DataThatIsSharedToGrow) {
  Damaged shared;
  shared.b.constant("z", {4'096}, TfliteType::int8, std::vector<int8_t>(4'096));
  for (int i = 0; i < 100; ++i) shared.b.again("z" + std::to_string(i), {4'096}, TfliteType::int8);
  shared.b.op(TfliteOp::relu, {shared.x}, {shared.y});
  EXPECT_ERROR(shared.read(), ErrorCode::too_large, "more than 4 times as large as the file");
}

TEST(HostileTflite, GridsThatAreNone) {
  for (const float scale : {-1.0f, NAN, INFINITY}) {
    Damaged grid;
    grid.b.value("z", {4}, TfliteType::int8, {{scale}, {0}});
    grid.b.op(TfliteOp::relu, {grid.x}, {grid.y});
    EXPECT_ERROR(grid.read(), ErrorCode::malformed, "a scale that is not above 0");
  }
  Damaged axis;
  axis.b.value("z", {4}, TfliteType::int8, {{1, 2, 3}, {0, 0, 0}, 0});
  axis.b.op(TfliteOp::relu, {axis.x}, {axis.y});
  EXPECT_ERROR(axis.read(), ErrorCode::malformed, "3 scales, which are not one a place on dimension 0");
}

TEST(HostileTflite, OptionsOutOfRange) {
  const auto with = [](auto&& options) {
    TfliteBuild b;
    const int32_t x = b.value("x", {1, 4, 4, 1}), y = b.value("y", {1, 4, 4, 1}), w = b.weights("w", {1, 1, 1, 1});
    b.op(TfliteOp::conv_2d, {x, w}, {y}, wire::Options::Conv2D, options);
    return read_tflite(b.bytes({x}, {y}));
  };
  EXPECT_ERROR(with([](auto& f) { return wire::CreateConv2D(f, 5, 1, 1); }), ErrorCode::malformed,
               "padding is number 5");
  EXPECT_ERROR(with([](auto& f) { return wire::CreateConv2D(f, 0, 0, 1); }), ErrorCode::malformed,
               "stride_w must be at least 1, is 0");
  EXPECT_ERROR(with([](auto& f) { return wire::CreateConv2D(f, 0, 1, 1, 77); }), ErrorCode::malformed,
               "activation is number 77");
  EXPECT_ERROR(with([](auto& f) { return wire::CreateConv2D(f, 0, 1, 1, 5); }), ErrorCode::invalid_argument,
               "SIGN_BIT");
  TfliteBuild other;
  const int32_t x = other.value("x", {1, 4}), y = other.value("y", {1, 4});
  other.op(TfliteOp::add, {x, x}, {y}, wire::Options::Conv2D, [](auto& f) { return wire::CreateConv2D(f); });
  EXPECT_ERROR(read_tflite(other.bytes({x}, {y})), ErrorCode::malformed, "those of another operator");
}

TEST(HostileTflite, UnknownOperatorsAreNamedWithTheirPlace) {
  Damaged unknown;
  const int32_t m = unknown.b.value("m", {1, 4});
  unknown.b.unknown_op(27, {unknown.x}, {m});
  unknown.b.unknown_op(128, {m}, {unknown.y});
  EXPECT_ERROR(unknown.read(), ErrorCode::invalid_argument, "CUMSUM (operator 1), SVDF (operator 0)");
  Damaged future;
  future.b.unknown_op(4'000, {future.x}, {future.y});
  EXPECT_ERROR(future.read(), ErrorCode::invalid_argument, "operator 4000 (operator 0)");
}

TEST(HostileTflite, OtherVersionsAndSeveralGraphs) {
  Damaged several;
  several.b.op(TfliteOp::relu, {several.x}, {several.y});
  EXPECT_ERROR(read_tflite(several.b.bytes({0}, {1}, 2)), ErrorCode::invalid_argument,
               "has 2 graphs, it must have one");
  Damaged version;
  version.b.op(TfliteOp::relu, {version.x}, {version.y});
  EXPECT_ERROR(read_tflite(version.b.bytes({0}, {1}, 1, 9)), ErrorCode::invalid_argument, "version 9 of the format");
  EXPECT_ERROR(read_tflite({}), ErrorCode::malformed, "no identifier TFL3");
}

}  // namespace
}  // namespace coterie
