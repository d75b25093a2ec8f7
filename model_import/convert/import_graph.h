// An imported graph as a model file.
//
// What becomes what:
//   Batch        The first dimension of every input is the batch, whatever the file says about it; the model fits every
//                batch size. A file that was exported for one batch size is read as if it had been exported for all:
//                where a Reshape fixes the batch, the dimension that begins at the same element is taken for it.
//                Exporting with dynamic_axes leaves nothing to guess.
//   Images       A model's images are NHWC. An input of rank 4 that image operators read becomes [height, width,
//                channels], and the property "input_layout" says so: one word an input, in order, separated by commas:
//                "nhwc" or "plain" (absent: all plain). "output_layout" says the same of the output. Everything
//                between is laid out so that elements move only where the graph's order is really needed.
//   Parameters   Trained are: weights and biases of layers, embedding tables, slopes, and initializers of more than one
//                finite element above -1e4 that Add, Sub, Mul, Div, Pow, Min, Max or Where read, unless the input, or
//                arithmetic of it and of constants, is read beside them (that normalises the data), or a formula filled
//                them (computed_table.h). Everything else is constant, with the ones and zeros that a norm without
//                weights has. Patterns overrule all of it; each trained table is told with its reason, as a note where
//                it is no layer's weight. Running statistics are state. Elements are only moved. The two biases of
//                a recurrent layer are two parameters, each trained as PyTorch's is; where the file has a name of its
//                own for them and zeros for the second, as a layer of Keras with one bias becomes, there is one.
//   Names        Parameters keep the initializer's name. Where the exporter made one up (onnx::MatMul_12), they get
//                PyTorch's: the module's path and weight, bias, weight_ih_l0, bias_hh_l1_reverse, ...
//   Output       The model has one: the graph's first, unless another is asked for. What it does not need is left out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/graph/graph.h"

namespace coterie::model_import {

struct ImportOptions {
  std::map<std::string, int64_t> dimensions;  // sizes for named dimensions other than the batch
  std::string output;                         // the model's own; empty: the first
  // Patterns of names: outputs that the model has beside its own (proto/messages/model_outputs.h), in the file's order
  // and under their names, laid out as they are there. One that matches none is invalid_argument.
  std::vector<std::string> further_outputs = {};
  // Patterns of names (base/text/name_pattern.h): tables that are not trained, and operands of arithmetic that
  // are, whatever the rules say. The latter wins. One that matches nothing is invalid_argument.
  std::vector<std::string> constant = {}, trainable = {};
  std::set<std::string> located = {};  // values of the graph whose tensors are told
};

struct ImportedModel {
  Bytes model;
  std::vector<std::string> notes;  // what a person should know: outputs that were left out, what is trained or not, ...
  std::vector<std::string> roles;  // one a table: "fc.weight (3x4) is trained, as the weight: node /fc/Gemm (Gemm) ..."
  std::map<std::string, std::string> tensors = {};  // of values to be located: the names that they have in the model
};

// `graph` is sorted. Errors: malformed, too_large, invalid_argument: unknown operators (all of them, each with its
// nodes and the nearest supported form), dimensions that are not bound (all of them), forms of operators that are not
// supported.
Result<ImportedModel> import_graph(Graph graph, const ImportOptions& options = {});

}  // namespace coterie::model_import
