// A file of weights into a model: which tensor of the file is which of the model, and what is done to its elements.
//
// Rules, in this order; what one has decided is no longer asked of the next:
//   by hand          the caller's renaming rules
//   exact name       the same name
//   normalised name  the same layer and part in the words of PyTorch, MindSpore or Keras (weight_name.h), or one name
//                    ends as the other; one of each
//   fused norm       a convolution or linear layer with a bias, where the file has the layer and behind it a batch norm
//                    of its outputs that the model does not have: w k and bias + (b - mean) k with k = gamma / sqrt(var
//                    + eps)
//   order            what is left, if there are as many on both sides and all of them fit in the order in which they
//                    stand, and parts of one layer stay together; not of safetensors, which have no order
//   only one         the only one of its shape on both sides
// A square weight fits two ways (WeightLayout); how the others of the file lie decides, else its format or its words,
// else it is ambiguous. Nothing is guessed: what is ambiguous, unmatched or unused is a problem, and a model with one
// is not to be written.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "model_import/mapping/fit.h"
#include "model_import/weights/weight_table.h"

namespace coterie::model_import {

// How the rows of a linear layer lie in the file, if it reads an image that the model flattens as [height, width,
// channels]: as of an image with its channels first (PyTorch, MindSpore), as the model has them, or nobody knows: then
// each such layer is ambiguous.
enum class RowOrder : uint8_t { channels_first, as_graph, unknown };

struct MapOptions {
  std::vector<std::pair<std::string, std::string>>
      by_hand;  // tensor of the model, of the file; stars as renamed() has them
  std::vector<std::string> keep,
      ignore;  // patterns (name_pattern.h): the model's that keep theirs, the file's not needed
  WeightLayout layout = WeightLayout::any;  // of square weights; any: it is found out
  RowOrder rows = RowOrder::channels_first;
  double norm_epsilon = 1e-5;  // of fused norms, which no file says
};

struct MappedTensor {
  std::string name;
  Shape shape;
  std::vector<std::string> sources;   // empty: it keeps its own values
  std::string rule, how, confidence;  // "exact name", "transposed", sure|high|medium|given
  double change = 0;                  // largest difference from the value that the model had
};
struct MapProblem {
  std::string name, what;  // of the model or the file; "ambiguous: ...", "unmatched: ...", "unused: ..."
};

struct MapReport {
  std::vector<MappedTensor> tensors;  // in the order of the model
  std::vector<MapProblem> problems;
  std::vector<std::string> notes;  // what was converted, what was left out and does no harm
  std::vector<float> parameters;   // the whole payload, for Model::file_with; of use without problems alone
};

// Errors: those of read_values; invalid_argument: a rule or a pattern that matches nothing.
Result<MapReport> map_weights(const Model& model, const WeightTable& table, const MapOptions& options = {});

}  // namespace coterie::model_import
