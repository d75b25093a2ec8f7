// A watched job with noise of a real server and real devices: each share has its noise, and says how much that is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/integration/demo/demo_process.h"

namespace coterie::integration {
namespace {

using Words = std::vector<std::string>;

class NoisyWatch : public DemoTest {
 protected:
  nlohmann::json watch_of(const std::string& name, const Words& more) {
    Words words = {"demo",
                   "--json",
                   "--quiet",
                   "--devices",
                   "4",
                   "--rounds",
                   "1",
                   "--seed",
                   "5",
                   "--model",
                   "mlp",
                   "--lr",
                   "0.000001",
                   "--fraction",
                   "1",
                   "--out",
                   directory_ / name,
                   "--watch",
                   "weight_change_too_small,dead_relu,every=2"};
    words.insert(words.end(), more.begin(), more.end());
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), 0) << process.errors();
    return nlohmann::json::parse(process.output())["watch"];
  }
};

TEST_F(NoisyWatch, HasTheHitsOfADemoWithoutNoiseAndTheirError) {
  const nlohmann::json exact = watch_of("exact", {"--security", "none"});
  ASSERT_FALSE(exact["hits"].empty()) << "such a rate moves weights by less than 1e-4 of themselves";
  EXPECT_FALSE(exact.contains("error"));
  for (const std::string level : {"none", "active_dp"}) {
    const nlohmann::json noisy = watch_of(level, {"--security", level, "--clip", "1", "--noise-multiplier", "0.3"});
    ASSERT_TRUE(noisy.is_object()) << level;
    const double by_hand = 0.3 * std::sqrt(17) * std::hypot(1, 0.25) / (2 * 0.25 * 4);
    const double error = noisy["error"];
    EXPECT_GT(error, by_hand * 0.99) << level;
    EXPECT_LT(error, by_hand * (level == "none" ? 1.01 : 2)) << level << ": of devices all add theirs";
    EXPECT_NEAR(noisy["looked"], exact["looked"].get<double>(), 6 * error) << level;
    EXPECT_EQ(noisy["hits"].size(), 2 * exact["hits"].size()) << level << ": of both checks, at each layer";
    for (const nlohmann::json& hit : exact["hits"]) {
      const auto same = std::ranges::find_if(noisy["hits"], [&](const nlohmann::json& other) {
        return other["check"] == hit["check"] && other["layer"] == hit["layer"];
      });
      ASSERT_NE(same, noisy["hits"].end()) << hit;
      EXPECT_NEAR((*same)["share"], hit["share"].get<double>(), 6 * error) << level;
      EXPECT_NE((*same)["share"], hit["share"]) << level << ": it has noise";
    }
  }
}

}  // namespace
}  // namespace coterie::integration
