#include "tools/model/input_moments.h"

#include <algorithm>
#include <numeric>

#include "tools/model/partial_model.h"

namespace coterie {
namespace {

// Every step-th place, so that there are at most kMomentSamplesMax; all columns of an image have their turn.
uint64_t step_between(uint64_t examples, uint64_t places) {
  uint64_t step = (examples * places + kMomentSamplesMax - 1) / kMomentSamplesMax;
  while (step > 1 && std::gcd(step, places) != 1) ++step;
  return std::max<uint64_t>(step, 1);
}

}  // namespace

InputMoments centred(InputMoments moments) {
  const size_t rows = moments.rows;
  for (size_t at = 0; at < moments.values.size(); ++at) {
    const size_t i = at / rows, j = at / (rows * rows) * rows + at % rows;
    moments.values[at] -= moments.means[i] * moments.means[j];
    moments.cross[at] -= moments.means[i] * moments.exact_means[j];
  }
  return moments;
}

void MomentSums::Window::read(std::span<const float> image, uint64_t place, int64_t group, std::span<double> to) const {
  const auto at = static_cast<int64_t>(place);
  const int64_t in_group = channels / conv.groups;
  const int64_t top = at / out_width * conv.stride_h - conv.pad_top,
                left = at % out_width * conv.stride_w - conv.pad_left;
  auto next = to.begin();
  for (int64_t kh = 0; kh < kernel_h; ++kh) {
    for (int64_t kw = 0; kw < kernel_w; ++kw) {
      const int64_t y = top + kh * conv.dilation_h, x = left + kw * conv.dilation_w;
      const bool is_inside = y >= 0 && y < height && x >= 0 && x < width;
      const auto from = static_cast<size_t>((y * width + x) * channels + group * in_group);
      for (int64_t c = 0; c < in_group; ++c) {
        *next++ = is_inside ? static_cast<double>(image[from + static_cast<size_t>(c)]) : 0;
      }
    }
  }
}

MomentSums::Window MomentSums::window_of(const Model& model, const OpInfo& op) {
  const Shape &in = model.shape(op.inputs[0]), &out = model.shape(op.outputs[0]),
              &weight = model.graph().tensors[op.inputs[1]].shape;
  Window window;
  window.channels = in.back();
  if (op.kind == OpKind::dense) {
    for (size_t i = 1; i + 1 < in.size(); ++i) window.width *= in[i];
    window.out_width = window.width;
    return window;
  }
  window.height = in[1], window.width = in[2];
  window.out_height = out[1], window.out_width = out[2];
  window.kernel_h = weight[0], window.kernel_w = weight[1];
  window.conv = std::get<Conv2dAttributes>(op.attributes);
  return window;
}

std::optional<MomentSums> MomentSums::create(const Model& model, const OpInfo& op, uint64_t examples) {
  const Shape& weight = model.graph().tensors[op.inputs[1]].shape;
  MomentSums sums;
  sums.window_ = window_of(model, op);
  const size_t groups = sums.window_.conv.groups, rows = static_cast<size_t>(elements(weight) / weight.back());
  const int64_t batch = model.shape(op.inputs[0]).front();
  if (rows > kMomentRowsMax || groups > kMomentValuesMax / (rows * rows) || batch >= 0) return std::nullopt;
  sums.sums_ = {.groups = groups,
                .rows = rows,
                .values = std::vector<double>(groups * rows * rows),
                .cross = std::vector<double>(groups * rows * rows),
                .means = std::vector<double>(groups * rows),
                .exact_means = std::vector<double>(groups * rows)};
  sums.y_.resize(rows);
  sums.x_.resize(rows);
  sums.image_values_ = static_cast<size_t>(sums.window_.height * sums.window_.width * sums.window_.channels);
  const auto of_an_example = static_cast<uint64_t>(-batch);  // images, or rows
  sums.step_ = step_between(examples * of_an_example, sums.window_.places());
  return sums;
}

void MomentSums::add_place(std::span<const float> rounded, std::span<const float> exact, uint64_t place) {
  const size_t rows = sums_.rows;
  for (size_t g = 0; g < sums_.groups; ++g) {
    window_.read(rounded, place, static_cast<int64_t>(g), y_);
    window_.read(exact, place, static_cast<int64_t>(g), x_);
    double* const values = sums_.values.data() + g * rows * rows;
    double* const cross = sums_.cross.data() + g * rows * rows;
    for (size_t i = 0; i < rows; ++i) {
      sums_.means[g * rows + i] += y_[i];
      sums_.exact_means[g * rows + i] += x_[i];
      if (y_[i] == 0) continue;
      for (size_t j = i; j < rows; ++j) values[i * rows + j] += y_[i] * y_[j];
      for (size_t j = 0; j < rows; ++j) cross[i * rows + j] += y_[i] * x_[j];
    }
  }
}

void MomentSums::add(std::span<const float> rounded, std::span<const float> exact) {
  for (; !rounded.empty(); seen_ += window_.places()) {
    for (; next_ < seen_ + window_.places(); next_ += step_, ++samples_) {
      add_place(rounded.first(image_values_), exact.first(image_values_), next_ - seen_);
    }
    rounded = rounded.subspan(image_values_), exact = exact.subspan(image_values_);
  }
}

InputMoments MomentSums::moments() const {
  InputMoments moments = sums_;
  const auto samples = static_cast<double>(samples_);
  for (std::vector<double>* const all : {&moments.values, &moments.cross, &moments.means, &moments.exact_means}) {
    for (double& value : *all) value /= samples;
  }
  const size_t rows = moments.rows;
  for (size_t g = 0; g < moments.groups; ++g) {
    double* const matrix = moments.values.data() + g * rows * rows;
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = i; j < rows; ++j) matrix[j * rows + i] = matrix[i * rows + j];
    }
  }
  return moments;
}

const OpInfo* sole_reader(const ModelGraph& graph, uint32_t weight) {
  const OpInfo* found = nullptr;
  for (const OpInfo& op : graph.ops) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != weight) continue;
      if (found != nullptr || i != 1 || (op.kind != OpKind::dense && op.kind != OpKind::conv2d)) return nullptr;
      found = &op;
    }
  }
  return found;
}

Result<std::optional<InputMoments>> input_moments(const Model& exact, const Model& rounded, const OpInfo& op,
                                                  ExampleSource& examples, uint64_t target_elements) {
  std::optional<MomentSums> sums = MomentSums::create(exact, op, examples.size());
  if (!sums) return std::optional<InputMoments>();
  const Status ran = for_each_activation_pair(
      rounded, exact, op.inputs[0], examples, target_elements,
      [&](std::span<const float> now, std::span<const float> before) { sums->add(now, before); });
  // What leads to the layer may be no model by itself.
  if (!ran && ran.error().code() == ErrorCode::malformed) return std::optional<InputMoments>();
  if (!ran) return ran.error();
  return std::optional(sums->moments());
}

}  // namespace coterie
