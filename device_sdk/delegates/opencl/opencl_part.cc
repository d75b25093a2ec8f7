#include "device_sdk/delegates/opencl/opencl_part.h"

#include <algorithm>
#include <array>
#include <limits>

#include "device_sdk/delegates/opencl/opencl_kernels.h"

namespace coterie {
namespace {

struct Sizes {
  std::array<cl_int, kOpenclSizes> v{};
};

// y from x, and what the kernel reads beside it. All are tensors of the graph.
struct Launch {
  const char* kernel = nullptr;  // null: y is a copy of x
  uint32_t x = 0, w = 0, bias = 0, y = 0;
  Sizes sizes = {};
  size_t count = 0;  // elements of y
};

cl_int to_int(int64_t value) { return static_cast<cl_int>(value); }

class OpenclPart final : public CompiledPart {
 public:
  OpenclPart(OpenclDevice& device, const DelegatePart& part)
      : device_(device), inputs_(part.inputs), outputs_(part.outputs), buffers_(part.model.graph.tensors.size()) {}
  ~OpenclPart() override {
    for (void* const buffer : owned_) device_.release(buffer);
  }

  // A buffer of the part's own: stored values, or what one op tells the next.
  Status own(uint32_t tensor, uint64_t count, const float* values) {
    COT_ASSIGN(void* const buffer, device_.allocate(count * sizeof(float)));
    owned_.push_back(buffer);
    buffers_[tensor] = buffer;
    return values == nullptr ? Status() : device_.write(buffer, values, count * sizeof(float));
  }
  bool has(uint32_t tensor) const { return buffers_[tensor] != nullptr; }
  void add(const Launch& launch) { launches_.push_back(launch); }

  Status run(std::span<void* const> inputs, std::span<void* const> outputs) override {
    for (size_t i = 0; i < inputs.size(); ++i) buffers_[inputs_[i]] = inputs[i];
    for (size_t i = 0; i < outputs.size(); ++i) buffers_[outputs_[i]] = outputs[i];
    for (const Launch& launch : launches_) COT_TRY(enqueue(launch));
    return check_opencl(clFinish(device_.queue()), "clFinish");
  }

 private:
  Status enqueue(const Launch& launch) {
    std::array<cl_mem, 4> tensors = {memory(launch.x), memory(launch.w), memory(launch.bias), memory(launch.y)};
    if (launch.kernel == nullptr) {
      return check_opencl(clEnqueueCopyBuffer(device_.queue(), tensors[0], tensors[3], 0, 0,
                                              launch.count * sizeof(float), 0, nullptr, nullptr),
                          "clEnqueueCopyBuffer");
    }
    const cl_kernel kernel = device_.kernel(launch.kernel);
    for (cl_uint i = 0; i < tensors.size(); ++i) {
      COT_TRY(check_opencl(clSetKernelArg(kernel, i, sizeof(cl_mem), &tensors[i]), "clSetKernelArg"));
    }
    COT_TRY(check_opencl(clSetKernelArg(kernel, 4, sizeof(Sizes), &launch.sizes), "clSetKernelArg"));
    return check_opencl(
        clEnqueueNDRangeKernel(device_.queue(), kernel, 1, nullptr, &launch.count, nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  }
  cl_mem memory(uint32_t tensor) const { return static_cast<cl_mem>(buffers_[tensor]); }

  OpenclDevice& device_;
  const std::vector<uint32_t> inputs_, outputs_;
  std::vector<void*> buffers_;  // per tensor of the graph
  std::vector<void*> owned_;
  std::vector<Launch> launches_;
};

Sizes sizes_of_conv2d(const DelegateGraph& model, const OpInfo& op) {
  const auto& a = std::get<Conv2dAttributes>(op.attributes);
  const Shape &x = model.shape(op.inputs[0]), &w = model.shape(op.inputs[1]), &y = model.shape(op.outputs[0]);
  return {{to_int(x[1]), to_int(x[2]), to_int(x[3]), to_int(w[0]), to_int(w[1]), to_int(y[1]), to_int(y[2]),
           to_int(y[3]), to_int(a.groups), to_int(a.stride_h), to_int(a.stride_w), to_int(a.pad_top),
           to_int(a.pad_left), to_int(a.dilation_h), to_int(a.dilation_w)}};
}

// Without Pool2dAttributes one window over the whole image.
Sizes sizes_of_pool(const DelegateGraph& model, const OpInfo& op) {
  const Shape &x = model.shape(op.inputs[0]), &y = model.shape(op.outputs[0]);
  const bool is_global = op.kind == OpKind::global_average_pool2d;
  Pool2dAttributes a{.kernel_h = static_cast<uint32_t>(x[1]), .kernel_w = static_cast<uint32_t>(x[2])};
  if (!is_global) a = std::get<Pool2dAttributes>(op.attributes);
  return {{to_int(x[1]), to_int(x[2]), to_int(x[3]), to_int(a.kernel_h), to_int(a.kernel_w),
           is_global ? 1 : to_int(y[1]), is_global ? 1 : to_int(y[2]), to_int(x[3]), 1, to_int(a.stride_h),
           to_int(a.stride_w), to_int(a.pad_top), to_int(a.pad_left), 1, 1, 0, a.count_padding ? 1 : 0,
           op.kind != OpKind::max_pool2d ? 1 : 0}};
}

Launch launch_of(const DelegateGraph& model, const OpInfo& op) {
  Launch launch{.x = op.inputs[0], .w = op.inputs[0], .bias = op.inputs[0], .y = op.outputs[0]};
  launch.count = elements(model.shape(launch.y));
  const bool is_layer = op.kind == OpKind::conv2d || op.kind == OpKind::dense;
  const bool has_bias = is_layer && op.inputs.size() > 2 && op.inputs[2] != kNoTensor;
  if (is_layer || op.kind == OpKind::add) launch.w = op.inputs[1];
  if (has_bias) launch.bias = op.inputs[2];
  switch (op.kind) {
    case OpKind::conv2d:
      launch.kernel = "conv2d";
      launch.sizes = sizes_of_conv2d(model, op);
      break;
    case OpKind::dense:
      launch.kernel = "dense";
      launch.sizes.v = {to_int(model.shape(op.inputs[1])[0]), to_int(model.shape(op.inputs[1])[1])};
      break;
    case OpKind::relu: launch.kernel = "relu"; break;
    case OpKind::add: launch.kernel = "add"; break;
    case OpKind::max_pool2d:
    case OpKind::average_pool2d:
    case OpKind::global_average_pool2d:
      launch.kernel = "pool";
      launch.sizes = sizes_of_pool(model, op);
      break;
    default: break;  // flatten, identity, dropout
  }
  if (has_bias) launch.sizes.v[15] = 1;
  return launch;
}

}  // namespace

Result<std::unique_ptr<CompiledPart>> compile_opencl_part(OpenclDevice& device, const DelegatePart& part) {
  const DelegateGraph& model = part.model;
  auto made = std::make_unique<OpenclPart>(device, part);
  const auto is_border = [&](uint32_t tensor) {
    return std::ranges::find(part.inputs, tensor) != part.inputs.end() ||
           std::ranges::find(part.outputs, tensor) != part.outputs.end();
  };
  for (const uint32_t i : part.ops) {
    const OpInfo& op = model.graph.ops[i];
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const uint32_t tensor : *list) {
        if (tensor == kNoTensor) continue;
        if (elements(model.shape(tensor)) > static_cast<uint64_t>(std::numeric_limits<cl_int>::max())) {
          return Error(ErrorCode::too_large,
                       "opencl: tensor " + model.graph.tensors[tensor].name + " has over 2^31 - 1 elements");
        }
        if (is_border(tensor) || made->has(tensor)) continue;
        const float* const values = model.is_stored(tensor) ? model.stored(tensor).data() : nullptr;
        COT_TRY(made->own(tensor, elements(model.shape(tensor)), values));
      }
    }
    made->add(launch_of(model, op));
  }
  return std::unique_ptr<CompiledPart>(std::move(made));
}

}  // namespace coterie
