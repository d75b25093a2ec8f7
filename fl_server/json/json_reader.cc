#include "fl_server/json/json_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/json/json_pointer.h"
#include "base/text/suggest.h"

namespace coterie {
namespace {

const nlohmann::json& empty_object() {
  static const nlohmann::json empty = nlohmann::json::object();
  return empty;
}

constexpr double kInfiniteFrom = 0x1.ffffffp127;  // half a step above the largest float

bool is_float(double value) { return value > -kInfiniteFrom && value < kInfiniteFrom; }

}  // namespace

JsonReader::JsonReader(const nlohmann::json& json, std::string pointer, Problems& problems)
    : json_(&json), pointer_(std::move(pointer)), problems_(&problems) {
  if (!json.is_object()) {
    problems_->push_back({pointer_, "must be an object"});
    json_ = &empty_object();
  }
}

const nlohmann::json* JsonReader::find(const char* key) {
  known_.insert(key);
  const auto found = json_->find(key);
  return found == json_->end() ? nullptr : &*found;
}

bool JsonReader::has(const char* key) const { return json_->contains(key); }

void JsonReader::problem(std::string_view key, std::string detail) {
  problems_->push_back({pointer_ + pointer_step(key), std::move(detail)});
}

void JsonReader::require(const char* key) {
  if (!has(key)) problem(key, "is required");
}

void JsonReader::read(const char* key, std::string& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  if (json->is_string()) value = json->get<std::string>();
  else problem(key, "must be a string");
}

void JsonReader::read(const char* key, bool& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  if (json->is_boolean()) value = json->get<bool>();
  else problem(key, "must be true or false");
}

template <typename T>
void JsonReader::read_unsigned(const char* key, T& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  const bool is_whole = json->is_number_integer() && (json->is_number_unsigned() || json->get<int64_t>() >= 0);
  if (is_whole && json->get<uint64_t>() <= std::numeric_limits<T>::max()) {
    value = json->get<T>();
  } else {
    problem(key, "must be an integer in [0, " + std::to_string(std::numeric_limits<T>::max()) + "]");
  }
}

void JsonReader::read(const char* key, uint16_t& value) { read_unsigned(key, value); }
void JsonReader::read(const char* key, uint32_t& value) { read_unsigned(key, value); }
void JsonReader::read(const char* key, uint64_t& value) { read_unsigned(key, value); }

void JsonReader::read(const char* key, std::optional<int32_t>& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  using Limits = std::numeric_limits<int32_t>;
  // An unsigned number above what is signed would come as a negative one.
  const bool is_signed =
      json->is_number_integer() && (!json->is_number_unsigned() || json->get<uint64_t>() <= uint64_t{Limits::max()});
  if (is_signed && json->get<int64_t>() >= Limits::min() && json->get<int64_t>() <= Limits::max()) {
    value = json->get<int32_t>();
  } else {
    problem(key, "must be an integer of 32 bits such as -100 or 255");
  }
}

void JsonReader::read(const char* key, double& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  if (json->is_number()) value = json->get<double>();
  else problem(key, "must be a number");
}

void JsonReader::read(const char* key, float& value) {
  double wide = static_cast<double>(value);
  read(key, wide);
  if (is_float(wide)) value = static_cast<float>(wide);
  else problem(key, "must be a number in [-3.4e38, 3.4e38]");
}

void JsonReader::read(const char* key, Millis& value) {
  uint32_t count = static_cast<uint32_t>(value.count());
  read_unsigned(key, count);
  value = Millis(count);
}

void JsonReader::read(const char* key, Digest& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  if (json->is_string()) {
    if (const Result<Digest> digest = Digest::from_hex(json->get<std::string>())) {
      value = *digest;
      return;
    }
  }
  problem(key, "must be a digest: 64 lower-case hexadecimal digits");
}

void JsonReader::read(const char* key, std::optional<Digest>& value) {
  if (!has(key)) return;
  Digest digest;
  const size_t before = problems_->size();
  read(key, digest);
  if (problems_->size() == before) value = digest;
}

void JsonReader::read(const char* key, std::vector<std::string>& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  std::vector<std::string> items;
  if (json->is_array()) {
    for (const nlohmann::json& item : *json) {
      if (!item.is_string()) return problem(key, "must be a list of strings");
      items.push_back(item.get<std::string>());
    }
    value = std::move(items);
    return;
  }
  problem(key, "must be a list of strings");
}

void JsonReader::read(const char* key, std::vector<float>& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_array()) return problem(key, "must be a list of numbers");
  std::vector<float> items;
  for (const nlohmann::json& item : *json) {
    const double wide = item.is_number() ? item.get<double>() : kInfiniteFrom;
    if (!is_float(wide)) return problem(key, "must be a list of numbers in [-3.4e38, 3.4e38]");
    items.push_back(static_cast<float>(wide));
  }
  value = std::move(items);
}

void JsonReader::read(const char* key, std::vector<double>& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  const bool is_list = json->is_array() && std::ranges::all_of(*json, [](const auto& item) {
                         return item.is_number() && std::isfinite(item.template get<double>());
                       });
  if (!is_list) return problem(key, "must be a list of finite numbers");
  value = json->get<std::vector<double>>();
}

void JsonReader::read(const char* key, std::map<std::string, std::string>& value) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_object()) return problem(key, "must be an object whose values are strings");
  std::map<std::string, std::string> entries;
  for (const auto& [name, entry] : json->items()) {
    if (!entry.is_string()) return problem(key, "must be an object whose values are strings");
    entries[name] = entry.get<std::string>();
  }
  value = std::move(entries);
}

void JsonReader::read_choice(const char* key, std::initializer_list<std::string_view> names, size_t& index) {
  read_choice(key, std::span(names.begin(), names.size()), index);
}

void JsonReader::read_choice(const char* key, std::span<const std::string_view> names, size_t& index) {
  const nlohmann::json* json = find(key);
  if (json == nullptr) return;
  std::string listed;
  size_t position = 0;
  for (std::string_view name : names) {
    if (json->is_string() && json->get<std::string>() == name) {
      index = position;
      return;
    }
    listed += (position++ == 0 ? "" : ", ") + std::string(name);
  }
  problem(key, "must be one of: " + listed);
}

JsonReader JsonReader::object(const char* key) {
  const nlohmann::json* json = find(key);
  return JsonReader(json == nullptr ? empty_object() : *json, pointer_ + pointer_step(key), *problems_);
}

std::vector<JsonReader> JsonReader::objects(const char* key) {
  std::vector<JsonReader> readers;
  const nlohmann::json* json = find(key);
  if (json == nullptr) return readers;
  if (!json->is_array()) {
    problem(key, "must be a list of objects");
    return readers;
  }
  const std::string pointer = pointer_ + pointer_step(key) + "/";
  for (const nlohmann::json& item : *json) {
    readers.emplace_back(item, pointer + std::to_string(readers.size()), *problems_);
  }
  return readers;
}

void JsonReader::finish() {
  for (const auto& [key, value] : json_->items()) {
    if (known_.contains(key)) continue;
    problem(key, "unknown key" + or_meant(key, {known_.begin(), known_.end()}));
  }
}

std::optional<nlohmann::json> parse_json(std::string_view text, Problems& problems) {
  using Event = nlohmann::json::parse_event_t;
  constexpr int kDepthMax = 32;
  bool too_deep = false;
  std::optional<std::string> twice;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int depth, Event event, nlohmann::json& parsed) {
    too_deep |= depth >= kDepthMax && (event == Event::object_start || event == Event::array_start);
    if (too_deep || twice) return false;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event != Event::key) return true;
    const std::string& key = parsed.get_ref<const std::string&>();
    if (!keys.back().insert(key).second) twice = key;
    return !twice;
  };
  if (text.find('\0') != std::string_view::npos) {  // the parser would take it for the text's end
    problems.push_back({"", "has a NUL character"});
    return std::nullopt;
  }
  try {
    nlohmann::json json = nlohmann::json::parse(text, watch);
    if (!too_deep && !twice) return json;
    problems.push_back({"", twice ? "has the key \"" + *twice + "\" twice in one object"
                                  : std::string("is nested more than 32 levels deep")});
  } catch (const nlohmann::json::exception& error) {
    const std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const size_t bracket = what.find("] ");
    problems.push_back({"", bracket == std::string::npos ? what : what.substr(bracket + 2)});
  }
  return std::nullopt;
}

std::string listed(const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    text += (text.empty() ? "" : "; ") + (problem.pointer.empty() ? "" : problem.pointer + ": ") + problem.detail;
  }
  return text;
}

}  // namespace coterie
