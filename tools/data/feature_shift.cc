#include "tools/data/feature_shift.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/random.h"

namespace coterie {
namespace {

constexpr uint64_t kNoiseStream = 0x6e6f697365;

void add_noise(ExampleTable& shard, double sigma, Prng& prng) {
  const DatasetColumn& input = shard.header.inputs[0];
  Bytes& column = shard.columns[0].own();
  if (input.type == ColumnType::uint8) {
    for (uint8_t& pixel : column) {
      const double noisy = pixel + prng.normal() * sigma / static_cast<double>(input.scale);
      pixel = static_cast<uint8_t>(std::clamp(std::lround(noisy), 0l, 255l));
    }
    return;
  }
  for (size_t at = 0; at + sizeof(float) <= column.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, &column[at], sizeof value);
    value += static_cast<float>(prng.normal() * sigma);
    std::memcpy(&column[at], &value, sizeof value);
  }
}

template <typename Element>
void rotate(Bytes& column, const Shape& shape, double radians) {
  const auto height = static_cast<size_t>(shape[0]), width = static_cast<size_t>(shape[1]);
  const auto channels = static_cast<size_t>(shape[2]);
  const size_t elements = height * width * channels;
  const double cosine = std::cos(radians), sine = std::sin(radians);
  const double mid_y = (static_cast<double>(height) - 1) / 2, mid_x = (static_cast<double>(width) - 1) / 2;
  std::vector<Element> from(elements), to(elements);
  const auto pixel = [&](long y, long x, size_t channel) {
    const bool is_inside = y >= 0 && x >= 0 && y < static_cast<long>(height) && x < static_cast<long>(width);
    return is_inside ? static_cast<double>(
                           from[(static_cast<size_t>(y) * width + static_cast<size_t>(x)) * channels + channel])
                     : 0.0;
  };
  for (size_t begin = 0; begin + elements * sizeof(Element) <= column.size(); begin += elements * sizeof(Element)) {
    std::memcpy(from.data(), &column[begin], elements * sizeof(Element));
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) {
        const double dy = static_cast<double>(y) - mid_y, dx = static_cast<double>(x) - mid_x;
        const double at_y = mid_y + cosine * dy + sine * dx, at_x = mid_x - sine * dy + cosine * dx;
        const double low_y = std::floor(at_y), low_x = std::floor(at_x);
        const double fy = at_y - low_y, fx = at_x - low_x;
        const long iy = static_cast<long>(low_y), ix = static_cast<long>(low_x);
        for (size_t channel = 0; channel < channels; ++channel) {
          const double value = (1 - fy) * ((1 - fx) * pixel(iy, ix, channel) + fx * pixel(iy, ix + 1, channel)) +
                               fy * ((1 - fx) * pixel(iy + 1, ix, channel) + fx * pixel(iy + 1, ix + 1, channel));
          Element& target = to[(y * width + x) * channels + channel];
          if constexpr (std::is_same_v<Element, uint8_t>) target = static_cast<uint8_t>(std::lround(value));
          else target = static_cast<Element>(value);
        }
      }
    }
    std::memcpy(&column[begin], to.data(), elements * sizeof(Element));
  }
}

uint64_t turn_of(uint32_t device, uint32_t groups, uint64_t classes) { return device % groups * classes / groups; }

void turn_labels(ExampleTable& shard, uint32_t groups, uint32_t device) {
  const auto classes = static_cast<int32_t>(shard.header.classes);
  const auto by = static_cast<int32_t>(turn_of(device, groups, shard.header.classes));
  Bytes& column = shard.columns.back().own();
  for (size_t at = 0; at + sizeof(int32_t) <= column.size(); at += sizeof(int32_t)) {
    int32_t label = 0;
    std::memcpy(&label, &column[at], sizeof label);
    label = (label + by) % classes;
    std::memcpy(&column[at], &label, sizeof label);
  }
}

}  // namespace

Status check_shift(const DataSplit& split, const DatasetHeader& header) {
  const DatasetColumn& input = header.inputs[0];
  if (split.kind == SplitKind::rotate && (input.shape.size() != 3 || input.type == ColumnType::int32)) {
    return Error(ErrorCode::invalid_argument,
                 "split feature:rotate turns images (height x width x channels), and an example of " + header.name +
                     " is none; feature:noise changes any numbers");
  }
  if (split.kind == SplitKind::noise && input.type == ColumnType::int32) {
    return Error(ErrorCode::invalid_argument,
                 "split feature:noise needs numbers, the inputs of " + header.name + " are codes");
  }
  if (split.kind == SplitKind::turned && (header.target.type != ColumnType::int32 || header.classes < 2)) {
    return Error(ErrorCode::invalid_argument,
                 "split labels:turned needs classes, and the target of " + header.name + " has none");
  }
  return {};
}

void shift_features(ExampleTable& shard, const DataSplit& split, uint32_t device, uint32_t devices, uint64_t seed) {
  if (split.kind == SplitKind::noise) {
    Prng prng = Prng::derived(seed ^ kNoiseStream, device);
    add_noise(shard, split.value * (device + 1) / devices, prng);
  }
  if (split.kind == SplitKind::turned) turn_labels(shard, static_cast<uint32_t>(split.value), device);
  if (split.kind != SplitKind::rotate || devices < 2) return;
  const double degrees = split.value * (2.0 * device / (devices - 1) - 1);
  const double radians = degrees * std::numbers::pi / 180;
  const DatasetColumn& input = shard.header.inputs[0];
  if (input.type == ColumnType::uint8) rotate<uint8_t>(shard.columns[0].own(), input.shape, radians);
  else rotate<float>(shard.columns[0].own(), input.shape, radians);
}

std::vector<uint32_t> shifted_counts(const DataSplit& split, uint32_t device, std::vector<uint32_t> classes) {
  if (split.kind != SplitKind::turned || classes.empty()) return classes;
  const auto by = static_cast<std::ptrdiff_t>(turn_of(device, static_cast<uint32_t>(split.value), classes.size()));
  std::rotate(classes.begin(), classes.end() - by, classes.end());
  return classes;
}

}  // namespace coterie
