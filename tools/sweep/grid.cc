#include "tools/sweep/grid.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/cli/table.h"
#include "tools/compare/comparison.h"

namespace coterie {
namespace {

using nlohmann::json;

Error wrong(std::string message) { return Error(ErrorCode::invalid_argument, std::move(message)); }

// The parts of `text` between `divider`s that are in no brackets and no quotes.
std::vector<std::string_view> parts_of(std::string_view text, char divider) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool is_quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) is_quoted = !is_quoted;
    if (is_quoted) continue;
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c != divider || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string> keys_of(std::string_view path) {
  std::vector<std::string> keys;
  for (const std::string_view key : parts_of(path, '.')) keys.emplace_back(key);
  return keys;
}

Result<std::pair<std::string, std::string_view>> path_and_rest(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals + 1 == text.size()) {
    return wrong("`" + printable(text) + "` is no setting; write FIELD=VALUE, as in training.local_epochs=2");
  }
  const std::string path(text.substr(0, equals));
  for (const std::string& key : keys_of(path)) {
    if (key.empty()) return wrong("`" + printable(path) + "` is no field: a key is empty");
  }
  return std::pair(path, text.substr(equals + 1));
}

// A word that is no JSON is itself: fedavg, masked.
std::string value_of(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  return (value.is_discarded() ? json(std::string(text)) : value).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string words_of(const std::string& value) {
  const json parsed = json::parse(value);
  return parsed.is_string() ? parsed.get<std::string>() : value;
}

// Which path is told from the others by its last keys, and how many those are.
class ShortNames {
 public:
  void add(const std::string& path) { paths_.insert(path); }
  std::string of(const std::string& path) const {
    const std::vector<std::string> keys = keys_of(path);
    std::string name;
    for (size_t i = keys.size(); i-- > 0;) {
      name = keys[i] + (name.empty() ? "" : "." + name);
      const auto also = [&](const std::string& other) { return other == name || other.ends_with("." + name); };
      if (std::ranges::count_if(paths_, also) == 1) break;
    }
    return name;
  }

 private:
  std::set<std::string> paths_;
};

std::string name_of(const std::vector<FieldValue>& fields, const ShortNames& names) {
  std::string name;
  for (const FieldValue& field : fields) {
    name += (name.empty() ? "" : ", ") + names.of(field.path) + "=" + words_of(field.value);
  }
  return name.empty() ? "the job" : name;
}

Status check_once(const std::vector<FieldValue>& fields) {
  std::set<std::string_view> seen;
  for (const FieldValue& field : fields) {
    if (!seen.insert(field.path).second) return wrong("`" + printable(field.path) + "` is set twice in one variant");
  }
  return {};
}

}  // namespace

Result<FieldValues> parse_field_values(std::string_view text) {
  COT_ASSIGN(const auto parsed, path_and_rest(text));
  FieldValues field{.path = parsed.first, .values = {}};
  for (const std::string_view value : parts_of(parsed.second, ',')) {
    if (value.empty()) return wrong("`" + printable(text) + "` has a value that is empty");
    field.values.push_back(value_of(value));
  }
  return field;
}

Result<std::vector<FieldValue>> parse_variant(std::string_view text) {
  std::vector<FieldValue> fields;
  for (const std::string_view part : parts_of(text, ';')) {
    COT_ASSIGN(const auto parsed, path_and_rest(part));
    fields.push_back({parsed.first, value_of(parsed.second)});
  }
  return fields;
}

Result<std::vector<JobVariant>> variants_of(const std::vector<std::vector<FieldValue>>& list,
                                            const std::vector<FieldValues>& grid) {
  std::vector<JobVariant> variants;
  if (list.empty()) variants.push_back({});
  for (const std::vector<FieldValue>& fields : list) variants.push_back({"", fields});
  for (const FieldValues& setting : grid) {
    std::vector<JobVariant> more;
    if (variants.size() * setting.values.size() > kVariantsMax) {
      return Error(ErrorCode::too_large,
                   "there are more than " + std::to_string(kVariantsMax) + " variants; sweep fewer values at once");
    }
    for (const JobVariant& variant : variants) {
      for (const std::string& value : setting.values) {
        more.push_back(variant);
        more.back().fields.push_back({setting.path, value});
      }
    }
    variants = std::move(more);
  }
  ShortNames names;
  for (const JobVariant& variant : variants) {
    COT_TRY(check_once(variant.fields));
    for (const FieldValue& field : variant.fields) names.add(field.path);
  }
  std::set<std::string> taken;
  for (JobVariant& variant : variants) {
    variant.name = name_of(variant.fields, names);
    if (!taken.insert(variant.name).second)
      return wrong("the variant `" + printable(variant.name) + "` is there twice");
  }
  return variants;
}

Result<json> with_fields(json job, const std::vector<FieldValue>& fields) {
  for (const FieldValue& field : fields) {
    json* at = &job;
    for (const std::string& key : keys_of(field.path)) {
      if (at->is_null()) *at = json::object();
      if (!at->is_object()) {
        return wrong("`" + printable(field.path) + "` is no field of the job: what `" + printable(key) +
                     "` would be in is no object");
      }
      at = &(*at)[key];
    }
    *at = json::parse(field.value);
  }
  return job;
}

}  // namespace coterie
