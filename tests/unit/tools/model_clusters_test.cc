#include "tools/cli/model_clusters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/os/file.h"
#include "proto/messages/model_clusters.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

using test::load_or_die;

class ModelClusters : public testing::Test {
 protected:
  std::string put(const std::string& name, const Bytes& file) {
    EXPECT_OK(os::write_file_atomically(directory_ / name, file));
    return directory_ / name;
  }
  Model read(const std::string& name) { return load_or_die(*os::read_file(directory_ / name, 1 << 26)); }
  static Bytes net(uint64_t seed) { return *make_model(ModelKind::mlp, {4, 4, 1}, 3, seed); }
  ExitCode run(ModelClustersOptions options) {
    options.to = directory_ / "out";
    return write_clusters(options);
  }
  test::TemporaryDirectory directory_;
};

TEST_F(ModelClusters, MakesOthersOfOneAndTakesThemOut) {
  const std::string from = put("net", net(1));
  ASSERT_EQ(run({.from = {from}, .count = 3, .seed = 7}), ExitCode::ok);
  const Model stacked = read("out");
  EXPECT_EQ(cluster_count(stacked.graph()), 3u);
  const Bytes whole(stacked.file().begin(), stacked.file().end());
  const std::string three = put("three", whole);
  const Model one = load_or_die(net(1));
  std::vector<std::vector<float>> seen;
  for (uint32_t take = 1; take <= 3; ++take) {
    ASSERT_EQ(run({.from = {three}, .take = take}), ExitCode::ok);
    const Model own = read("out");
    EXPECT_EQ(own.graph(), one.graph());
    const std::vector<float> values(own.parameters().begin(),
                                    own.parameters().begin() + static_cast<ptrdiff_t>(one.value_count()));
    if (take == 1) EXPECT_TRUE(std::ranges::equal(values, one.parameters())) << "the first is the given one";
    for (const std::vector<float>& other : seen) EXPECT_NE(other, values);
    seen.push_back(values);
    // As large as the given one's, tensor by tensor.
    for (const ValueRange& range : parameter_values(one.graph())) {
      double given = 0, found = 0;
      for (uint64_t i = range.first; i < range.first + range.count; ++i) {
        given += std::pow(static_cast<double>(one.parameters()[i]), 2);
        found += std::pow(static_cast<double>(values[i]), 2);
      }
      EXPECT_NEAR(found, given, 0.6 * given);
    }
  }
  ASSERT_EQ(run({.from = {from}, .count = 3, .seed = 7}), ExitCode::ok);
  EXPECT_EQ(read("out").digest(), stacked.digest()) << "the same seed, the same bytes";
  ASSERT_EQ(run({.from = {from}, .count = 3, .seed = 8}), ExitCode::ok);
  EXPECT_NE(read("out").digest(), stacked.digest());
}

TEST_F(ModelClusters, PutsGivenOnesTogether) {
  const std::string a = put("a", net(1)), b = put("b", net(2));
  ASSERT_EQ(run({.from = {a, b}}), ExitCode::ok);
  const std::string both = put("both", *os::read_file(directory_ / "out", 1 << 26));
  for (const uint32_t take : {1u, 2u}) {
    ASSERT_EQ(run({.from = {both}, .take = take}), ExitCode::ok);
    const Model wanted = load_or_die(net(take)), own = read("out");
    EXPECT_TRUE(std::equal(wanted.parameters().begin(), wanted.parameters().end(), own.parameters().begin()));
  }
}

TEST_F(ModelClusters, RefusesWhatIsNoneOfBoth) {
  const std::string a = put("a", net(1)), b = put("b", net(2));
  const std::string other = put("other", *make_model(ModelKind::mlp, {4, 4, 1}, 5, 1));
  ASSERT_EQ(run({.from = {a, b}}), ExitCode::ok);
  const std::string both = put("both", *os::read_file(directory_ / "out", 1 << 26));
  for (const ModelClustersOptions& options :
       {ModelClustersOptions{.from = {a}}, ModelClustersOptions{.from = {a, b}, .count = 2},
        ModelClustersOptions{.from = {a, other}}, ModelClustersOptions{.from = {both}, .take = 3},
        ModelClustersOptions{.from = {a}, .take = 1}, ModelClustersOptions{.from = {both}, .count = 2},
        ModelClustersOptions{.from = {both, a}}, ModelClustersOptions{.from = {a}, .count = 2, .spread = -1}}) {
    EXPECT_NE(run(options), ExitCode::ok) << options.from.size() << " " << options.count << " " << options.take;
  }
}

}  // namespace
}  // namespace coterie
