#include "model_import/tflite/read_options.h"

#include "proto/codec/limits.h"
#include "proto/generated/tflite_generated.h"

namespace coterie::model_import {
namespace {

namespace wire = tflite_wire;

Status set_activation(int8_t value, TfliteOptions& options) {
  if (value < 0 || value > 5) {
    return Error(ErrorCode::malformed, "its activation is number " + std::to_string(value) + ", known are 0 to 5");
  }
  if (value == 5) return Error(ErrorCode::invalid_argument, "its activation is SIGN_BIT, which is not supported");
  options.activation = static_cast<TfliteActivation>(value);
  return {};
}

Status set_padding(int8_t value, TfliteOptions& options) {
  if (value < 0 || value > 1) {
    return Error(ErrorCode::malformed, "its padding is number " + std::to_string(value) + ", known are 0 and 1");
  }
  options.is_same = value == 0;
  return {};
}

Result<int64_t> at_least_one(int32_t value, const char* what) {
  if (value >= 1) return int64_t{value};
  return Error(ErrorCode::malformed, std::string("its ") + what + " must be at least 1, is " + std::to_string(value));
}

template <typename Table>
Status set_window(const Table& table, TfliteOptions& options) {
  COT_TRY(set_padding(table.padding(), options));
  COT_TRY(set_activation(table.activation(), options));
  COT_ASSIGN(options.stride_h, at_least_one(table.stride_h(), "stride_h"));
  COT_ASSIGN(options.stride_w, at_least_one(table.stride_w(), "stride_w"));
  return {};
}

template <typename Table>
Status set_dilation(const Table& table, TfliteOptions& options) {
  COT_ASSIGN(options.dilation_h, at_least_one(table.dilation_h(), "dilation_h_factor"));
  COT_ASSIGN(options.dilation_w, at_least_one(table.dilation_w(), "dilation_w_factor"));
  return {};
}

Status set_dimensions(const flatbuffers::Vector<int32_t>* values, TfliteOptions& options) {
  if (values == nullptr) return {};
  if (values->size() > limits::kModelRankMax) return Error(ErrorCode::too_large, "it has more than 8 dimensions");
  options.dimensions.assign(values->begin(), values->end());
  return {};
}

Status set_strided_slice(const wire::StridedSlice& table, TfliteOptions& options) {
  if (table.ellipsis_mask() != 0 || table.new_axis_mask() != 0) {
    return Error(ErrorCode::invalid_argument, "ellipsis_mask and new_axis_mask are not supported");
  }
  options.begin_mask = static_cast<uint32_t>(table.begin_mask());
  options.end_mask = static_cast<uint32_t>(table.end_mask());
  options.shrink_mask = static_cast<uint32_t>(table.shrink_axis_mask());
  options.end_is_offset = table.offset();
  return {};
}

Status set_pool(const wire::Pool2D& table, TfliteOptions& options) {
  COT_TRY(set_window(table, options));
  COT_ASSIGN(options.filter_h, at_least_one(table.filter_height(), "filter_height"));
  COT_ASSIGN(options.filter_w, at_least_one(table.filter_width(), "filter_width"));
  return {};
}

Status set_dense(const wire::FullyConnected& table, TfliteOptions& options) {
  if (table.weights_format() != 0) {
    return Error(ErrorCode::invalid_argument, "its weights are shuffled: convert the model with plain weights");
  }
  options.keeps_dimensions = table.keep_num_dims();
  return set_activation(table.activation(), options);
}

Status set_lstm(const wire::SequenceLstm& table, TfliteOptions& options) {
  if (table.cell_clip() != 0 || table.proj_clip() != 0) {
    return Error(ErrorCode::invalid_argument, "clipped cells are not supported");
  }
  options.is_time_major = table.time_major();
  return set_activation(table.activation(), options);
}

}  // namespace

Result<TfliteOptions> read_options(TfliteOp op, const wire::Operator& wire) {
  TfliteOptions o;
  const auto wrong = [] { return Error(ErrorCode::malformed, "its options are those of another operator"); };
  const wire::Options kind = wire.builtin_options_type();
  const bool is_absent = wire.builtin_options() == nullptr;
  // Without these it has no sense.
  const bool is_needed = op == TfliteOp::conv_2d || op == TfliteOp::depthwise_conv_2d ||
                         op == TfliteOp::transpose_conv || op == TfliteOp::average_pool_2d ||
                         op == TfliteOp::max_pool_2d || op == TfliteOp::split || op == TfliteOp::leaky_relu;
  if (is_absent && is_needed) return Error(ErrorCode::malformed, "it has no options");
  if (is_absent) return o;
  switch (op) {
    case TfliteOp::conv_2d: {
      const auto* table = wire.builtin_options_as_Conv2D();
      if (table == nullptr) return wrong();
      COT_TRY(set_window(*table, o));
      COT_TRY(set_dilation(*table, o));
      return o;
    }
    case TfliteOp::depthwise_conv_2d: {
      const auto* table = wire.builtin_options_as_DepthwiseConv2D();
      if (table == nullptr) return wrong();
      COT_TRY(set_window(*table, o));
      COT_TRY(set_dilation(*table, o));
      return o;
    }
    case TfliteOp::transpose_conv: {
      const auto* table = wire.builtin_options_as_TransposeConv();
      if (table == nullptr) return wrong();
      COT_TRY(set_window(*table, o));
      return o;
    }
    case TfliteOp::average_pool_2d:
    case TfliteOp::max_pool_2d: {
      const auto* table = wire.builtin_options_as_Pool2D();
      if (table == nullptr) return wrong();
      COT_TRY(set_pool(*table, o));
      return o;
    }
    case TfliteOp::fully_connected: {
      const auto* table = wire.builtin_options_as_FullyConnected();
      if (table == nullptr) return wrong();
      COT_TRY(set_dense(*table, o));
      return o;
    }
    case TfliteOp::unidirectional_sequence_lstm: {
      const auto* table = wire.builtin_options_as_SequenceLstm();
      if (table == nullptr) return wrong();
      COT_TRY(set_lstm(*table, o));
      return o;
    }
    case TfliteOp::strided_slice: {
      const auto* table = wire.builtin_options_as_StridedSlice();
      if (table == nullptr) return wrong();
      COT_TRY(set_strided_slice(*table, o));
      return o;
    }
    case TfliteOp::add:
    case TfliteOp::sub:
    case TfliteOp::mul: {
      const wire::Options own = op == TfliteOp::add   ? wire::Options::Add
                                : op == TfliteOp::sub ? wire::Options::Sub
                                                      : wire::Options::Mul;
      if (kind != own) return wrong();
      COT_TRY(set_activation(static_cast<const wire::Arithmetic*>(wire.builtin_options())->activation(), o));
      return o;
    }
    case TfliteOp::concatenation: {
      const auto* table = wire.builtin_options_as_Concatenation();
      if (table == nullptr) return wrong();
      o.axis = table->axis();
      COT_TRY(set_activation(table->activation(), o));
      return o;
    }
    case TfliteOp::reshape:
    case TfliteOp::squeeze: {
      const auto* shape = wire.builtin_options_as_Reshape();
      const auto* squeeze = wire.builtin_options_as_Squeeze();
      if (op == TfliteOp::reshape ? shape == nullptr : squeeze == nullptr) return wrong();
      COT_TRY(set_dimensions(op == TfliteOp::reshape ? shape->new_shape() : squeeze->squeeze_dims(), o));
      return o;
    }
    case TfliteOp::split: {
      const auto* table = wire.builtin_options_as_Split();
      if (table == nullptr) return wrong();
      COT_ASSIGN(o.parts, at_least_one(table->num_splits(), "num_splits"));
      return o;
    }
    case TfliteOp::resize_bilinear: {
      const auto* table = wire.builtin_options_as_Resize();
      if (table == nullptr) return wrong();
      o.aligns_corners = table->align_corners();
      o.has_half_pixels = table->half_pixel_centers();
      return o;
    }
    case TfliteOp::resize_nearest_neighbor: {
      const auto* table = wire.builtin_options_as_ResizeNearest();
      if (table == nullptr) return wrong();
      o.aligns_corners = table->align_corners();
      o.has_half_pixels = table->half_pixel_centers();
      return o;
    }
    case TfliteOp::mirror_pad: {
      const auto* table = wire.builtin_options_as_MirrorPad();
      if (table == nullptr) return wrong();
      if (table->mode() != 0 && table->mode() != 1) {
        return Error(ErrorCode::malformed, "its mode is number " + std::to_string(table->mode()));
      }
      o.is_symmetric = table->mode() == 1;
      return o;
    }
    case TfliteOp::softmax: {
      const auto* table = wire.builtin_options_as_Softmax();
      if (table == nullptr) return wrong();
      o.beta = table->beta();
      return o;
    }
    case TfliteOp::leaky_relu: {
      const auto* table = wire.builtin_options_as_LeakyRelu();
      if (table == nullptr) return wrong();
      o.alpha = table->alpha();
      return o;
    }
    case TfliteOp::mean: {
      const auto* table = wire.builtin_options_as_Reducer();
      if (table == nullptr) return wrong();
      o.keeps_dimensions = table->keep_dims();
      return o;
    }
    case TfliteOp::batch_matmul: {
      const auto* table = wire.builtin_options_as_BatchMatMul();
      if (table == nullptr) return wrong();
      o.adjoint_x = table->adj_x();
      o.adjoint_y = table->adj_y();
      return o;
    }
    default: return o;  // those whose options say nothing
  }
}

}  // namespace coterie::model_import
