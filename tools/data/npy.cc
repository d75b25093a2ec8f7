#include "tools/data/npy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "tools/data/csv.h"

namespace coterie {
namespace {

constexpr size_t kSizesMax = 8;
constexpr double kNumberMax = 1e30;  // as in tables
constexpr uint64_t kElementsMax = 1ull << 30;

Error bad(const std::string& what) { return Error(ErrorCode::malformed, what); }

// What stands behind 'KEY': in the header, a Python dictionary as NumPy writes it.
std::string_view value_of(std::string_view header, const std::string& key) {
  const size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

Result<Shape> shape_in(std::string_view text) {
  Shape shape;
  if (!text.starts_with('(')) return bad("has no shape in its header");
  for (text.remove_prefix(1); !text.starts_with(')');) {
    uint64_t size = 0;
    size_t digits = 0;
    while (digits < text.size() && digits < 10 && text[digits] >= '0' && text[digits] <= '9') {
      size = size * 10 + static_cast<uint64_t>(text[digits++] - '0');
    }
    if (digits == 0 || shape.size() == kSizesMax) return bad("has a shape that is none");
    shape.push_back(static_cast<int64_t>(size));
    text.remove_prefix(digits);
    if (!text.starts_with(',') && !text.starts_with(')')) return bad("has a shape that is none");
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  if (shape.empty()) return bad("holds a single number, expected one row an example");
  return shape;
}

template <typename T>
void convert(ByteView payload, std::vector<double>& values) {
  values.reserve(payload.size() / sizeof(T));
  for (size_t at = 0; at < payload.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, payload.data() + at, sizeof(T));
    values.push_back(static_cast<double>(value));
  }
}

struct Dtype {
  std::string_view name;
  NpyType type;
  size_t bytes;
  void (*convert)(ByteView, std::vector<double>&);
};

// clang-format off
constexpr Dtype kDtypes[] = {
    {"'|b1'", NpyType::uint8, 1, nullptr},
    {"'|u1'", NpyType::uint8, 1, nullptr},
    {"'|i1'", NpyType::integer, 1, &convert<int8_t>},
    {"'<i2'", NpyType::integer, 2, &convert<int16_t>},
    {"'<u2'", NpyType::integer, 2, &convert<uint16_t>},
    {"'<i4'", NpyType::integer, 4, &convert<int32_t>},
    {"'<u4'", NpyType::integer, 4, &convert<uint32_t>},
    {"'<i8'", NpyType::integer, 8, &convert<int64_t>},
    {"'<f4'", NpyType::real, 4, &convert<float>},
    {"'<f8'", NpyType::real, 8, &convert<double>},
};
// clang-format on

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, value == std::floor(value) ? "%.0f" : "%.9g", value);
  return text;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

bool is_of_columns(const NpyArray& x) { return x.shape.size() <= 2; }

std::vector<double> column_at(const NpyArray& x, size_t column, size_t columns) {
  std::vector<double> values(x.rows());
  for (size_t row = 0; row < values.size(); ++row) values[row] = x.at(row * columns + column);
  return values;
}

// In a column NaN is a value that is missing; elsewhere there is no such thing.
Status check_numbers(const NpyArray& array) {
  const size_t width = std::max<size_t>(array.values.size() / array.rows(), 1);
  const bool may_miss = is_of_columns(array);
  for (size_t i = 0; i < array.values.size(); ++i) {
    const double value = array.values[i];
    if (std::abs(value) <= kNumberMax || (may_miss && std::isnan(value))) continue;
    return bad("row " + std::to_string(i / width) + ", number " + std::to_string(i % width) +
               (std::isnan(value) ? ": is not a number" : ": is beyond 1e30"));
  }
  return {};
}

}  // namespace

Result<NpyArray> parse_npy(ByteView file) {
  const std::string_view text = as_text(file);
  if (!text.starts_with("\x93NUMPY") || file.size() < 12) return bad("is no .npy file");
  const uint8_t version = file[6];
  if (version < 1 || version > 3) {
    return Error(ErrorCode::unsupported_version,
                 "is an .npy file of version " + std::to_string(version) + ", expected 1 to 3");
  }
  const size_t begin = version == 1 ? 10 : 12;
  uint64_t length = file[8] | static_cast<uint64_t>(file[9]) << 8;
  if (version > 1) length |= static_cast<uint64_t>(file[10]) << 16 | static_cast<uint64_t>(file[11]) << 24;
  if (length > file.size() - begin) return bad("is an .npy file that ends within its header");
  const std::string_view header = text.substr(begin, length);
  const std::string_view descr = value_of(header, "descr");
  const auto dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                  [&](const Dtype& each) { return descr.starts_with(each.name); });
  if (dtype == std::end(kDtypes)) {
    return bad("has elements of type " + std::string(descr.substr(0, descr.find(','))) +
               ", expected bool, integers, float32 or float64, little-endian");
  }
  if (!value_of(header, "fortran_order").starts_with("False")) {
    return bad("is in the order of Fortran; numpy.ascontiguousarray gives that of C");
  }
  NpyArray array{.type = dtype->type};
  COT_ASSIGN(array.shape, shape_in(value_of(header, "shape")));
  uint64_t elements = 1;
  for (const int64_t size : array.shape) {
    elements *= static_cast<uint64_t>(size);
    if (elements > kElementsMax) return Error(ErrorCode::too_large, "has more than 2^30 elements");
  }
  const ByteView payload = file.subspan(begin + length);
  if (payload.size() != elements * dtype->bytes) {
    return bad("has " + std::to_string(payload.size()) + " bytes behind its header, expected " +
               std::to_string(elements * dtype->bytes) + " for " + shape_text(array.shape));
  }
  if (elements == 0) return bad("is empty: its shape is " + shape_text(array.shape));
  if (dtype->convert == nullptr) array.bytes.assign(payload.begin(), payload.end());
  else dtype->convert(payload, array.values);
  return array;
}

namespace {

constexpr double kSeveralClassesMax = 65536;

size_t targets_a_row(const NpyArray& y) { return y.shape.size() == 2 ? static_cast<size_t>(y.shape[1]) : 1; }

// A contract of before does not say how many there are, but several have no scale.
Status check_cells(const NpyArray& y, const ContractTarget& target) {
  const size_t cells = targets_a_row(y);
  if (cells == target.cells || (target.cells == 1 && !target.is_standardised)) return {};
  return Error(ErrorCode::invalid_argument, "goes with " + std::to_string(cells) +
                                                " targets a row, and the contract is one of " +
                                                std::to_string(target.cells));
}

// Over all of them, where a row has several.
void fit_numbers_of(const NpyArray& y, ContractTarget& target) {
  std::vector<double> values(y.rows() * targets_a_row(y));
  std::vector<uint32_t> all(values.size());
  for (uint32_t i = 0; i < all.size(); ++i) {
    all[i] = i;
    values[i] = y.at(i);
  }
  const ContractColumn fit = fit_numbers("", values, all);
  target.mean = fit.mean;
  target.deviation = fit.deviation;
  target.low = fit.low;
  target.high = fit.high;
}

// Classes are called by their numbers.
Result<ContractTarget> several_targets(const NpyArray& y, std::optional<bool> is_number) {
  ContractTarget target{.is_number = is_number.value_or(y.type == NpyType::real), .cells = targets_a_row(y)};
  double highest = 0;
  const size_t cells = y.rows() * targets_a_row(y);
  for (size_t i = 0; i < cells; ++i) {
    const std::string row = "row " + std::to_string(i / targets_a_row(y));
    if (!std::isfinite(y.at(i))) return bad(row + ": expected a finite number");
    if (target.is_number) continue;
    if (y.at(i) < 0 || y.at(i) != std::floor(y.at(i)))
      return bad(row + ": expected classes, counted from 0 (a label to ignore, too: 255, for example)");
    highest = std::max(highest, y.at(i));
  }
  if (highest >= kSeveralClassesMax) return Error(ErrorCode::too_large, "has more than 65536 classes");
  for (double value = 0; !target.is_number && value <= highest; ++value) target.classes.push_back(text_of(value));
  if (target.is_number) fit_numbers_of(y, target);
  return target;
}

}  // namespace

Result<ContractTarget> npy_target(const NpyArray& y, std::optional<bool> is_number) {
  if (y.shape.size() > 2) {
    return Error(ErrorCode::invalid_argument,
                 "has the shape " + shape_text(y.shape) + ", expected one target a row, or several in a line");
  }
  if (targets_a_row(y) > 1) return several_targets(y, is_number);
  std::set<double> different;
  for (size_t row = 0; row < y.rows(); ++row) {
    if (!std::isfinite(y.at(row))) return bad("row " + std::to_string(row) + ": expected a finite number");
    different.insert(y.at(row));
  }
  const bool is_whole = std::all_of(different.begin(), different.end(), [](double v) { return v == std::floor(v); });
  const bool guessed = y.type == NpyType::real && (!is_whole || different.size() > kClassesGuessedMax);
  ContractTarget target{.is_number = is_number.value_or(guessed)};
  if (target.is_number) {
    fit_numbers_of(y, target);
    return target;
  }
  for (const double value : different) target.classes.push_back(text_of(value));
  return target;
}

Result<std::vector<int32_t>> npy_labels(const NpyArray& y, const ContractTarget& target) {
  std::map<std::string_view, int32_t> numbers;
  for (const std::string& name : target.classes) numbers.emplace(name, static_cast<int32_t>(numbers.size()));
  std::vector<int32_t> labels;
  for (size_t i = 0; i < y.rows() * targets_a_row(y); ++i) {
    const auto found = numbers.find(text_of(y.at(i)));
    if (found == numbers.end()) {
      return bad("row " + std::to_string(i / targets_a_row(y)) + ": " + text_of(y.at(i)) + " is none of the " +
                 std::to_string(target.classes.size()) + " classes");
    }
    labels.push_back(found->second);
  }
  return labels;
}

Result<InputContract> fit_npy(const NpyArray& x, bool standardise, ContractTarget target,
                              std::span<const uint32_t> fitted) {
  InputContract contract{.kind = "array", .name = "npy", .standardise = standardise};
  contract.target = std::move(target);
  if (is_of_columns(x)) {
    const size_t columns = x.shape.size() == 1 ? 1 : static_cast<size_t>(x.shape[1]);
    for (size_t i = 0; i < columns; ++i) {
      contract.columns.push_back(fit_numbers("x" + std::to_string(i + 1), column_at(x, i, columns), fitted));
    }
    contract.inputs = inputs_of(contract);
    return contract;
  }
  DatasetColumn input{.name = "features", .type = ColumnType::float32, .shape = {x.shape.begin() + 1, x.shape.end()}};
  if (x.type == NpyType::uint8) {
    input.type = ColumnType::uint8;
    input.scale = 1.0f / 255;
  }
  contract.inputs = {std::move(input)};
  return contract;
}

Result<ExampleTable> encode_npy(const NpyArray& x, const NpyArray& y, const InputContract& contract) {
  if (x.rows() != y.rows()) {
    return Error(ErrorCode::invalid_argument,
                 "has " + std::to_string(x.rows()) + " rows, and the targets have " + std::to_string(y.rows()));
  }
  COT_TRY(check_cells(y, contract.target));
  COT_TRY(check_numbers(x));
  COT_TRY(check_numbers(y));
  ExampleTable table;
  table.header.name = contract.name;
  table.header.examples = x.rows();
  table.header.inputs = contract.inputs;
  if (is_of_columns(x)) {
    const size_t columns = x.shape.size() == 1 ? 1 : static_cast<size_t>(x.shape[1]);
    if (columns != contract.columns.size()) {
      return Error(ErrorCode::invalid_argument, "has " + std::to_string(columns) + " numbers a row, expected " +
                                                    std::to_string(contract.columns.size()));
    }
    std::vector<float> numbers;
    for (size_t row = 0; row < x.rows(); ++row) {
      for (size_t i = 0; i < columns; ++i)
        add_standard(contract.columns[i], contract.standardise, x.at(row * columns + i), numbers);
    }
    table.columns.push_back(column_of(numbers));
  } else {
    const DatasetColumn& input = contract.inputs[0];
    const Shape shape(x.shape.begin() + 1, x.shape.end());
    if (input.shape != shape || (input.type == ColumnType::uint8) != (x.type == NpyType::uint8)) {
      return Error(ErrorCode::invalid_argument, "has examples of " + shape_text(shape) +
                                                    (x.type == NpyType::uint8 ? " bytes" : "") + ", expected " +
                                                    shape_text(input.shape) + " " + std::string(to_string(input.type)));
    }
    if (x.type == NpyType::uint8) table.columns.push_back(x.bytes);
    else table.columns.push_back(column_of(std::vector<float>(x.values.begin(), x.values.end())));
  }
  const size_t targets_each = targets_a_row(y);
  const Shape target_shape = targets_each == 1 ? Shape() : Shape{static_cast<int64_t>(targets_each)};
  if (contract.target.is_number) {
    std::vector<float> targets;
    for (size_t i = 0; i < y.rows() * targets_each; ++i) targets.push_back(static_cast<float>(y.at(i)));
    table.header.target = {.name = "target", .type = ColumnType::float32, .shape = target_shape};
    table.columns.push_back(column_of(targets));
    return table;
  }
  COT_ASSIGN(const std::vector<int32_t> labels, npy_labels(y, contract.target));
  table.header.target = {.name = "target", .type = ColumnType::int32, .shape = target_shape};
  table.header.classes = static_cast<uint32_t>(contract.target.classes.size());
  table.columns.push_back(column_of(labels));
  return table;
}

}  // namespace coterie
