#include "secure/secagg/graph.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/assert.h"

namespace coterie::secagg {

void Graph::connect(uint32_t a, uint32_t b) {
  neighbours_[a].push_back(b);
  neighbours_[b].push_back(a);
}

// Two that chose each other, and the two sides of a small ring, are connected once.
void Graph::sort() {
  for (std::vector<uint32_t>& list : neighbours_) {
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
  }
}

Graph Graph::complete(uint32_t size) {
  Graph graph(size);
  for (uint32_t a = 0; a < size; ++a) {
    for (uint32_t b = a + 1; b < size; ++b) graph.connect(a, b);
  }
  graph.sort();
  graph.is_complete_ = true;
  graph.everybody_.resize(size);
  std::iota(graph.everybody_.begin(), graph.everybody_.end(), 0u);
  return graph;
}

Graph Graph::ring(std::span<const uint32_t> order, uint32_t degree) {
  const auto size = static_cast<uint32_t>(order.size());
  COT_ASSERT(degree % 2 == 0 && degree >= 2 && degree < size);
  Graph graph(size);
  for (uint32_t place = 0; place < size; ++place) {
    for (uint32_t step = 1; step <= degree / 2; ++step) graph.connect(order[place], order[(place + step) % size]);
  }
  graph.sort();
  return graph;
}

Result<Graph> Graph::drawn(std::span<const std::vector<uint32_t>> chosen) {
  const auto size = static_cast<uint32_t>(chosen.size());
  Graph graph(size);
  for (uint32_t device = 0; device < size; ++device) {
    std::vector<uint32_t> choices = chosen[device];
    std::ranges::sort(choices);
    for (size_t i = 0; i < choices.size(); ++i) {
      if (choices[i] >= size || choices[i] == device || (i > 0 && choices[i] == choices[i - 1])) {
        return Error(ErrorCode::invalid_argument, "device " + std::to_string(device) + " of " + std::to_string(size) +
                                                      " chose " + std::to_string(choices[i]) +
                                                      " as a neighbour, which must be another one, chosen once");
      }
      graph.connect(device, choices[i]);
    }
    graph.chosen_.push_back(std::move(choices));
  }
  graph.sort();
  return graph;
}

bool Graph::are_neighbours(uint32_t a, uint32_t b) const { return std::ranges::binary_search(neighbours_[a], b); }

}  // namespace coterie::secagg
