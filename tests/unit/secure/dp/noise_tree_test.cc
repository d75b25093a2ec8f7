#include "secure/dp/noise/noise_tree.h"

#include <gmock/gmock.h>

#include <bit>
#include <set>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NoiseTree, CoversAPrefixWithANodeForEachOneInItsNumber) {
  EXPECT_THAT(nodes_of_prefix(0), IsEmpty());
  EXPECT_THAT(nodes_of_prefix(13), ElementsAre(13, 12, 8));
  for (uint64_t t = 1; t <= 5000; ++t) {
    const std::vector<uint64_t> nodes = nodes_of_prefix(t);
    ASSERT_EQ(nodes.size(), static_cast<size_t>(std::popcount(t)));
    uint64_t covered_to = t;  // each node ends where the next one begins
    for (const uint64_t node : nodes) {
      ASSERT_EQ(node, covered_to);
      ASSERT_TRUE(std::has_single_bit(node - before_node(node)));
      covered_to = before_node(node);
    }
    ASSERT_EQ(covered_to, 0u);
  }
}

// What the server does: adds the node of the round, takes off those that end, and keeps those that it may need.
TEST(NoiseTree, DifferencesOfRoundsAddUpToThePrefixAndNothingElseIsKept) {
  std::set<uint64_t> in_model;
  for (uint64_t t = 1; t <= 5000; ++t) {
    ASSERT_TRUE(in_model.insert(t).second);
    for (const uint64_t node : nodes_ended_by(t)) ASSERT_EQ(in_model.erase(node), 1u) << "is there, once";
    const std::vector<uint64_t> prefix = nodes_of_prefix(t);
    ASSERT_EQ(in_model, std::set<uint64_t>(prefix.begin(), prefix.end()));
    // What the store asks for: all that is kept between the node's begin and its end.
    for (const uint64_t node : in_model) ASSERT_TRUE(node == t || node <= before_node(t));
  }
}

TEST(NoiseTree, NeverNeedsANodeAgainThatHasEnded) {
  std::set<uint64_t> ended;
  for (uint64_t t = 1; t <= 2000; ++t) {
    for (const uint64_t node : nodes_of_prefix(t)) ASSERT_FALSE(ended.contains(node)) << node << " at " << t;
    for (const uint64_t node : nodes_ended_by(t)) ended.insert(node);
  }
}

}  // namespace
}  // namespace coterie
