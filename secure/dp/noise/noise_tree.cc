#include "secure/dp/noise/noise_tree.h"

namespace coterie {

std::vector<uint64_t> nodes_of_prefix(uint64_t t) {
  std::vector<uint64_t> nodes;
  for (; t > 0; t = before_node(t)) nodes.push_back(t);
  return nodes;
}

std::vector<uint64_t> nodes_ended_by(uint64_t t) {
  std::vector<uint64_t> nodes;
  for (uint64_t node = t - 1; node > before_node(t); node = before_node(node)) nodes.push_back(node);
  return nodes;
}

}  // namespace coterie
