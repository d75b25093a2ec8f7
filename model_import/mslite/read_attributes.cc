#include <cstring>

#include "model_import/mslite/read_tensors.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

namespace wire = mslite_wire;

using Longs = flatbuffers::Vector<int64_t>;

constexpr int64_t kNumberMax = INT32_MAX;  // as the format's own programs hold them

Result<int64_t> within(int64_t value, int64_t least, const char* what) {
  if (value >= least && value <= kNumberMax) return value;
  return malformed(std::string("its ") + what + " must be at least " + std::to_string(least) + ", is " +
                   std::to_string(value));
}

// The list, of numbers that fit into 32 bits.
Result<std::vector<int64_t>> list_of(const Longs* from, const char* what) {
  std::vector<int64_t> numbers;
  if (size_of(from) > kMsliteListMax) return too_many(what, from->size(), kMsliteListMax);
  for (size_t i = 0; i < size_of(from); ++i) {
    const int64_t number = number_at(*from, i);
    if (number < INT32_MIN || number > INT32_MAX) {
      return malformed(std::string("its ") + what + " holds a number that leaves 32 bits");
    }
    numbers.push_back(number);
  }
  return numbers;
}

// Height and width.
Status set_pair(const Longs* from, const char* what, int64_t least, int64_t& h, int64_t& w) {
  if (size_of(from) < 2) return malformed(std::string("its ") + what + " must be two numbers");
  COT_ASSIGN(h, within(number_at(*from, 0), least, what));
  COT_ASSIGN(w, within(number_at(*from, 1), least, what));
  return {};
}

Status set_fused(int8_t value, MsliteAttributes& a) {
  switch (value) {
    case 0: return {};
    case 1: a.activation = MsliteActivation::relu; return {};
    case 3: a.activation = MsliteActivation::relu6; return {};
    default:
      return mslite_refused("its fused activation is number " + std::to_string(value) +
                            " of the format; RELU and RELU6 are supported there");
  }
}

Status set_activation(const wire::Activation& table, MsliteAttributes& a) {
  a.activation = static_cast<MsliteActivation>(table.kind());
  switch (a.activation) {
    case MsliteActivation::relu:
    case MsliteActivation::sigmoid:
    case MsliteActivation::relu6:
    case MsliteActivation::elu:
    case MsliteActivation::leaky_relu:
    case MsliteActivation::softplus:
    case MsliteActivation::tanh:
    case MsliteActivation::hard_swish:
    case MsliteActivation::hard_sigmoid:
    case MsliteActivation::hard_tanh:
    case MsliteActivation::swish:
    case MsliteActivation::gelu: break;
    default:
      return mslite_refused("activation number " + std::to_string(table.kind()) + " of the format is not supported");
  }
  a.alpha = table.alpha();
  a.least = table.least();
  a.most = table.most();
  a.is_approximate = table.is_approximate();
  return {};
}

// With SAME the file's numbers are of its example, and mean nothing.
Status set_padding(int8_t mode, const Longs* pads, MsliteAttributes& a) {
  if (mode < 0 || mode > 2) {
    return malformed("its padding is number " + std::to_string(mode) + ", known are 0 to 2");
  }
  a.is_same = mode == 1;
  if (a.is_same || size_of(pads) < 4) return {};
  for (size_t i = 0; i < 4; ++i) {
    COT_ASSIGN(a.pads[i], within(number_at(*pads, i), 0, "padding"));
  }
  return {};
}

template <typename Table>
Status set_window(const Table& table, MsliteAttributes& a) {
  COT_TRY(set_fused(table.activation(), a));
  COT_TRY(set_pair(table.strides(), "strides", 1, a.stride_h, a.stride_w));
  COT_TRY(set_pair(table.dilations(), "dilations", 1, a.dilation_h, a.dilation_w));
  COT_TRY(set_padding(table.pad_mode(), table.pads(), a));
  if (table.kernel() != nullptr) COT_TRY(set_pair(table.kernel(), "kernel_size", 1, a.kernel_h, a.kernel_w));
  COT_ASSIGN(a.group, within(table.group(), 0, "group"));
  return {};
}

Status set_transposed(const wire::TransposedConvolution& table, MsliteAttributes& a) {
  COT_TRY(set_window(table, a));
  if (table.output_pads() == nullptr) return {};
  return set_pair(table.output_pads(), "output_paddings", 0, a.output_pad_h, a.output_pad_w);
}

Status set_pool(const wire::Pool& table, MsliteAttributes& a) {
  COT_TRY(set_fused(table.activation(), a));
  a.is_global = table.is_global();
  if (a.is_global) return {};
  COT_TRY(set_pair(table.kernel(), "kernel_size", 1, a.kernel_h, a.kernel_w));
  COT_TRY(set_pair(table.strides(), "strides", 1, a.stride_h, a.stride_w));
  COT_TRY(set_padding(table.pad_mode(), table.pads(), a));
  if (table.round_mode() < 0 || table.round_mode() > 1) {
    return malformed("its rounding is number " + std::to_string(table.round_mode()) + ", known are 0 and 1");
  }
  a.rounds_up = table.round_mode() == 1;
  return {};
}

Status set_padding_mode(const wire::Padding& table, MsliteAttributes& a) {
  if (table.mode() < 0 || table.mode() > 2) {
    return malformed("its mode is number " + std::to_string(table.mode()) + ", known are 0 to 2");
  }
  a.padding = static_cast<MslitePadding>(table.mode());
  a.pad_value = table.value();
  return {};
}

Status set_reduction(const wire::Reduction& table, MsliteAttributes& a) {
  if (table.mode() < 0 || table.mode() > 8) {
    return malformed("its mode is number " + std::to_string(table.mode()) + ", known are 0 to 8");
  }
  if (table.mode() == 7) return mslite_refused("ReduceAll is not supported");
  a.reduction = static_cast<MsliteReduction>(table.mode());
  a.keeps_dimensions = table.keeps_dimensions();
  a.goes_to_end = table.goes_to_end();
  a.factor = table.factor();
  return {};
}

Status set_resize(const wire::Resize& table, MsliteAttributes& a) {
  if (table.method() != 0 && table.method() != 1) {
    return mslite_refused("resizing by method " + std::to_string(table.method()) +
                          " of the format; LINEAR and NEAREST are supported");
  }
  if (table.coordinates() < 0 || table.coordinates() > 2) {
    return malformed("its coordinates are number " + std::to_string(table.coordinates()) + ", known are 0 to 2");
  }
  if (table.keeps_ratio()) return mslite_refused("preserve_aspect_ratio is not supported");
  a.is_nearest = table.method() == 1;
  a.coordinates = static_cast<MsliteCoordinates>(table.coordinates());
  if (a.is_nearest && a.coordinates == MsliteCoordinates::half_pixel) {
    return mslite_refused("NEAREST at half pixels is not supported");
  }
  COT_ASSIGN(a.height, within(table.height(), 0, "new_height"));
  COT_ASSIGN(a.width, within(table.width(), 0, "new_width"));
  return {};
}

Status set_strided_slice(const wire::StridedSlice& table, MsliteAttributes& a) {
  if (table.ellipsis_mask() != 0 || table.new_axis_mask() != 0) {
    return mslite_refused("ellipsis_mask and new_axis_mask are not supported");
  }
  a.begin_mask = static_cast<uint32_t>(table.begin_mask());
  a.end_mask = static_cast<uint32_t>(table.end_mask());
  a.shrink_mask = static_cast<uint32_t>(table.shrink_axis_mask());
  return {};
}

Status set_dense(const wire::Dense& table, MsliteAttributes& a) {
  a.uses_axis = table.uses_axis();
  COT_ASSIGN(a.axis, within(table.axis(), a.uses_axis ? 1 : INT32_MIN, "axis"));
  return set_fused(table.activation(), a);
}

Status set_layer_norm(const wire::LayerNorm& table, MsliteAttributes& a) {
  a.epsilon = table.epsilon();
  COT_ASSIGN(a.axis, within(table.norm_axis(), INT32_MIN, "begin_norm_axis"));
  COT_ASSIGN(a.parameters_axis, within(table.parameters_axis(), INT32_MIN, "begin_params_axis"));
  return {};
}

Status set_split(const wire::Split& table, MsliteAttributes& a) {
  COT_ASSIGN(a.parts, within(table.parts(), 0, "output_num"));
  COT_ASSIGN(a.sizes, list_of(table.sizes(), "size_splits"));
  COT_ASSIGN(a.axis, within(table.axis(), INT32_MIN, "axis"));
  return {};
}

Status set_lstm(const wire::Lstm& table, MsliteAttributes& a) {
  if (table.zoneout_cell() != 0 || table.zoneout_hidden() != 0) return mslite_refused("zoneout is not supported");
  if (table.projection() != 0) return mslite_refused("projections are not supported");
  a.is_bidirectional = table.is_bidirectional();
  return {};
}

// The fused activation of arithmetic, whichever it is.
Status set_arithmetic(const wire::Primitive& wire, MsliteAttributes& a) {
  return set_fused(static_cast<const wire::Fused*>(wire.value())->activation(), a);
}

Status set_one_axis(const wire::Primitive& wire, MsliteAttributes& a) {
  COT_ASSIGN(a.axis, within(static_cast<const wire::OneAxis*>(wire.value())->axis(), INT32_MIN, "axis"));
  return {};
}

Status set_axes(const wire::Primitive& wire, MsliteAttributes& a) {
  COT_ASSIGN(a.axes, list_of(static_cast<const wire::Axes*>(wire.value())->axes(), "axes"));
  return {};
}

Status set_slope(const wire::Primitive& wire, MsliteAttributes& a) {
  a.alpha = static_cast<const wire::Slope*>(wire.value())->alpha();
  return {};
}

}  // namespace

Result<MsliteAttributes> read_mslite_attributes(MsliteOp op, const wire::Primitive& wire) {
  MsliteAttributes a;
  // The union's number is the operator's, so that the table is of the operator's kind.
  if (wire.value() == nullptr) return malformed("it has no attributes");
  Status set;
  switch (op) {
    case MsliteOp::activation: set = set_activation(*wire.value_as_Activation(), a); break;
    case MsliteOp::add:
    case MsliteOp::sub:
    case MsliteOp::mul:
    case MsliteOp::div: set = set_arithmetic(wire, a); break;
    case MsliteOp::average_pool: set = set_pool(*wire.value_as_AvgPool(), a); break;
    case MsliteOp::max_pool: set = set_pool(*wire.value_as_MaxPool(), a); break;
    case MsliteOp::batch_norm: a.epsilon = wire.value_as_BatchNorm()->epsilon(); break;
    case MsliteOp::fused_batch_norm: a.epsilon = wire.value_as_FusedBatchNorm()->epsilon(); break;
    case MsliteOp::clip:
      a.least = wire.value_as_Clip()->least();
      a.most = wire.value_as_Clip()->most();
      break;
    case MsliteOp::concat:
    case MsliteOp::stack:
    case MsliteOp::log_softmax: set = set_one_axis(wire, a); break;
    case MsliteOp::convolution: set = set_window(*wire.value_as_Convolution(), a); break;
    case MsliteOp::transposed_convolution: set = set_transposed(*wire.value_as_TransposedConvolution(), a); break;
    case MsliteOp::elu:
    case MsliteOp::leaky_relu: set = set_slope(wire, a); break;
    case MsliteOp::exponential: {
      const wire::Exponential& table = *wire.value_as_Exponential();
      a.base = table.base(), a.scale = table.scale(), a.shift = table.shift();
      break;
    }
    case MsliteOp::flatten: {
      COT_ASSIGN(a.axis, within(wire.value_as_Flatten()->axis(), 0, "axis"));
      break;
    }
    case MsliteOp::dense: set = set_dense(*wire.value_as_Dense(), a); break;
    case MsliteOp::layer_norm: set = set_layer_norm(*wire.value_as_LayerNorm(), a); break;
    case MsliteOp::lstm: set = set_lstm(*wire.value_as_Lstm(), a); break;
    case MsliteOp::gru: a.is_bidirectional = wire.value_as_Gru()->is_bidirectional(); break;
    case MsliteOp::matmul: {
      const wire::MatMul& table = *wire.value_as_MatMul();
      a.transposes_a = table.transposes_a(), a.transposes_b = table.transposes_b();
      set = set_fused(table.activation(), a);
      break;
    }
    case MsliteOp::pad: set = set_padding_mode(*wire.value_as_Padding(), a); break;
    case MsliteOp::power:
      a.scale = wire.value_as_Power()->scale();
      a.shift = wire.value_as_Power()->shift();
      break;
    case MsliteOp::reduce: set = set_reduction(*wire.value_as_Reduction(), a); break;
    case MsliteOp::resize: set = set_resize(*wire.value_as_Resize(), a); break;
    case MsliteOp::scale: {
      COT_ASSIGN(a.axis, within(wire.value_as_Scale()->axis(), INT32_MIN, "axis"));
      set = set_fused(wire.value_as_Scale()->activation(), a);
      break;
    }
    case MsliteOp::slice:
    case MsliteOp::softmax:
    case MsliteOp::squeeze:
    case MsliteOp::unsqueeze: set = set_axes(wire, a); break;
    case MsliteOp::split: set = set_split(*wire.value_as_Split(), a); break;
    case MsliteOp::strided_slice: set = set_strided_slice(*wire.value_as_StridedSlice(), a); break;
    default: break;  // those whose attributes say nothing
  }
  if (!set) return set.error();
  return a;
}

}  // namespace coterie::model_import
