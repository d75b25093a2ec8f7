// What exporters write out in several operators and the importer makes one op of. A row has the name of the operator
// that it becomes.
#include "model_import/graph/fused_ops.h"
#include "tests/unit/model_import/matrix/operator_row.h"

namespace coterie::model_import::matrix {
namespace {

using List = std::vector<int64_t>;

// x / 2 (1 + erf(x / sqrt 2))
std::string gelu(RowGraph& g, const std::string& x) {
  const std::string erf = g.node("Erf", {g.node("Div", {x, g.number(1.41421354f)})});
  const std::string product = g.node("Mul", {x, g.node("Add", {erf, g.number(1)})});
  return g.node("Mul", {product, g.number(0.5f)});
}

// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
std::string gelu_by_tanh(RowGraph& g, const std::string& x) {
  const std::string cube = g.node("Mul", {g.node("Pow", {x, g.number(3)}), g.number(0.044715f)});
  const std::string inner = g.node("Mul", {g.node("Add", {x, cube}), g.number(0.797884583f)});
  const std::string outer = g.node("Add", {g.node("Tanh", {inner}), g.number(1)});
  return g.node("Mul", {g.node("Mul", {x, g.number(0.5f)}), outer});
}

std::string swish(RowGraph& g, const std::string& x) { return g.node("Mul", {x, g.node("Sigmoid", {x})}); }

std::string hard_swish_by_clip(RowGraph& g, const std::string& x) {
  const std::string clipped = g.node("Clip", {g.node("Add", {x, g.number(3)}), g.number(0), g.number(6)});
  return g.node("Div", {g.node("Mul", {x, clipped}), g.number(6)});
}

std::string hard_swish_by_hard_sigmoid(RowGraph& g, const std::string& x) {
  return g.node("Mul", {x, g.node("HardSigmoid", {x}, {{"alpha", 1.0f / 6}})});
}

std::string hard_sigmoid(RowGraph& g, const std::string& x) {
  const std::string clipped = g.node("Clip", {g.node("Add", {x, g.number(3)}), g.number(0), g.number(6)});
  return g.node("Div", {clipped, g.number(6)});
}

std::string mean(RowGraph& g, const std::string& x) { return g.node_with_list("ReduceMean", {x}, "axes", {-1}, 18); }

std::string root_of_mean_square(RowGraph& g, const std::string& x) {
  const std::string square = mean(g, g.node("Pow", {x, g.number(2)}));
  return g.node("Sqrt", {g.node("Add", {square, g.number(1e-3f)})});
}

// x / rms(x) weight; the weight comes after the constants that the pattern looks for.
std::string rms_norm(RowGraph& g, const std::string& x) {
  const std::string normalised = g.node("Div", {x, root_of_mean_square(g, x)});
  return g.node("Mul", {normalised, g.weight("scale", {4}, 0.5, 1.5)});
}

std::string rms_norm_by_reciprocal(RowGraph& g, const std::string& x) {
  const std::string normalised = g.node("Mul", {x, g.node("Reciprocal", {root_of_mean_square(g, x)})});
  return g.node("Mul", {g.weight("scale", {4}, 0.5, 1.5), normalised});
}

// As PyTorch writes it before opset 17.
std::string layer_norm(RowGraph& g, const std::string& x) {
  const std::string centred = g.node("Sub", {x, mean(g, x)});
  const std::string normalised = g.node("Div", {centred, root_of_mean_square(g, centred)});
  const std::string scaled = g.node("Mul", {normalised, g.weight("scale", {4}, 0.5, 1.5)});
  return g.node("Add", {scaled, g.weight("bias", {4})});
}

std::string layer_norm_without_weights(RowGraph& g, const std::string& x) {
  const std::string centred = g.node("Sub", {x, mean(g, x)});
  return g.node("Div", {centred, root_of_mean_square(g, centred)});
}

// The same, scaled along another dimension than the channels, though it has as many elements.
std::string groups_scaled_by_column(RowGraph& g, const std::string& x) {
  const std::string parts = g.node("Reshape", {x, g.list({0, 2, -1})});
  const std::string normalised =
      g.node("InstanceNormalization", {parts, g.table({2}, {1, 1}), g.table({2}, {0, 0})}, {{"epsilon", 1e-3f}});
  const std::string merged = g.node("Reshape", {normalised, g.node("Shape", {x})});
  return g.node("Add", {g.node("Mul", {merged, g.weight("scale", {4}, 0.5, 1.5)}), g.weight("bias", {4})});
}

// As PyTorch writes it: an instance norm of the groups, with ones and zeros.
std::string group_norm(RowGraph& g, const std::string& x) {
  const std::string parts = g.node("Reshape", {x, g.list({0, 2, -1})});
  const std::string normalised =
      g.node("InstanceNormalization", {parts, g.table({2}, {1, 1}), g.table({2}, {0, 0})}, {{"epsilon", 1e-3f}});
  const std::string merged = g.node("Reshape", {normalised, g.node("Shape", {x})});
  const std::string scaled = g.node("Mul", {merged, g.weight("scale", {4, 1, 1}, 0.5, 1.5)});
  return g.node("Add", {scaled, g.weight("bias", {4, 1, 1})});
}

}  // namespace

std::vector<OperatorRow> fused_rows() {
  const Shape kPlain{2, 4};
  std::vector<OperatorRow> rows;
  const auto add = [&](const char* op, const char* form, OpKind kind, const Build& build, const Shape& shape) {
    rows.push_back({.op = op, .form = form, .input = shape, .build = build, .low = -3, .high = 3, .becomes = kind});
  };
  add(kGelu, "erf", OpKind::gelu, gelu, kPlain);
  add(kGelu, "tanh", OpKind::gelu_tanh, gelu_by_tanh, kPlain);
  add(kSwish, "", OpKind::swish, swish, kPlain);
  add("HardSwish", "written as a clip", OpKind::hard_swish, hard_swish_by_clip, kPlain);
  add("HardSwish", "written as a product", OpKind::hard_swish, hard_swish_by_hard_sigmoid, kPlain);
  add("HardSigmoid", "written as a clip", OpKind::hard_sigmoid, hard_sigmoid, kPlain);
  // The patterns look for weights and axes as they are stored: where they are computed, the norm stays written out.
  for (OperatorRow row :
       {OperatorRow{.op = kRmsNorm, .form = "Div", .input = kPlain, .build = rms_norm},
        OperatorRow{.op = kRmsNorm, .form = "Reciprocal", .input = kPlain, .build = rms_norm_by_reciprocal},
        OperatorRow{.op = "LayerNormalization",
        .form = "written out, no weights",
        .input = kPlain,
        .build = layer_norm_without_weights},
        OperatorRow{.op = "LayerNormalization", .form = "written out", .input = kPlain, .build = layer_norm},
        OperatorRow{.op = kGroupNorm, .form = "", .input = {4, 3, 2}, .build = group_norm}}) {
    row.becomes = row.op == kRmsNorm     ? OpKind::rms_norm
                  : row.op == kGroupNorm ? OpKind::group_norm
                                         : OpKind::layer_norm;
    row.becomes_only_folded = true;
    rows.push_back(std::move(row));
  }
  rows.push_back({"InstanceNormalization", "of groups, scaled by column", {4, 4}, groups_scaled_by_column});
  rows.push_back({"InstanceNormalization", "of groups of vectors", {4}, groups_scaled_by_column});
  return rows;
}

}  // namespace coterie::model_import::matrix
