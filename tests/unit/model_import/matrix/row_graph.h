// The graph of one cell of the operator matrix: one operator behind a trained shift, as an exporter writes it for an
// opset, with constant folding or without.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "model_import/graph/graph.h"

namespace coterie::model_import::matrix {

class RowGraph {
 public:
  RowGraph(int64_t opset, bool is_folded, bool is_training);

  const int64_t opset;
  const bool is_folded, is_training;
  Graph graph;
  std::vector<std::string> weights;  // constants that are to be trained, by the name under which they are stored

  // The batch in front. `limit`: integers below it.
  std::string input(const std::string& name, const Shape& shape);
  std::string index_input(const std::string& name, const Shape& shape, int64_t limit);
  // A trained table. Without folding it is stored turned, and the graph turns it, as PyTorch does.
  std::string weight(const std::string& name, const Shape& shape, double low = -0.6, double high = 0.6);
  // Numbers of a Constant node, which nothing trains.
  std::string table(const Shape& shape, const std::vector<float>& values);
  std::string number(float value) { return table({}, {value}); }
  // A list, which a graph without folding puts together from single numbers.
  std::string list(const std::vector<int64_t>& values);
  // The name of the output; names[1..] are those of further outputs.
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   std::map<std::string, Attribute> attributes = {}, size_t outputs = 1);
  // Reductions, Squeeze, Unsqueeze, Split: the list is an attribute before opset `since`, then an operand.
  std::string node_with_list(const std::string& op, std::vector<std::string> inputs, const std::string& key,
                             const std::vector<int64_t>& values, int64_t since,
                             std::map<std::string, Attribute> attributes = {}, size_t outputs = 1);

  int64_t index_limit(const std::string& input) const;  // 0: it is of floats

 private:
  std::string unique(const std::string& base) { return base + std::to_string(count_++); }
  void add_input(const std::string& name, const Shape& shape, Element element);

  Prng prng_;
  size_t count_ = 0;
  std::map<std::string, int64_t> limits_;
};

}  // namespace coterie::model_import::matrix
