#include "model_io/input_contract.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "model_io/contract_targets.h"
#include "model_io/field_text.h"

namespace coterie {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema = "coterie.input_contract.v1";
constexpr size_t kColumnsMax = 1 << 20;
constexpr double kTargetMax = 1e30;
constexpr uint64_t kTargetCellsMax = 1 << 30;  // as many as an array may have

Error bad(const std::string& where, const std::string& what) {
  return Error(ErrorCode::malformed, where + ": " + what);
}

ordered_json json_of(const ContractColumn& column) {
  if (column.is_category) return {{"name", column.name}, {"kind", "category"}, {"values", column.values}};
  if (column.text_bytes > 0) return {{"name", column.name}, {"kind", "text"}, {"bytes", column.text_bytes}};
  return {{"name", column.name}, {"kind", "number"},    {"mean", column.mean},      {"deviation", column.deviation},
          {"low", column.low},   {"high", column.high}, {"missing", column.missing}};
}

ordered_json json_of(const DatasetColumn& input) {
  ordered_json json = {{"name", input.name}, {"type", to_string(input.type)}, {"shape", input.shape}};
  if (input.type == ColumnType::uint8) {
    json["scale"] = input.scale;
    json["offset"] = input.offset;
  }
  return json;
}

ordered_json json_of(const ContractTarget& target) {
  ordered_json json;
  if (!target.column.empty()) json["column"] = target.column;
  json["kind"] = target.is_number ? "number" : "class";
  if (target.is_number) {
    json.update({{"mean", target.mean}, {"deviation", target.deviation}, {"low", target.low}, {"high", target.high}});
    if (target.is_standardised) json["standardise"] = true;
  } else {
    json["classes"] = target.classes;
  }
  if (target.cells > 1) json["cells"] = target.cells;
  return json;
}

// Takes members of one object; the first that is missing or of another kind is remembered.
class Reader {
 public:
  Reader(const ordered_json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("", "an object");
  }

  const ordered_json* member(const char* key, bool (ordered_json::*is)() const noexcept, const char* kind) {
    const auto found = json_.is_object() ? json_.find(key) : json_.end();
    if (json_.is_object() && found != json_.end() && ((*found).*is)()) return &*found;
    fail(key, kind);
    return nullptr;
  }
  std::string text(const char* key) {
    const ordered_json* found = member(key, &ordered_json::is_string, "a string");
    return found ? found->get<std::string>() : std::string();
  }
  double number(const char* key) {
    const ordered_json* found = member(key, &ordered_json::is_number, "a number");
    const double value = found ? found->get<double>() : 0;
    if (!std::isfinite(value)) fail(key, "a finite number");
    return value;
  }
  uint64_t count(const char* key) {
    const ordered_json* found = member(key, &ordered_json::is_number_unsigned, "a count");
    return found ? found->get<uint64_t>() : 0;
  }
  bool flag(const char* key) {
    const ordered_json* found = member(key, &ordered_json::is_boolean, "true or false");
    return found && found->get<bool>();
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> all;
    const ordered_json* found = member(key, &ordered_json::is_array, "an array of strings");
    if (!found) return all;
    for (const ordered_json& one : *found) {
      if (!one.is_string()) fail(key, "an array of strings");
      else all.push_back(one.get<std::string>());
    }
    return all;
  }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  void fail(const std::string& key, const std::string& expected) {
    if (!problem_) problem_ = bad(where_ + (key.empty() ? "" : "/" + key), "expected " + expected);
  }
  Status status() const { return problem_ ? Status(*problem_) : Status(); }

 private:
  const ordered_json& json_;
  std::string where_;
  std::optional<Error> problem_;
};

Result<ContractColumn> parse_column(const ordered_json& json, const std::string& where) {
  Reader reader(json, where);
  ContractColumn column{.name = reader.text("name")};
  const std::string kind = reader.text("kind");
  column.is_category = kind == "category";
  if (column.is_category) {
    column.values = reader.texts("values");
    for (size_t i = 1; i < column.values.size(); ++i) {
      if (!comes_before(column.values[i - 1], column.values[i])) {
        reader.fail("values", "numbers by size, then texts by bytes, each once");
      }
    }
  } else if (kind == "number") {
    column.mean = reader.number("mean");
    column.deviation = reader.number("deviation");
    column.low = reader.number("low");
    column.high = reader.number("high");
    column.missing = reader.count("missing");
    if (column.deviation < 0) reader.fail("deviation", "no negative number");
  } else if (kind == "text") {
    const uint64_t bytes = reader.count("bytes");
    if (bytes < 1 || bytes > kTextBytesMax) reader.fail("bytes", "1 to " + std::to_string(kTextBytesMax));
    else column.text_bytes = static_cast<uint32_t>(bytes);
  } else {
    reader.fail("kind", "number, category or text");
  }
  COT_TRY(reader.status());
  return column;
}

Result<DatasetColumn> parse_input(const ordered_json& json, const std::string& where) {
  Reader reader(json, where);
  DatasetColumn input{.name = reader.text("name"), .type = ColumnType::float32, .shape = {}};
  const std::string type = reader.text("type");
  for (const ColumnType each : {ColumnType::float32, ColumnType::int32, ColumnType::uint8}) {
    if (to_string(each) == type) input.type = each;
  }
  if (to_string(input.type) != type) reader.fail("type", "float32, int32 or uint8");
  if (const ordered_json* shape = reader.member("shape", &ordered_json::is_array, "an array of sizes")) {
    for (const ordered_json& size : *shape) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() > INT32_MAX) reader.fail("shape", "an array of sizes");
      else input.shape.push_back(size.get<int64_t>());
    }
  }
  if (input.type == ColumnType::uint8) {
    input.scale = static_cast<float>(reader.number("scale"));
    input.offset = static_cast<float>(reader.number("offset"));
  }
  COT_TRY(reader.status());
  return input;
}

Result<ContractTarget> parse_target(const ordered_json& json, const std::string& where) {
  Reader reader(json, where);
  ContractTarget target;
  if (reader.has("column")) target.column = reader.text("column");
  const std::string kind = reader.text("kind");
  target.is_number = kind == "number";
  if (target.is_number) {
    target.mean = reader.number("mean");
    target.deviation = reader.number("deviation");
    target.low = reader.number("low");
    target.high = reader.number("high");
    if (reader.has("standardise")) target.is_standardised = reader.flag("standardise");
    if (target.deviation < 0) reader.fail("deviation", "no negative number");
    // As float32 both stand in the data's header.
    if (std::abs(target.mean) > kTargetMax || target.deviation > kTargetMax) reader.fail("mean", "at most 1e30");
  } else if (kind == "class") {
    target.classes = reader.texts("classes");
    std::vector<std::string> sorted = target.classes;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.empty() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      reader.fail("classes", "at least one class, each once");
    }
  } else {
    reader.fail("kind", "class or number");
  }
  if (reader.has("cells")) {
    target.cells = reader.count("cells");
    if (target.cells < 1 || target.cells > kTargetCellsMax) {
      reader.fail("cells", "1 to " + std::to_string(kTargetCellsMax));
    }
  }
  if (target.is_standardised && target.cells > 1) reader.fail("standardise", "false: several numbers stay as they are");
  COT_TRY(reader.status());
  return target;
}

// One of several, whose numbers stay as they are.
Result<std::vector<ContractTarget>> parse_targets(const ordered_json& json) {
  std::vector<ContractTarget> targets;
  if (!json.is_array() || json.size() < 2 || json.size() > kContractTargetsMax) {
    return bad("/targets", "expected an array of 2 to " + std::to_string(kContractTargetsMax) + " targets");
  }
  for (const ordered_json& one : json) {
    const std::string where = "/targets/" + std::to_string(targets.size());
    COT_ASSIGN(ContractTarget target, parse_target(one, where));
    if (target.is_standardised || target.cells > 1) {
      return bad(where, "expected one number as it is, or a class: neither standardise nor cells");
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace

size_t ContractColumn::width(bool one_hot) const {
  if (is_category) return one_hot ? values.size() : 1;
  if (text_bytes > 0) return text_bytes;
  return missing > 0 ? 2 : 1;
}

std::string to_json_text(const InputContract& contract) {
  ordered_json json = {{"schema", kSchema}, {"kind", contract.kind}, {"name", contract.name}};
  json["standardise"] = contract.standardise;
  json["one_hot"] = contract.one_hot;
  json["refuses_missing"] = contract.refuses_missing;
  json["columns"] = ordered_json::array();
  for (const ContractColumn& column : contract.columns) json["columns"].push_back(json_of(column));
  json["inputs"] = ordered_json::array();
  for (const DatasetColumn& input : contract.inputs) json["inputs"].push_back(json_of(input));
  if (contract.targets.empty()) {
    json["target"] = json_of(contract.target);
  } else {
    json["targets"] = ordered_json::array();
    for (const ContractTarget& target : contract.targets) json["targets"].push_back(json_of(target));
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<InputContract> parse_contract(std::string_view text) {
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return Error(ErrorCode::malformed, "is not JSON");
  Reader reader(json, "");
  const std::string schema = reader.text("schema");
  COT_TRY(reader.status());
  if (schema != kSchema) {
    return Error(ErrorCode::unsupported_version, "/schema: expected " + std::string(kSchema) + ", is " + schema);
  }
  InputContract contract{.kind = reader.text("kind"), .name = reader.text("name")};
  contract.standardise = reader.flag("standardise");
  contract.one_hot = reader.flag("one_hot");
  contract.refuses_missing = reader.flag("refuses_missing");
  const ordered_json* columns = reader.member("columns", &ordered_json::is_array, "an array");
  const ordered_json* inputs = reader.member("inputs", &ordered_json::is_array, "an array");
  const bool has_several = reader.has("targets");
  if (has_several && reader.has("target")) reader.fail("targets", "target or targets, not both");
  const ordered_json* target = has_several ? reader.member("targets", &ordered_json::is_array, "an array")
                                           : reader.member("target", &ordered_json::is_object, "an object");
  COT_TRY(reader.status());
  if (columns->size() > kColumnsMax || inputs->size() > kColumnsMax) return bad("/columns", "expected fewer of them");
  for (const ordered_json& one : *columns) {
    COT_ASSIGN(ContractColumn column, parse_column(one, "/columns/" + std::to_string(contract.columns.size())));
    contract.columns.push_back(std::move(column));
  }
  for (const ordered_json& one : *inputs) {
    COT_ASSIGN(DatasetColumn input, parse_input(one, "/inputs/" + std::to_string(contract.inputs.size())));
    contract.inputs.push_back(std::move(input));
  }
  if (has_several) {
    COT_ASSIGN(contract.targets, parse_targets(*target));
  } else {
    COT_ASSIGN(contract.target, parse_target(*target, "/target"));
  }
  if (contract.inputs.empty()) return bad("/inputs", "expected at least one");
  if (!contract.columns.empty() && contract.inputs != inputs_of(contract)) {
    return bad("/inputs", "expected the shape that the columns become");
  }
  return contract;
}

Result<InputContract> read_contract(const std::string& path) {
  COT_ASSIGN(const Bytes file, os::read_file(path, kContractBytesMax));
  Result<InputContract> contract = parse_contract(as_text(file));
  if (!contract) return contract.error().with_context(path);
  return contract;
}

ContractColumn fit_numbers(std::string name, std::span<const double> values, std::span<const uint32_t> rows) {
  ContractColumn column{.name = std::move(name)};
  double sum = 0, squares = 0;
  column.low = std::numeric_limits<double>::infinity();
  column.high = -column.low;
  uint64_t count = 0;
  for (const uint32_t row : rows) {
    if (std::isnan(values[row])) continue;
    ++count;
    sum += values[row];
    column.low = std::min(column.low, values[row]);
    column.high = std::max(column.high, values[row]);
  }
  column.missing = rows.size() - count;
  if (count == 0) {
    column.low = column.high = 0;
    return column;
  }
  column.mean = sum / static_cast<double>(count);
  if (column.low == column.high) {
    column.mean = column.low;  // no rounding: a constant is exactly itself
    return column;
  }
  for (const uint32_t row : rows) {
    const double x = std::isnan(values[row]) ? 0 : values[row] - column.mean;
    squares += x * x;
  }
  column.deviation = std::sqrt(squares / static_cast<double>(count));
  return column;
}

void add_standard(const ContractColumn& column, bool standardise, double value, std::vector<float>& numbers) {
  const bool is_absent = std::isnan(value);
  const double known = is_absent ? column.mean : value;
  const double factor = column.deviation > 0 ? 1 / column.deviation : 0;
  numbers.push_back(static_cast<float>(standardise ? (known - column.mean) * factor : known));
  if (column.missing > 0) numbers.push_back(is_absent ? 1.f : 0.f);
}

std::vector<DatasetColumn> inputs_of(const InputContract& contract) {
  size_t numbers = 0, codes = 0;
  for (const ContractColumn& column : contract.columns) {
    const bool is_code = column.is_category && !contract.one_hot;
    (is_code ? codes : numbers) += column.width(contract.one_hot);
  }
  std::vector<DatasetColumn> inputs;
  const auto add = [&inputs](const char* name, ColumnType type, size_t width) {
    if (width > 0) inputs.push_back({.name = name, .type = type, .shape = {static_cast<int64_t>(width)}});
  };
  add(contract.one_hot ? "features" : "numbers", ColumnType::float32, numbers);
  add("categories", ColumnType::int32, codes);
  return inputs;
}

}  // namespace coterie
