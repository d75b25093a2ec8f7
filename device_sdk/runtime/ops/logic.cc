// where: condition (int32), a, b -> y; equal, less, greater: a, b -> int32 y, 1 or 0; all broadcast as in NumPy.
// cast: x -> y of the other type, toward zero, or of its own.
#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "device_sdk/runtime/ops/strided.h"

namespace coterie::ops {
namespace {

using kernels::Comparison;

Result<std::vector<TensorType>> infer_where(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{.type = DataType::int32}, {}, {}}));
  COT_ASSIGN(Shape y, broadcast_shape({inputs[0].shape, inputs[1].shape, inputs[2].shape}));
  return one_output(std::move(y));
}

struct WhereSettings {
  kernels::WhereLoops loops;
  size_t operand;  // whose gradient
};

WhereSettings where_settings_of(const OpBuild& build, size_t operand) {
  const std::vector<size_t> condition = sizes_of(build.input_shape(0));
  const std::vector<size_t> a = sizes_of(build.input_shape(1)), b = sizes_of(build.input_shape(2));
  return {*kernels::broadcast_loops<3>({condition, a, b}), operand};
}

void run_where(const Step& step, const StepContext& context) {
  const auto& [condition, a, b, y] = step.take<4>();
  context.kernels.where_forward(step.as<WhereSettings>().loops, step.ints(0), a, b, y);
}

constexpr StepKindOf<WhereSettings> kWhereStep{"where.forward", run_where};

void describe_where(const WhereSettings& s, SettingsText& text) { text.add("of operand", s.operand); }

void run_where_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<WhereSettings>();
  context.kernels.where_backward(s.loops, s.operand, step.ints(0), step.buffers[1], step.buffers[2]);
}

constexpr StepKindOf<WhereSettings> kWhereBackwardStep{"where.backward", run_where_backward, describe_where};

void forward_where(OpBuild& build) {
  build.emit(kWhereStep, where_settings_of(build, 1), {build.input(0), build.input(1), build.input(2), build.output()});
}

void backward_where(OpBuild& build) {
  for (const size_t operand : {size_t{1}, size_t{2}}) {
    if (!build.needs_gradient(operand)) continue;
    build.emit(kWhereBackwardStep, where_settings_of(build, operand),
               {build.input(0), build.output_gradient(), build.input_gradient(operand)});
  }
}

Result<std::vector<TensorType>> infer_compare(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}}));
  COT_ASSIGN(Shape y, broadcast_shape({inputs[0].shape, inputs[1].shape}));
  return one_output(std::move(y), DataType::int32);
}

struct CompareSettings {
  Comparison comparison;
  kernels::BinaryLoops loops;
};

void describe_compare(const CompareSettings& s, SettingsText& text) {
  switch (s.comparison) {
    case Comparison::equal: text.add("equal"); break;
    case Comparison::less: text.add("less"); break;
    case Comparison::greater: text.add("greater"); break;
    case Comparison::less_or_equal: text.add("less or equal"); break;
    case Comparison::greater_or_equal: text.add("greater or equal"); break;
  }
}

void run_compare(const Step& step, const StepContext& context) {
  const auto& s = step.as<CompareSettings>();
  context.kernels.compare(s.comparison, s.loops, step.buffers[0], step.buffers[1], step.ints(2));
}

constexpr StepKindOf<CompareSettings> kCompareStep{"compare.forward", run_compare, describe_compare};

void forward_compare(OpBuild& build) {
  const OpKind kind = build.op().kind;
  const Comparison comparison = kind == OpKind::equal  ? Comparison::equal
                                : kind == OpKind::less ? Comparison::less
                                                       : Comparison::greater;
  const std::vector<size_t> a = sizes_of(build.input_shape(0)), b = sizes_of(build.input_shape(1));
  build.emit(kCompareStep, CompareSettings{comparison, *kernels::broadcast_loops<2>({a, b})},
             {build.input(0), build.input(1), build.output()});
}

Result<std::vector<TensorType>> infer_cast(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_one_input(inputs));
  const auto type = static_cast<DataType>(std::get<CastAttributes>(op.attributes).type);
  if (type != DataType::float32 && type != DataType::int32) {
    return does_not_fit(concat({"casts to type ", static_cast<int>(type), ", which is none"}));
  }
  return one_output(inputs[0].shape, type);
}

struct CastSettings {
  size_t count;
};

void run_to_int32(const Step& step, const StepContext& context) {
  context.kernels.to_int32(step.as<CastSettings>().count, step.buffers[0], step.ints(1));
}

constexpr StepKindOf<CastSettings> kToInt32Step{"cast.to_int32", run_to_int32};

void run_from_int32(const Step& step, const StepContext& context) {
  context.kernels.from_int32(step.as<CastSettings>().count, step.ints(0), step.buffers[1]);
}

constexpr StepKindOf<CastSettings> kFromInt32Step{"cast.from_int32", run_from_int32};

void forward_cast(OpBuild& build) {
  const DataType from = build.input_type(0).type;
  const auto to = static_cast<DataType>(build.attributes<CastAttributes>().type);
  if (from == to) return build.output_is_input();
  build.emit(from == DataType::float32 ? kToInt32Step : kFromInt32Step, CastSettings{elements(build.input_shape(0))},
             {build.input(0), build.output()});
}

// Only from float32 to itself does a gradient arrive.
void backward_cast(OpBuild& build) { build.pass_gradient(0); }

}  // namespace

const OpRule kWhere{OpKind::where, infer_where, no_flops, forward_where, backward_where};
const OpRule kEqual{OpKind::equal, infer_compare, flops_per_output, forward_compare, nullptr};
const OpRule kLess{OpKind::less, infer_compare, flops_per_output, forward_compare, nullptr};
const OpRule kGreater{OpKind::greater, infer_compare, flops_per_output, forward_compare, nullptr};
const OpRule kCast{OpKind::cast, infer_cast, no_flops, forward_cast, backward_cast};

}  // namespace coterie::ops
