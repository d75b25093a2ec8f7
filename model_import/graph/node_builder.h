// NodeBuilder: a graph that grows node by node, of an importer whose format is not ONNX. Its constants and values have
// names that are none of the file's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model_import/graph/graph.h"

namespace coterie::model_import {

class NodeBuilder {
 public:
  // A node with one output; an empty `to` makes up a name. The value's name.
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   std::map<std::string, Attribute> attributes = {}, const std::string& to = {});
  // A node with so many outputs: their names.
  std::vector<std::string> node_with_outputs(size_t count, const std::string& op, std::vector<std::string> inputs,
                                             std::map<std::string, Attribute> attributes);
  // Constants that are no parameters.
  std::string constant(HostTensor tensor);
  std::string constant(std::vector<int64_t> values);  // of rank 1
  std::string real(float value);                      // of rank 0

  std::string nchw(const std::string& value);
  std::string nhwc(const std::string& value);
  std::string clipped(const std::string& value, float least, float most);

 protected:
  // A name of the file's: none that is made up is the same.
  void keep_name(const std::string& name) { names_.insert(name); }
  bool is_kept(const std::string& name) const { return names_.contains(name); }
  // What nodes are called after from now on.
  void set_base_name(std::string name) { base_name_ = std::move(name); }
  const std::string& base_name() const { return base_name_; }
  std::string own_name(const std::string& wanted);
  // `wanted`, a name of the file's, or one after it where a constant has that already: a table that two nodes read may
  // be two constants.
  std::string constant_name(const std::string& wanted);

  Graph graph_;

 private:
  std::set<std::string> names_;
  std::string base_name_;
  size_t made_ = 0;
};

}  // namespace coterie::model_import
