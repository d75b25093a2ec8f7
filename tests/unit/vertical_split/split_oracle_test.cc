// A Wide & Deep network over two parties is the monolithic one: shared/vectors/vertical/split_wide_deep.json, a trace
// in double precision. This one computes in float32: within 1e-4 (its design's word for it).
#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/paths.h"
#include "tests/unit/vertical_split/split_pair.h"
#include "tools/data/digits.h"
#include "vertical/split/predict_split.h"

namespace coterie::vertical {
namespace {

using test::SplitPair;

constexpr uint32_t kColumns = 32, kCategories = 17;  // pixels of a party, values of one
constexpr double kFloatTolerance = 1e-4;

// Its closed-form first weights: scale * sin(salt + 12.9898 i).
std::vector<float> closed_form(size_t count, double salt, double scale) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(scale * std::sin(salt + 12.9898 * static_cast<double>(i)));
  return values;
}

struct Layer {
  std::string name;
  double salt = 0, scale = 0;  // 0: zeros
};

// The same network with these first weights.
Bytes with_weights(const Bytes& file, const std::vector<Layer>& layers) {
  const Model model = *Model::load(file);
  std::vector<float> values(model.parameters().size());
  size_t set = 0;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    for (const Layer& layer : layers) {
      if (layer.name != tensor.name) continue;
      const std::vector<float> from = closed_form(*element_count(tensor.shape), layer.salt, layer.scale);
      std::ranges::copy(from, values.begin() + static_cast<ptrdiff_t>(tensor.payload_offset / sizeof(float)));
      ++set;
    }
  }
  EXPECT_EQ(set, layers.size());
  return model.file_with(values);
}

struct Digits {
  std::array<SplitInputs, 2> train, held_out;
  std::vector<float> train_labels, held_out_labels;
};

Digits digits() {
  const LabelledImages images = built_in_digits();
  Digits made;
  for (auto* part : {&made.train, &made.held_out}) {
    for (SplitInputs& inputs : *part) {
      inputs.schema = {
          .is_coded = true, .columns = kColumns, .categories = std::vector<uint32_t>(kColumns, kCategories)};
    }
  }
  for (size_t row = 0; row < images.labels.size(); ++row) {
    const bool is_held_out = row % 5 == 0;
    auto& inputs = is_held_out ? made.held_out : made.train;
    for (uint32_t pixel = 0; pixel < 2 * kColumns; ++pixel) {
      SplitInputs& own = inputs[pixel / kColumns];
      const int32_t value = images.pixels[row * 2 * kColumns + pixel];
      own.values.push_back(std::bit_cast<float>(static_cast<int32_t>(pixel % kColumns * kCategories) + value));
    }
    for (SplitInputs& own : inputs) ++own.rows;
    (is_held_out ? made.held_out_labels : made.train_labels).push_back(images.labels[row] == 8 ? 1.0f : 0.0f);
  }
  return made;
}

class SplitOracle : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(coterie::test::source_dir() + "/../shared/vectors/vertical/split_wide_deep.json");
    if (!file) GTEST_SKIP() << "shared/ is not there";
    oracle_ = nlohmann::json::parse(file);
    settings_ = {.network = SplitNetwork::wide_deep,
                 .hidden = 0,
                 .cut = 16,
                 .top = 16,
                 .embedding = 4,
                 .epochs = 10,
                 .batch = 128,
                 .shuffle = false,
                 .is_adam = false,
                 .rate = 0.5};
  }
  std::array<Bytes, 2> networks() const {
    const ColumnSchema schema = digits_.train[0].schema;
    return {
        with_weights(
            *make_label_network(settings_, schema, 1),
            {{"embedding", .1, .1}, {"dense1.weight", 1.1, .1}, {"dense2.weight", .3, .2}, {"dense3.weight", .4, .2}}),
        with_weights(*make_feature_network(settings_, schema, 1), {{"embedding", .2, .1}, {"dense1.weight", 1.2, .1}})};
  }
  std::vector<float> tensor(const Message& message, CutEncoding encoding = CutEncoding::float32) const {
    return *read_cut_tensor(ByteView(message.payload).subspan(4), 128, 17, encoding);
  }

  nlohmann::json oracle_;
  SplitSettings settings_;
  Digits digits_ = digits();
};

TEST_F(SplitOracle, IsTheMonolithicTrace) {
  SplitPair pair(settings_, digits_.train, networks(), digits_.train_labels);
  ASSERT_OK(pair.run());
  // The first batch's activations and gradients, row by row.
  const nlohmann::json& first = oracle_["first_batch"];
  const std::vector<float> activations = tensor(pair.said()[0]), gradients = tensor(pair.said()[1]);
  double worst = 0;
  for (size_t row = 0; row < 3; ++row) {
    for (size_t i = 0; i < 16; ++i) {
      worst = std::max(worst, std::abs(double{activations[row * 17 + i]} - first["emb_B"][row][i].get<double>()));
      worst = std::max(worst, std::abs(double{gradients[row * 17 + i]} - first["grad_to_B"][row][i].get<double>()));
    }
    worst = std::max(worst, std::abs(double{gradients[row * 17 + 16]} - first["wide_grad"][row].get<double>()));
  }
  EXPECT_LT(worst, 1e-7);
  const std::vector<double> losses = pair.party(0).losses();
  ASSERT_EQ(losses.size(), oracle_["trace"].size());
  double off = 0;
  for (size_t epoch = 0; epoch < losses.size(); ++epoch) {
    off = std::max(off, std::abs(losses[epoch] - oracle_["trace"][epoch]["mean_batch_loss"].get<double>()));
  }
  EXPECT_LT(off, kFloatTolerance);
  std::printf("first batch: off by %.2g at most; loss of an epoch: by %.2g\n", worst, off);
}

// Rounded to 256 levels, or to one bit a number, it is still a network that knows its eights.
TEST_F(SplitOracle, RoundedIsNearlyAsGood) {
  double last[3] = {};
  for (const CutEncoding encoding : {CutEncoding::float32, CutEncoding::int8, CutEncoding::bit1}) {
    settings_.activations = encoding;
    settings_.gradients = encoding == CutEncoding::float32 ? CutEncoding::float32 : CutEncoding::int8;
    SplitPair pair(settings_, digits_.train, networks(), digits_.train_labels);
    ASSERT_OK(pair.run());
    last[static_cast<size_t>(encoding)] = pair.party(0).losses().back();
  }
  std::printf("loss of the last epoch: float32 %.4f, int8 %.4f, bit1 %.4f\n", last[0], last[1], last[2]);
  EXPECT_NEAR(last[1], last[0], 0.02);
  EXPECT_LT(last[2], 0.28);  // one that says nothing ends at 0.33
}

}  // namespace
}  // namespace coterie::vertical
