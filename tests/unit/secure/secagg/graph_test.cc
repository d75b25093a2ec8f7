// Who is whose neighbour, in each kind of graph.
#include "secure/secagg/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie::secagg {
namespace {

std::vector<uint32_t> list(std::span<const uint32_t> devices) { return {devices.begin(), devices.end()}; }

// Neighbours ascend, are others, and are each other's.
void expect_is_graph(const Graph& graph) {
  for (uint32_t a = 0; a < graph.size(); ++a) {
    const std::span<const uint32_t> neighbours = graph.neighbours(a);
    EXPECT_TRUE(std::ranges::is_sorted(neighbours, std::ranges::less_equal())) << a;
    for (const uint32_t b : neighbours) {
      EXPECT_NE(a, b);
      EXPECT_TRUE(graph.are_neighbours(b, a)) << a << " " << b;
    }
  }
}

std::vector<uint32_t> shuffled(uint32_t size, uint64_t seed) {
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  Prng prng(seed);
  for (uint32_t i = size; i > 1; --i) std::swap(order[i - 1], order[prng.below(i)]);
  return order;
}

TEST(Graph, CompleteHasEverybodyHoldEveryShare) {
  for (const uint32_t size : {2u, 3u, 10u, 255u}) {
    const Graph graph = Graph::complete(size);
    expect_is_graph(graph);
    for (uint32_t device = 0; device < size; ++device) {
      EXPECT_EQ(graph.neighbours(device).size(), size - 1);
      EXPECT_EQ(graph.holders(device).size(), size);
      EXPECT_EQ(graph.holders(device)[device], device);
    }
  }
}

TEST(Graph, RingHasThoseBeforeAndAfter) {
  const uint32_t order[] = {3, 0, 4, 1, 5, 2, 6};
  const Graph graph = Graph::ring(order, 4);
  expect_is_graph(graph);
  EXPECT_EQ(list(graph.neighbours(1)), (std::vector<uint32_t>{0, 2, 4, 5}));
  EXPECT_EQ(list(graph.neighbours(3)), (std::vector<uint32_t>{0, 2, 4, 6}));
  EXPECT_EQ(list(graph.holders(3)), list(graph.neighbours(3)));
  EXPECT_FALSE(graph.are_neighbours(3, 1));
}

TEST(Graph, RingHasItsDegree) {
  for (const uint32_t size : {5u, 100u, 1000u}) {
    for (uint32_t degree = 2; degree < std::min(size, 90u); degree += 22) {
      const Graph graph = Graph::ring(shuffled(size, degree), degree);
      expect_is_graph(graph);
      for (uint32_t device = 0; device < size; ++device) ASSERT_EQ(graph.neighbours(device).size(), degree);
    }
  }
}

TEST(Graph, DrawnConnectsBothWays) {
  const std::vector<uint32_t> chosen[] = {{3, 1}, {0, 2}, {}, {1}};
  const Result<Graph> graph = Graph::drawn(chosen);
  ASSERT_OK(graph);
  expect_is_graph(*graph);
  EXPECT_EQ(list(graph->neighbours(0)), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(list(graph->neighbours(1)), (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(list(graph->neighbours(2)), (std::vector<uint32_t>{1}));
  EXPECT_EQ(list(graph->holders(0)), (std::vector<uint32_t>{1, 3}));  // its own choice, in order
  EXPECT_EQ(list(graph->holders(1)), (std::vector<uint32_t>{0, 2}));  // not 3, which chose it
  EXPECT_TRUE(graph->holders(2).empty());
}

TEST(Graph, DrawnRefusesWhatIsNoChoice) {
  for (const std::vector<uint32_t>& bad : {std::vector<uint32_t>{2}, {0}, {1, 1}, {~0u}}) {
    const std::vector<uint32_t> chosen[] = {bad, {}};
    const Result<Graph> graph = Graph::drawn(chosen);
    ASSERT_FALSE(graph.has_value());
    EXPECT_EQ(graph.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(graph.error().message().find("device 0 of 2 chose " + std::to_string(bad[0])), std::string::npos);
  }
}

}  // namespace
}  // namespace coterie::secagg
