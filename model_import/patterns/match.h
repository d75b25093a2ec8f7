// Looking at a graph from a node backwards.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model_import/graph/graph.h"

namespace coterie::model_import {

class Matcher {
 public:
  explicit Matcher(Graph& graph) : graph_(graph) { index(); }

  // The node that writes the value, if it is of this kind.
  Node* writer(const std::string& value, std::string_view op);
  // The only node that reads the value, if there is one, of this kind, and the value is no output of the
  // graph.
  Node* only_reader(const std::string& value, std::string_view op);
  // The one element of a constant.
  std::optional<float> scalar(const std::string& value) const;
  bool is_scalar(const std::string& value, float number, float tolerance = 1e-3f) const;
  // A constant of floats with more than one element.
  const HostTensor* table(const std::string& value) const;
  // The first axis of a ReduceMean over the last ones, counted from the end; 0: it is over others, or drops
  // them.
  int64_t last_axes(const Node& mean) const;
  // The operand of a node of two that is not `value`; empty: `value` is none of them.
  std::string other(const Node& node, const std::string& value) const;
  // The operand beside a constant of about this number.
  std::optional<std::string> beside_scalar(const Node& node, float number) const;

 private:
  void index();

  Graph& graph_;
  std::map<std::string, size_t> writers_;
  std::map<std::string, std::vector<size_t>> readers_;
};

// Each gives whether it rewrote the node or one that follows it.
bool fuse_product(Matcher& match, Node& node);  // GELU, swish, hard-swish, hard-sigmoid
bool fuse_norm(Matcher& match, Node& node);     // layer norm, RMS norm
bool fuse_group_norm(Matcher& match, Node& node);
bool fuse_bias(Matcher& match, Node& node);

}  // namespace coterie::model_import
