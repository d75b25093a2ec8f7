#include "tools/cli/debug_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "device_sdk/runtime/model.h"
#include "device_sdk/watch/change_statistics.h"
#include "tools/cli/seen_tensors.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/compare_tensors/tensor_difference.h"
#include "tools/model/inspect.h"

namespace coterie {
namespace {

constexpr int kNameColumns = 30, kOpColumns = 16, kShapeColumns = 14;
constexpr size_t kBins = 10;
constexpr int kBarColumns = 40, kEdgeColumns = 10;
constexpr size_t kValuesALine = 6;

std::string shape_of(const NamedTensor& tensor) {
  return tensor.shape.empty() ? "1" : shape_text(tensor.shape);  // a number has no shape
}

std::string kind_of(const NamedTensor& tensor) {
  switch (tensor.kind) {
    case TensorKind::before: return "parameter in front of the step";
    case TensorKind::parameter: return "parameter behind the step";
    default: return std::string(to_string(tensor.kind));
  }
}

// int32, too: labels and numbers of words are looked at here.
TensorStatistics statistics_of(const NamedTensor& tensor) {
  const TensorView& view = tensor.values;
  if (view.type != ElementType::int32) return statistics_of(view.type, view.data, view.count);
  const std::vector<double> values = values_of(view);
  return statistics_of(ElementType::float64, values.data(), values.size());
}

std::string formatted(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string coordinates(uint64_t element, const Shape& shape) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<uint64_t>(shape[axis]);
    text = std::to_string(element % size) + (text.empty() ? "" : ", " + text);
    element /= size;
  }
  return "[" + text + "]";
}

std::string histogram(const std::vector<double>& values, double min, double max) {
  std::array<uint64_t, kBins> bins{};
  const bool has_width = max > min && std::isfinite(max - min);  // doubles may be as far apart as no double says
  const size_t used = has_width ? kBins : 1;
  const double width = has_width ? (max - min) / static_cast<double>(used) : 0;
  uint64_t most = 1;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const double place = width > 0 ? (value - min) / width : 0;
    const size_t bin = std::min(static_cast<size_t>(std::max(place, 0.0)), used - 1);
    most = std::max(most, ++bins[bin]);
  }
  std::string text;
  for (size_t i = 0; i < used; ++i) {
    const double low = min + width * static_cast<double>(i), high = i + 1 == used ? max : low + width;
    const double share = static_cast<double>(bins[i]) / static_cast<double>(most);
    std::string bar(static_cast<size_t>(std::ceil(share * kBarColumns)), '#');
    bar.resize(kBarColumns, ' ');
    const auto edge = [](double value) {
      const std::string digits = format_digits(value);
      return std::string(static_cast<size_t>(std::max(0, kEdgeColumns - static_cast<int>(digits.size()))), ' ') +
             digits;
    };
    text += edge(low) + " .. " + edge(high) + "  " + bar + "  " + format_count(bins[i]) + "\n";
  }
  return text;
}

std::string value_text(const NamedTensor& tensor, uint64_t element) {
  const double value = value_at(tensor.values, element);
  return tensor.values.type == ElementType::int32 ? formatted("%.0f", value) : formatted("%.6g", value);
}

SeenTensor seen(const NamedTensor& tensor, bool is_made) {
  return {.what = tensor.name,
          .type = std::string(to_string(tensor.values.type)),
          .shape = shape_of(tensor),
          .is_made = is_made,
          .statistics = statistics_of(tensor)};
}

// What a step of the program reads: of a parameter what it was in front of the step.
const NamedTensor* tensor_of(const RecordedTensors& tensors, size_t slot) {
  const bool is_gradient = slot % 2 != 0;
  for (const NamedTensor& tensor : tensors.all()) {
    if (tensor.tensor != slot / 2 || (tensor.kind == TensorKind::gradient) != is_gradient) continue;
    if (tensor.kind != TensorKind::parameter) return &tensor;
  }
  return nullptr;
}

}  // namespace

std::string step_line(const StepRecord& record) {
  const std::string step = "step " + std::to_string(record.step);
  if (record.has_failed()) return wrapped(step + " failed: " + printable(record.error), 80, 2) + "\n";
  return step + "  loss " + format_digits(record.loss) + "  learning rate " + format_digits(record.learning_rate) +
         "  " + counted(record.summary.examples - record.from.examples, "example") +
         (record.summary.skipped > record.from.skipped ? "  skipped by loss scaling" : "") + "\n";
}

std::string list_text(const std::vector<const NamedTensor*>& tensors) {
  Table table({{"OP"}, {"TENSOR"}, {"WHAT"}, {"SHAPE"}, {"TYPE"}});
  for (size_t i = 0; i < std::min(tensors.size(), kListedTensorsMax); ++i) {
    const NamedTensor& tensor = *tensors[i];
    table.add({shortened_in_middle(tensor.op, kOpColumns), shortened_in_middle(tensor.name, kNameColumns),
               std::string(to_string(tensor.kind)), shortened(shape_of(tensor), kShapeColumns),
               tensor.values.type == ElementType::float32 ? "" : std::string(to_string(tensor.values.type))});
  }
  if (tensors.size() <= kListedTensorsMax) return table.text();
  return table.text() + "and " + counted(tensors.size() - kListedTensorsMax, "more tensor") +
         ": `list PATTERN` shows fewer\n";
}

std::string stats_text(const NamedTensor& tensor) {
  const TensorStatistics of = statistics_of(tensor);
  const std::vector<double> values = values_of(tensor.values);
  double squares = 0, deviations = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    deviations += (value - of.mean()) * (value - of.mean());
  }
  const double finite = static_cast<double>(std::max<uint64_t>(of.finite(), 1));
  std::string text = tensor.name + "\n" + kind_of(tensor) + (tensor.op.empty() ? "" : " of " + tensor.op) + ", " +
                     shape_of(tensor) + " " + std::string(to_string(tensor.values.type)) + "\n\n";
  if (of.finite() > 0) {
    text += "min " + format_digits(of.min) + "  max " + format_digits(of.max) + "  mean " + format_digits(of.mean()) +
            "  std " + format_digits(std::sqrt(deviations / finite)) + "\nmean|x| " +
            format_digits(of.magnitude_mean()) + "  norm " + format_digits(std::sqrt(squares)) + "\n";
  }
  text += "zeros " + format_count(of.zeros) + " of " + format_count(of.count) + "  nan " + format_count(of.nan) +
          "  inf " + format_count(of.positive_infinite) + "  -inf " + format_count(of.negative_infinite) + "\n";
  if (of.finite() > 0) text += "\n" + histogram(values, of.min, of.max);
  return text;
}

std::string values_text(const NamedTensor& tensor, const ElementSlice& slice) {
  const uint64_t count = slice.count();
  const Shape shape = slice.shape();
  if (count == 0) return "no values: the slice is empty\n";
  const uint64_t row = shape.empty() ? 1 : static_cast<uint64_t>(shape.back());
  std::string text;
  uint64_t shown = 0;
  for_each_element(slice, tensor.shape, [&](uint64_t element) {
    if (shown == kPrintedValuesMax) return false;
    const uint64_t column = shown % row;
    if (column == 0 && shape.size() > 1) text += coordinates(element, tensor.shape) + "\n";
    const std::string value = value_text(tensor, element);
    const size_t width = 13;
    text += (value.size() < width ? std::string(width - value.size(), ' ') : " ") + value;
    shown += 1;
    if (column + 1 == row || (column + 1) % kValuesALine == 0) text += "\n";
    return true;
  });
  if (!text.ends_with('\n')) text += "\n";
  if (count > shown) text += "and " + counted(count - shown, "more value") + ": a smaller slice shows others\n";
  return text;
}

std::string comparison_text(const NamedTensor& now, const NamedTensor& before, uint64_t step, uint64_t step_before) {
  const auto floats = [](const NamedTensor& tensor) {
    const std::vector<double> values = values_of(tensor.values);
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> a = floats(now), b = floats(before);
  const TensorDifference difference = difference_of(a, b, 0);
  std::string text =
      now.name + ", step " + std::to_string(step) + " against step " + std::to_string(step_before) + "\n\n";
  if (difference.is_same_bits) return text + "the same bits\n";
  Table table({{"MEASURE"}, {"VALUE", Table::Align::right}});
  table.add({"values that differ", format_count(difference.outside) + " of " + format_count(difference.count)});
  table.add({"max |x - p|", format_digits(difference.absolute_max)});
  table.add({"mean |x - p|", format_digits(difference.absolute_mean)});
  table.add({"mean |x - p| / mean |p|", format_digits(change_of(a, b).ratio())});
  table.add({"|x - p| / |p|", format_digits(difference.euclidean)});
  table.add({"cosine similarity", format_digits(difference.cosine)});
  if (difference.non_finite_apart > 0) {
    table.add({"finite in one alone", format_count(difference.non_finite_apart)});
  }
  text += table.text();
  if (difference.worst == TensorDifference::kNowhere) return text;
  return text + "\nmost at " + coordinates(difference.worst, now.shape) + ": " +
         formatted("%.6g", value_at(before.values, difference.worst)) + " became " +
         formatted("%.6g", value_at(now.values, difference.worst)) + "\n";
}

std::string origin_text(const Model& model, const StepRecord& record, const RecordedTensors& tensors,
                        const NamedTensor& tensor) {
  std::vector<SeenTensor> table;
  if (tensor.kind == TensorKind::parameter || tensor.kind == TensorKind::before) {
    for (const NamedTensor& each : tensors.all()) {
      if (each.tensor == tensor.tensor) table.push_back(seen(each, each.kind == TensorKind::parameter));
    }
    std::ranges::stable_partition(table, [](const SeenTensor& each) { return !each.is_made; });
    return tensor.name + " is a parameter of " + tensor.op + ", around its update\n\n" + seen_table(table);
  }
  const size_t slot = slot_of(tensor.tensor, tensor.kind == TensorKind::gradient);
  const WatchedStep* maker = nullptr;
  for (const WatchedStep& step : record.program) {
    const bool makes = std::ranges::any_of(
        step.made, [&](const MadeTensor& made) { return slot_of(made.number, made.is_gradient) == slot; });
    if (makes && (maker == nullptr || tensor.kind == TensorKind::gradient)) maker = &step;
  }
  if (maker == nullptr) return tensor.name + " comes with the examples\n";
  for (const size_t read : maker->reads) {
    if (const NamedTensor* const found = tensor_of(tensors, read)) table.push_back(seen(*found, false));
  }
  for (const MadeTensor& made : maker->made) {
    const NamedTensor* const found = tensor_of(tensors, slot_of(made.number, made.is_gradient));
    if (found != nullptr) table.push_back(seen(*found, true));
  }
  std::string op = "the loss or the optimizer";
  if (maker->op != kNoOp) {
    const OpInfo& info = model.graph().ops[maker->op];
    op = printable(info.name) + " (" + std::string(to_string(info.kind)) + ")";
  }
  return tensor.name + " was made by " + op + "\n\n" + seen_table(table);
}

}  // namespace coterie
