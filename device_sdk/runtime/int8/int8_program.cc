#include "device_sdk/runtime/int8/int8_program.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

namespace coterie {
namespace {

using kernels::Conv2dShape;
using kernels::DenseShape;
using kernels::Pool2dShape;
using kernels::int8::Grid;
using kernels::int8::Target;

constexpr double kBiasMax = 1 << 30;

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, what); }

bool is_normal(float value) { return std::isnormal(value) && value > 0; }

// Elements of one example.
uint64_t elements_of(const Shape& whole) { return elements(whole, 1, whole.size()); }

class Filling {
 public:
  Filling(const Model& model, const std::vector<Int8Weights>& weights, const std::vector<TensorGrid>& grids)
      : model_(model), weights_(weights), grids_(grids), value_(model.graph().tensors.size(), kNoTensor) {}

  Result<Int8Program> fill() {
    COT_ASSIGN(const Int8Layers layers, int8_layers(model_));
    COT_TRY(check_grids(int8_grid_tensors(layers)));
    program_.name = model_.graph().name;
    program_.input_shape = model_.input_shape();
    program_.output_shape = model_.output_shape();
    program_.has_softmax = layers.has_softmax;
    add_value(layers.input, grid_of(layers.input));
    for (const Int8Layer& layer : layers.layers) COT_TRY(add(layer));
    if (used_.size() != weights_.size()) return malformed("the model has int8 weights that no layer multiplies with");
    program_.output = value_[layers.output];
    return std::move(program_);
  }

 private:
  const std::string& tensor_name(uint32_t tensor) const { return model_.graph().tensors[tensor].name; }

  Status check_grids(const std::vector<uint32_t>& needed) const {
    std::vector<uint32_t> given;
    for (const TensorGrid& grid : grids_) given.push_back(grid.tensor);
    const auto other = std::ranges::mismatch(needed, given);
    if (other.in1 == needed.end() && other.in2 == given.end()) return {};
    const bool is_missing = other.in2 == given.end() || (other.in1 != needed.end() && *other.in1 < *other.in2);
    return malformed("tensor " + tensor_name(is_missing ? *other.in1 : *other.in2) +
                     (is_missing ? " has no grid, and is computed as int8" : " has a grid that nothing needs"));
  }

  Grid grid_of(uint32_t tensor) const {
    const TensorGrid& found = *std::ranges::find(grids_, tensor, &TensorGrid::tensor);
    return {found.scale, found.zero};
  }

  void add_value(uint32_t tensor, const Grid& grid) {
    value_[tensor] = static_cast<uint32_t>(program_.values.size());
    program_.values.push_back({elements_of(model_.shape(tensor)), grid});
  }

  const Grid& grid_in(const Int8Step& step, size_t input = 0) const { return program_.values[step.inputs[input]].grid; }

  Status add(const Int8Layer& layer) {
    Int8Step step{.kind = layer.kind, .name = layer.name, .inputs = {}, .shape = layer.shape};
    for (const uint32_t input : layer.inputs) step.inputs.push_back(value_[input]);
    const Grid grid = layer.keeps_grid() ? grid_in(step) : grid_of(layer.output);
    step.to = target_of(layer, grid);
    if (layer.kind == Int8Kind::clamp) COT_TRY(check_bounds(layer, grid));
    if (layer.is_weighted()) COT_TRY(add_weights(layer, grid, step));
    if (layer.kind == Int8Kind::average_pool2d) {
      const auto& shape = std::get<Pool2dShape>(step.shape);
      if (shape.kernel_h * shape.kernel_w > kernels::int8::kAveragePixelsMax) {
        return malformed("op " + layer.name + " has a window of more than " +
                         std::to_string(kernels::int8::kAveragePixelsMax) + " pixels");
      }
    }
    if (layer.kind == Int8Kind::average_pool2d || layer.kind == Int8Kind::add) {
      // Normal numbers: so say the bounds of a grid's scale.
      for (size_t i = 0; i < step.inputs.size(); ++i) step.multipliers.push_back(grid_in(step, i).scale / grid.scale);
    }
    add_value(layer.output, grid);
    step.output = value_[layer.output];
    program_.steps.push_back(std::move(step));
    return {};
  }

  // The bounds of a ReLU or clip on the grid; without any they are those of int8.
  static Target target_of(const Int8Layer& layer, const Grid& grid) {
    const Target whole{.zero = grid.zero};
    return {.zero = grid.zero,
            .low = kernels::int8::rounded(layer.low / grid.scale, whole),
            .high = kernels::int8::rounded(layer.high / grid.scale, whole)};
  }

  // A clip that stands alone answers on the grid of what it reads: its bounds must not lie beyond that.
  static Status check_bounds(const Int8Layer& layer, const Grid& grid) {
    const float smallest = grid.scale * static_cast<float>(-128 - grid.zero),
                largest = grid.scale * static_cast<float>(127 - grid.zero);
    if (layer.low <= largest && layer.high >= smallest) return {};
    return malformed("op " + layer.name + " bounds its input to values that the input never has");
  }

  Status add_weights(const Int8Layer& layer, const Grid& to, Int8Step& step) {
    const Shape& shape = model_.graph().tensors[layer.weight].shape;
    const auto found =
        std::ranges::find(weights_, layer.weight, [](const Int8Weights& each) { return each.form.tensor; });
    if (found == weights_.end() || found->form.axis + 1 != shape.size()) {
      return malformed("tensor " + tensor_name(layer.weight) + " is not stored as int8 by its last dimension");
    }
    if (!used_.insert(layer.weight).second) {
      return malformed("tensor " + tensor_name(layer.weight) + " is the weight of two layers; give each its own");
    }
    const Grid& from = grid_in(step);
    const auto outputs = static_cast<size_t>(shape.back());
    step.weights = found->values;
    for (size_t o = 0; o < outputs; ++o) {
      const float scale = from.scale * found->form.scales[o];
      const float multiplier = scale / to.scale;
      if (!is_normal(scale) || !is_normal(multiplier)) {
        return malformed("op " + layer.name + " has a scale whose product with that of its input is no normal number");
      }
      step.multipliers.push_back(multiplier);
      COT_ASSIGN(const int32_t bias, bias_of(layer, o, scale));
      step.bias.push_back(bias);
    }
    return check_sums(layer, from.zero, step);
  }

  Result<int32_t> bias_of(const Int8Layer& layer, size_t output, float scale) const {
    if (layer.bias == kNoTensor) return 0;
    const TensorInfo& tensor = model_.graph().tensors[layer.bias];
    const float exact = model_.parameters()[tensor.payload_offset / sizeof(float) + output] / scale;
    if (!(std::fabs(static_cast<double>(exact)) <= kBiasMax)) {
      return malformed("tensor " + tensor.name + " has a bias that is too large for the scales of op " + layer.name);
    }
    return static_cast<int32_t>(std::nearbyint(exact));
  }

  // |bias| + sum of |w| times the largest |x - zero| is the most that any sum comes to, in any order.
  static Status check_sums(const Int8Layer& layer, int8_t zero, const Int8Step& step) {
    const int64_t largest = std::max(127 - zero, zero + 128);
    std::vector<int64_t> most(step.bias.size());
    for (size_t o = 0; o < most.size(); ++o) most[o] = std::abs(static_cast<int64_t>(step.bias[o]));
    for (size_t i = 0; i < step.weights.size(); ++i) most[i % most.size()] += largest * std::abs(step.weights[i]);
    if (*std::ranges::max_element(most) <= std::numeric_limits<int32_t>::max()) return {};
    return malformed("op " + layer.name + " has sums that could leave 32 bits: it reads too many inputs");
  }

  const Model& model_;
  const std::vector<Int8Weights>& weights_;
  const std::vector<TensorGrid>& grids_;
  std::vector<uint32_t> value_;  // of each tensor
  std::set<uint32_t> used_;
  Int8Program program_;
};

}  // namespace

Result<Int8Program> make_int8_program(const Model& model, const std::vector<Int8Weights>& weights,
                                      const std::vector<TensorGrid>& grids) {
  return Filling(model, weights, grids).fill();
}

}  // namespace coterie
