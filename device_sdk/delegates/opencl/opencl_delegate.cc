#include "device_sdk/delegates/opencl/opencl_delegate.h"

#include "device_sdk/delegates/opencl/opencl_device.h"
#include "device_sdk/delegates/opencl/opencl_part.h"

namespace coterie {
namespace {

class OpenclDelegate final : public Delegate {
 public:
  explicit OpenclDelegate(std::unique_ptr<OpenclDevice> device) : device_(std::move(device)) {}

  // Rough figures of a GPU behind PCI Express: what the device at hand really is, nobody has measured.
  DelegateTraits traits() const override {
    return {.name = "opencl",
            .version = device_->name(),
            .domain = MemoryDomain::device,
            .launch_nanoseconds = 30'000,
            .nanoseconds_per_byte = 0.1,
            .saved_nanoseconds_per_flop = 0.01};
  }

  std::string refusal(const DelegateGraph& model, uint32_t i) const override {
    const OpInfo& op = model.graph.ops[i];
    switch (op.kind) {
      case OpKind::conv2d:
      case OpKind::dense:
        for (size_t k = 1; k < op.inputs.size(); ++k) {
          if (op.inputs[k] != kNoTensor && !model.is_stored(op.inputs[k])) return "its weights are computed";
        }
        return {};
      case OpKind::average_pool2d: {
        const auto& pool = std::get<Pool2dAttributes>(op.attributes);
        const bool is_cut = pool.count_padding && (pool.ceil_h > 0 || pool.ceil_w > 0);
        return is_cut ? "a last, cut window counts its padding" : "";
      }
      case OpKind::add: return model.shape(op.inputs[0]) == model.shape(op.inputs[1]) ? "" : "it broadcasts";
      case OpKind::relu:
      case OpKind::max_pool2d:
      case OpKind::global_average_pool2d:
      case OpKind::flatten:
      case OpKind::identity:
      case OpKind::dropout: return {};
      default: return "opencl has no kernel of " + std::string(to_string(op.kind));
    }
  }

  Result<std::unique_ptr<CompiledPart>> compile(const DelegatePart& part) override {
    return compile_opencl_part(*device_, part);
  }
  DeviceMemory* memory() override { return device_.get(); }

 private:
  std::unique_ptr<OpenclDevice> device_;
};

}  // namespace

Result<std::unique_ptr<Delegate>> open_opencl_delegate() {
  COT_ASSIGN(std::unique_ptr<OpenclDevice> device, OpenclDevice::open());
  return std::unique_ptr<Delegate>(std::make_unique<OpenclDelegate>(std::move(device)));
}

}  // namespace coterie
