// What parameters' values are like, read a page at a time and never more than a page may have.
#include "fl_server/model_view/parameter_histograms.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"

namespace coterie {
namespace {

using nlohmann::json;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Counts what is read.
class CountingBlob final : public BlobReader {
 public:
  CountingBlob(std::shared_ptr<const BlobReader> blob, uint64_t& bytes) : blob_(std::move(blob)), bytes_(bytes) {}
  uint64_t size() const override { return blob_->size(); }
  Status read_at(uint64_t offset, std::span<uint8_t> into) const override {
    bytes_ += into.size();
    return blob_->read_at(offset, into);
  }

 private:
  std::shared_ptr<const BlobReader> blob_;
  uint64_t& bytes_;
};

class ParameterHistograms : public ::testing::Test {
 protected:
  ModelFile stored(ByteView bytes) {
    const Digest digest = blobs_.put(bytes).value();
    return ModelFile::open(std::make_shared<CountingBlob>(blobs_.open(digest).value(), bytes_read_), "it").value();
  }
  // One parameter a list, each read by an op.
  ModelFile model_of(const std::vector<std::vector<float>>& lists) {
    ModelBuilder build("m", {1}, 1);
    TensorId x = build.input();
    for (size_t i = 0; i < lists.size(); ++i) {
      const auto size = static_cast<int64_t>(lists[i].size());
      x = build.op(OpKind::mul, {build.input(), build.parameter("p" + std::to_string(i), {size}, lists[i])});
    }
    return stored(build.finish(x).value());
  }

  test::MemoryBlobStore blobs_;
  uint64_t bytes_read_ = 0;
};

TEST_F(ParameterHistograms, CountEachValueOnce) {
  const std::vector<float> values = {-1, 0, -0.0f, 3, kNan, std::numeric_limits<float>::infinity(), 1, 1};
  const ParameterHistogram histogram = histogram_of(values);
  EXPECT_EQ(histogram.count, 8u);
  EXPECT_EQ(histogram.zeros, 2u);
  EXPECT_EQ(histogram.non_finite, 2u);
  EXPECT_EQ(histogram.min, -1);
  EXPECT_EQ(histogram.max, 3);
  EXPECT_NEAR(histogram.mean, 4.0 / 6, 1e-15);
  EXPECT_NEAR(histogram.deviation, std::sqrt(12.0 / 6 - 16.0 / 36), 1e-15);
  EXPECT_EQ(histogram.bins[0], 1u);
  EXPECT_EQ(histogram.bins[kHistogramBins / 4], 2u) << "0, a quarter of the way";
  EXPECT_EQ(histogram.bins[kHistogramBins / 2], 2u);
  EXPECT_EQ(histogram.bins[kHistogramBins - 1], 1u) << "the greatest is in the last";
  EXPECT_EQ(std::accumulate(histogram.bins.begin(), histogram.bins.end(), uint64_t{0}), 6u);
}

TEST_F(ParameterHistograms, TakeValuesThatAreAllTheSameOrNone) {
  const ParameterHistogram same = histogram_of(std::vector<float>{2, 2, 2});
  EXPECT_EQ(same.bins[0], 3u);
  EXPECT_EQ(same.deviation, 0);
  const ParameterHistogram none = histogram_of(std::vector<float>{kNan});
  EXPECT_EQ(none.non_finite, 1u);
  EXPECT_EQ(std::accumulate(none.bins.begin(), none.bins.end(), uint64_t{0}), 0u);
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(histogram_of(std::vector<float>{-most, most}).bins[kHistogramBins - 1], 1u);
}

TEST_F(ParameterHistograms, ComeAPageAtATimeInTheOrderOfTheFile) {
  const ModelFile file = model_of({{1}, {2}, {3}});
  std::vector<double> means;
  uint64_t passed = 0, pages = 0;
  for (std::optional<uint64_t> next = 0; next; ++pages) {
    passed = *next;
    const Result<HistogramPage> page = read_histograms(file, passed, 2);
    ASSERT_OK(page);
    for (const ParameterHistogram& each : page->histograms) means.push_back(each.mean);
    next = page->next;
  }
  EXPECT_THAT(means, ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(pages, 2u);
  const Result<HistogramPage> beyond = read_histograms(file, 9, 2);
  ASSERT_OK(beyond);
  EXPECT_TRUE(beyond->histograms.empty());
  EXPECT_FALSE(beyond->next.has_value());
}

TEST_F(ParameterHistograms, ReadNoMoreThanAPageMayHaveAndSampleWhatIsLarger) {
  const uint64_t most = kHistogramBytesMax / sizeof(float);
  std::vector<float> large(most + 1'000, 1.0f);
  large.front() = -2;
  large.back() = 5;
  const ModelFile file = model_of({{7}, large, std::vector<float>(most, 3.0f)});
  uint64_t at = 0;
  for (const auto& [count, read] : {std::pair<uint64_t, uint64_t>{1, 1}, {large.size(), most}, {most, most}}) {
    bytes_read_ = 0;
    const Result<HistogramPage> page = read_histograms(file, at, 100);
    ASSERT_OK(page);
    ASSERT_EQ(page->histograms.size(), 1u) << at;
    EXPECT_EQ(page->histograms[0].count, count);
    EXPECT_EQ(page->histograms[0].read, read);
    EXPECT_LE(bytes_read_, kHistogramBytesMax);
    if (count > read) {
      EXPECT_EQ(page->histograms[0].min, -2) << "the first is among them";
      EXPECT_EQ(page->histograms[0].max, 5) << "and the last";
    }
    at = page->next.value_or(0);
  }
  EXPECT_EQ(at, 0u);
}

TEST_F(ParameterHistograms, AreToldWithoutARangeWhereNothingIsFinite) {
  const ModelGraph graph{.name = "m", .tensors = {{.name = "w", .role = TensorRole::state, .shape = {1}}}};
  ParameterHistogram nothing = histogram_of(std::vector<float>{kNan});
  const json told = to_json({.histograms = {nothing}, .next = 7}, graph);
  EXPECT_EQ(told["next_after"], 7);
  EXPECT_EQ(told["parameters"][0], (json{{"name", "w"},
                                         {"role", "state"},
                                         {"shape", {1}},
                                         {"frozen", false},
                                         {"values", 1},
                                         {"read", 1},
                                         {"zeros", 0},
                                         {"non_finite", 1}}));
}

TEST_F(ParameterHistograms, SayWhatIsNoModel) {
  const Digest digest = blobs_.put(as_bytes("nothing of the kind, and long enough")).value();
  EXPECT_ERROR(ModelFile::open(blobs_.open(digest).value(), "it"), ErrorCode::malformed, "");
  ModelBuilder build("m", {1}, 1);
  Bytes whole = build.finish(build.dense(build.input(), 1)).value();
  whole.pop_back();
  const Digest cut = blobs_.put(whole).value();
  EXPECT_ERROR(ModelFile::open(blobs_.open(cut).value(), "it"), ErrorCode::data_loss, "it is not a whole model");
}

}  // namespace
}  // namespace coterie
