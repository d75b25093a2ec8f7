// Graph: who masks with whom. A device's neighbours are those it agrees on mask seeds with; its holders keep the shares
// of its secrets.
//
// Devices are numbered from 0 in their roster's order. Both lists ascend; a holder's place in its list, from 1 on, is
// the x of its share. In a complete graph a device holds a share of its own secrets, in others it does not: with a
// share of its own seed in play, k + corrupt < 2 t (graph_parameters.h) would leave room for t shares of each kind. In
// a drawn graph a device's holders are those it chose itself: corrupt devices that all choose it become its neighbours,
// and hold nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/secagg/graph_parameters.h"

namespace coterie::secagg {

class Graph {
 public:
  // size as complete_graph() takes it.
  static Graph complete(uint32_t size);
  // A Harary graph: around a ring in this order, a permutation of all devices drawn at random, each with the degree / 2
  // before and after it. degree is even, at least 2 and below the size. It holds against a curious server alone: one
  // that picks who vanishes cuts the ring in two places.
  static Graph ring(std::span<const uint32_t> order, uint32_t degree);
  // Each device has drawn others, its holders: its neighbours are those it chose and those who chose it. chosen[i] are
  // device i's. invalid_argument: one that is not in the graph, itself, or the same twice.
  static Result<Graph> drawn(std::span<const std::vector<uint32_t>> chosen);

  uint32_t size() const { return static_cast<uint32_t>(neighbours_.size()); }
  std::span<const uint32_t> neighbours(uint32_t device) const { return neighbours_[device]; }
  std::span<const uint32_t> holders(uint32_t device) const {
    if (is_complete_) return everybody_;
    return chosen_.empty() ? neighbours(device) : std::span<const uint32_t>(chosen_[device]);
  }
  bool are_neighbours(uint32_t a, uint32_t b) const;

 private:
  explicit Graph(uint32_t size) : neighbours_(size) {}
  void connect(uint32_t a, uint32_t b);
  void sort();

  std::vector<std::vector<uint32_t>> neighbours_;
  std::vector<std::vector<uint32_t>> chosen_;  // of a drawn graph
  std::vector<uint32_t> everybody_;
  bool is_complete_ = false;
};

}  // namespace coterie::secagg
