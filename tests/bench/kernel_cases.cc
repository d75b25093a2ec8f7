#include "tests/bench/kernel_cases.h"

#include <algorithm>
#include <memory>

#include "base/random.h"
#include "train_kernels/workspace.h"

namespace coterie::bench {
namespace {

using kernels::Activation;
using kernels::Conv2dShape;
using kernels::DenseShape;
using kernels::KernelTable;

constexpr size_t kX = 0, kW = 1, kY = 2, kBias = 3, kResult = 4, kScratch = 5, kPrepared = 6;

// The operands of one case; the largest of any so far, shared by all.
class Operands {
 public:
  float* get(size_t operand, size_t count) {
    std::vector<Line>& lines = lines_[operand];
    if (lines.size() * kLineFloats < count) {
      lines.resize(count / kLineFloats + 1);
      Prng prng(operand + 1);
      for (Line& line : lines) {
        for (float& value : line.values) value = static_cast<float>(prng.uniform(-1, 1));
      }
    }
    return lines[0].values;
  }
  float* scratch(size_t bytes) { return get(kScratch, bytes / sizeof(float) + 16); }
  float* prepared(size_t bytes) { return get(kPrepared, bytes / sizeof(float) + 16); }

 private:
  static constexpr size_t kLineFloats = 16;
  struct alignas(64) Line {  // as the runtime's arena is aligned
    float values[kLineFloats];
  };
  std::vector<Line> lines_[7];
};

struct Builder {
  std::string filter;
  std::shared_ptr<Operands> operands = std::make_shared<Operands>();
  std::vector<KernelCase> cases;

  void add(const std::string& op, const std::string& shape, double flops, std::function<void(const KernelTable&)> run) {
    if ((op + " " + shape).find(filter) == std::string::npos) return;
    cases.push_back({op, shape, flops, std::move(run)});
  }

  void dense(const std::string& name, const DenseShape& s) {
    const std::string shape =
        name + " " + std::to_string(s.batch) + "x" + std::to_string(s.in) + "x" + std::to_string(s.out);
    const double flops = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.in * s.out);
    const auto o = operands;
    const size_t x = s.batch * s.in, w = s.in * s.out, y = s.batch * s.out;
    add("dense forward", shape, flops, [=](const KernelTable& table) {
      const auto at = o->scratch(kernels::dense_forward_workspace(s));
      float* prepared = nullptr;
      if (kernels::prepares_dense_forward(s)) {
        prepared = o->prepared(kernels::dense_forward_prepared_bytes(s));
        table.dense_prepare_forward(s, {0, s.in}, o->get(kW, w), prepared);
      }
      table.dense_forward(s, {0, s.out}, o->get(kX, x), o->get(kW, w), prepared, o->get(kBias, s.out), Activation::relu,
                          o->get(kResult, y), at);
    });
    add("dense dX", shape, flops, [=](const KernelTable& table) {
      const auto at = o->scratch(kernels::dense_backward_input_workspace(s));
      float* prepared = nullptr;
      if (kernels::prepares_dense_backward_input(s)) {
        prepared = o->prepared(kernels::dense_backward_input_prepared_bytes(s));
        table.dense_prepare_backward_input(s, {0, s.out}, o->get(kW, w), prepared);
      }
      table.dense_backward_input(s, {0, s.in}, o->get(kY, y), o->get(kW, w), prepared, o->get(kResult, x), at);
    });
    add("dense dW", shape, flops, [=](const KernelTable& table) {
      const auto at = o->scratch(kernels::dense_backward_weights_workspace(s));
      table.dense_backward_weights(s, o->get(kX, x), o->get(kY, y), o->get(kResult, w), o->get(kBias, s.out), at);
    });
  }

  void conv(const std::string& name, const Conv2dShape& s, bool with_dx = true) {
    const std::string shape = name + " b" + std::to_string(s.batch);
    const size_t x = s.batch * s.height * s.width * s.channels, w = s.taps() * s.filters;
    const size_t y = s.batch * s.out_h() * s.out_w() * s.filters;
    const double flops = 2.0 * static_cast<double>(y) * static_cast<double>(s.taps());
    const auto o = operands;
    add("conv forward", shape, flops, [=](const KernelTable& table) {
      const auto at = o->scratch(kernels::conv2d_forward_workspace(s));
      float* prepared = nullptr;
      if (kernels::prepares_conv2d_forward(s)) {
        prepared = o->prepared(kernels::conv2d_forward_prepared_bytes(s));
        table.conv2d_prepare_forward(s, {0, s.channels / s.groups}, o->get(kW, w), prepared);
      }
      table.conv2d_forward(s, o->get(kX, x), o->get(kW, w), prepared, o->get(kBias, s.filters), Activation::relu,
                           o->get(kResult, y), at);
    });
    if (with_dx) {
      add("conv dX", shape, flops, [=](const KernelTable& table) {
        const auto at = o->scratch(kernels::conv2d_backward_input_workspace(s));
        float* prepared = nullptr;
        if (kernels::prepares_conv2d_backward_input(s)) {
          prepared = o->prepared(kernels::conv2d_backward_input_prepared_bytes(s));
          table.conv2d_prepare_backward_input(s, {0, s.filters / s.groups}, o->get(kW, w), prepared);
        }
        table.conv2d_backward_input(s, o->get(kY, y), o->get(kW, w), prepared, o->get(kResult, x), at);
      });
    }
    add("conv dW", shape, flops, [=](const KernelTable& table) {
      const auto at = o->scratch(kernels::conv2d_backward_weights_workspace(s));
      table.conv2d_backward_weights(s, o->get(kX, x), o->get(kY, y), o->get(kResult, w), o->get(kBias, s.filters), at);
    });
  }
};

Conv2dShape square(size_t batch, size_t channels, size_t filters, size_t kernel, size_t stride, size_t pad, size_t size,
                   size_t groups = 1) {
  return {batch, size, size, channels, kernel, kernel, filters, stride, stride, pad, pad, pad, pad, groups};
}

}  // namespace

std::vector<KernelCase> kernel_cases(const std::string& filter) {
  Builder b{.filter = filter};
  for (const size_t n : {256, 512, 1024, 2048}) b.dense("square", {n, n, n});
  for (const size_t batch : {1, 8, 16, 32}) b.dense("mlp", {batch, 784, 128});
  for (const size_t batch : {8, 16, 32}) b.dense("fedavg fc1", {batch, 3136, 512});
  b.dense("lstm gates", {8, 256, 1024});
  b.dense("pointwise 24->144@56", {3136, 24, 144});
  b.dense("pointwise 144->24@56", {3136, 144, 24});
  b.dense("pointwise 160->960@7", {49, 160, 960});
  b.dense("lenet fc", {32, 400, 120});
  for (const size_t batch : {1, 8}) {
    b.conv("LeNet 1->6 5x5@28", square(batch, 1, 6, 5, 1, 2, 28), false);
    b.conv("LeNet 6->16 5x5@14", square(batch, 6, 16, 5, 1, 0, 14));
    b.conv("FedAvg 1->32 5x5@28", square(batch, 1, 32, 5, 1, 2, 28), false);
    b.conv("FedAvg 32->64 5x5@14", square(batch, 32, 64, 5, 1, 2, 14));
    b.conv("ResNet-20 3->16 3x3@32", square(batch, 3, 16, 3, 1, 1, 32), false);
    b.conv("ResNet-20 16->16 3x3@32", square(batch, 16, 16, 3, 1, 1, 32));
    b.conv("ResNet-20 16->32 3x3/2@32", square(batch, 16, 32, 3, 2, 1, 32));
    b.conv("ResNet-20 32->32 3x3@16", square(batch, 32, 32, 3, 1, 1, 16));
    b.conv("ResNet-20 64->64 3x3@8", square(batch, 64, 64, 3, 1, 1, 8));
    b.conv("ResNet-18 3->64 7x7/2@224", square(batch, 3, 64, 7, 2, 3, 224), false);
    b.conv("ResNet-18 64->64 3x3@56", square(batch, 64, 64, 3, 1, 1, 56));
    b.conv("ResNet-18 64->128 3x3/2@56", square(batch, 64, 128, 3, 2, 1, 56));
    b.conv("ResNet-18 64->128 1x1/2@56", square(batch, 64, 128, 1, 2, 0, 56));
    b.conv("ResNet-18 128->128 3x3@28", square(batch, 128, 128, 3, 1, 1, 28));
    b.conv("ResNet-18 256->256 3x3@14", square(batch, 256, 256, 3, 1, 1, 14));
    b.conv("ResNet-18 512->512 3x3@7", square(batch, 512, 512, 3, 1, 1, 7));
    b.conv("ResNet-50 256->64 1x1@56", square(batch, 256, 64, 1, 1, 0, 56));
    b.conv("MobileNetV2 3->32 3x3/2@224", square(batch, 3, 32, 3, 2, 1, 224), false);
    b.conv("MobileNetV2 24->144 1x1@56", square(batch, 24, 144, 1, 1, 0, 56));
    b.conv("MobileNetV2 144->24 1x1@56", square(batch, 144, 24, 1, 1, 0, 56));
    b.conv("MobileNetV2 384->64 1x1@14", square(batch, 384, 64, 1, 1, 0, 14));
    b.conv("MobileNetV2 160->960 1x1@7", square(batch, 160, 960, 1, 1, 0, 7));
    b.conv("depthwise 96 3x3/2@112", square(batch, 96, 96, 3, 2, 1, 112, 96));
    b.conv("depthwise 144 3x3@56", square(batch, 144, 144, 3, 1, 1, 56, 144));
    b.conv("depthwise 384 3x3@14", square(batch, 384, 384, 3, 1, 1, 14, 384));
    b.conv("depthwise 960 3x3@7", square(batch, 960, 960, 3, 1, 1, 7, 960));
    b.conv("RepLKNet depthwise 128 31x31@56", square(batch, 128, 128, 31, 1, 15, 56, 128));
    b.conv("depthwise 96 7x7@56", square(batch, 96, 96, 7, 1, 3, 56, 96));
    b.conv("large 16->16 11x11@56", square(batch, 16, 16, 11, 1, 5, 56));
  }
  return std::move(b.cases);
}

}  // namespace coterie::bench
