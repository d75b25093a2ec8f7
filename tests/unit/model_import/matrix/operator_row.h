// A row of the operator matrix, and the families of rows.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "model_import/onnx/read_onnx.h"
#include "proto/messages/model.h"
#include "tests/unit/model_import/matrix/row_graph.h"

namespace coterie::model_import::matrix {

// Adds the operator's nodes; `x` is the input, shifted by a trained table. Returns the name of the result, of floats.
using Build = std::function<std::string(RowGraph&, const std::string& x)>;

struct OperatorRow {
  std::string op;
  std::string form;  // which of its forms
  Shape input;       // without the batch
  Build build;
  int64_t first = kOpsetMin, last = kOpsetMax;  // opsets that have the form
  double low = -1, high = 1;                    // of the input
  // What the operator computes while it trains, where that is not what it computes afterwards: batch norm's statistics
  // of the batch. None: the same.
  Build training = {};
  // What the model must hold for it, where several operators become one op; of graphs with constant folding alone: what
  // patterns look for is computed in the others.
  std::optional<OpKind> becomes = std::nullopt;
  bool becomes_only_folded = false;
};

// A form that is refused. The message names the node and says `why`.
struct RefusedRow {
  std::string op;
  std::string form;
  Shape input;
  Build build;
  std::string why;
  int64_t first = kOpsetMin, last = kOpsetMax;
};

std::vector<OperatorRow> elementwise_rows();
std::vector<OperatorRow> arithmetic_rows();
std::vector<OperatorRow> layer_rows();
std::vector<OperatorRow> movement_rows();
std::vector<OperatorRow> known_value_rows();  // operators that are computed while the model is converted
std::vector<OperatorRow> fused_rows();        // operators that patterns become
std::vector<OperatorRow> all_rows();
std::vector<RefusedRow> refused_rows();

}  // namespace coterie::model_import::matrix
