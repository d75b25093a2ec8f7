#include <algorithm>

#include "base/checked.h"
#include "base/json/json_scanner.h"
#include "model_import/weights/little_endian.h"
#include "model_import/weights/read_weights.h"

namespace coterie::model_import {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kHeaderBytesMax = 100'000'000;  // the format's own
constexpr size_t kTextBytesMax = 1u << 20;         // of the free text in __metadata__

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, what); }
Error bad_header() {
  return malformed("is no safetensors file: its header is not the JSON {name: {dtype, shape, data_offsets}}");
}

struct TypeName {
  std::string_view name;
  WeightType type;
};
constexpr TypeName kTypes[] = {{"F32", WeightType::float32}, {"F64", WeightType::float64},
                               {"F16", WeightType::float16}, {"BF16", WeightType::bfloat16},
                               {"I64", WeightType::int64},   {"I32", WeightType::int32},
                               {"I16", WeightType::int16},   {"I8", WeightType::int8},
                               {"U8", WeightType::uint8},    {"BOOL", WeightType::boolean}};

// A string of at most so many bytes.
std::optional<std::string> string_in(JsonScanner& json, size_t bytes_max) {
  std::string text;
  if (!json.string(text) || text.size() > bytes_max) return std::nullopt;
  return text;
}

struct Entry {
  WeightTensor tensor;
  uint64_t begin = 0, end = 0;
};

// [1, 2, 3]
Result<std::vector<uint64_t>> numbers(JsonScanner& json, size_t count_max) {
  std::vector<uint64_t> values;
  if (!json.take('[')) return bad_header();
  if (json.take(']')) return values;
  do {
    uint64_t value = 0;
    if (!json.unsigned_integer(value)) return bad_header();
    if (values.size() == count_max) {
      return Error(ErrorCode::too_large, "has a list of more than " + std::to_string(count_max) + " numbers");
    }
    values.push_back(value);
  } while (json.take(','));
  if (!json.take(']')) return bad_header();
  return values;
}

Status read_field(JsonScanner& json, Entry& entry, std::string_view key) {
  if (key == "dtype") {
    const std::optional<std::string> name = string_in(json, kWeightNameBytesMax);
    if (!name) return bad_header();
    const auto* const type = std::ranges::find(kTypes, *name, &TypeName::name);
    if (type == std::end(kTypes)) {
      return Error(ErrorCode::invalid_argument,
                   "is of the type " + *name + ", expected F32, F64, F16, BF16 or integers");
    }
    entry.tensor.type = type->type;
    return {};
  }
  if (key == "shape") {
    COT_ASSIGN(const std::vector<uint64_t> sizes, numbers(json, kWeightRankMax));
    for (const uint64_t size : sizes) {
      if (size > kWeightElementsMax) return Error(ErrorCode::too_large, "has more than 2^31 elements");
      entry.tensor.shape.push_back(static_cast<int64_t>(size));
    }
    return {};
  }
  if (key != "data_offsets") return bad_header();
  COT_ASSIGN(const std::vector<uint64_t> offsets, numbers(json, 2));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) return malformed("has offsets that are none");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return {};
}

Result<Entry> read_entry(JsonScanner& json, std::string name) {
  Entry entry{.tensor = {.name = std::move(name)}};
  std::vector<std::string> keys;
  if (!json.take('{')) return bad_header();
  do {
    const std::optional<std::string> key = string_in(json, kWeightNameBytesMax);
    if (!key || std::ranges::find(keys, *key) != keys.end() || !json.take(':')) return bad_header();
    COT_TRY(read_field(json, entry, *key));
    keys.push_back(*key);
  } while (json.take(','));
  // Three different ones, each of which read_field knows: all of them.
  if (!json.take('}') || keys.size() != 3) return bad_header();
  return entry;
}

// {"format": "pt"}: words for people.
bool skip_metadata(JsonScanner& json) {
  if (!json.take('{')) return false;
  if (json.take('}')) return true;
  do {
    if (!string_in(json, kTextBytesMax) || !json.take(':') || !string_in(json, kTextBytesMax)) return false;
  } while (json.take(','));
  return json.take('}');
}

Result<std::vector<Entry>> read_header(std::string_view text) {
  JsonScanner json(text);
  std::vector<Entry> entries;
  if (!json.take('{')) return bad_header();
  if (!json.take('}')) {
    do {
      std::optional<std::string> name = string_in(json, kWeightNameBytesMax);
      if (!name || !json.take(':')) return bad_header();
      if (*name == "__metadata__") {
        if (!skip_metadata(json)) return bad_header();
        continue;
      }
      if (entries.size() == kWeightTensorsMax) return Error(ErrorCode::too_large, "has more than 65,536 tensors");
      Result<Entry> entry = read_entry(json, *name);
      if (!entry) return entry.error().with_context(*name);
      entries.push_back(std::move(*entry));
    } while (json.take(','));
    if (!json.take('}')) return bad_header();
  }
  if (!json.end()) return bad_header();
  return entries;
}

}  // namespace

Result<WeightTable> read_safetensors(ByteView file) {
  if (file.size() < kLengthBytes) return malformed("is no safetensors file: it is cut short");
  const uint64_t length = u64_at(file, 0);
  if (length > kHeaderBytesMax) return Error(ErrorCode::too_large, "has a safetensors header of more than 100 MB");
  if (length > file.size() - kLengthBytes) return malformed("is a safetensors file that ends within its header");
  COT_ASSIGN(std::vector<Entry> entries, read_header(as_text(file.subspan(kLengthBytes, length))));
  const ByteView data = file.subspan(kLengthBytes + length);
  WeightTable table{.format = WeightFormat::safetensors, .tensors = {}, .notes = {}};
  std::vector<std::pair<uint64_t, uint64_t>> places;
  for (Entry& entry : entries) {
    if (entry.end > data.size()) return malformed(entry.tensor.name + " reaches past the end of the file");
    const uint64_t bytes = entry.end - entry.begin;
    entry.tensor.content = {.parts = {data.subspan(entry.begin, bytes)}, .plain_bytes = bytes};
    entry.tensor.strides = plain_strides(entry.tensor.shape);
    if (const Status checked = check_tensor(entry.tensor); !checked) {
      return checked.error().with_context(entry.tensor.name);
    }
    uint64_t expected = element_bytes(entry.tensor.type);
    for (const int64_t size : entry.tensor.shape) expected *= static_cast<uint64_t>(size);
    if (bytes != expected) {
      return malformed(entry.tensor.name + " has " + std::to_string(bytes) + " bytes, expected " +
                       std::to_string(expected) + " for its shape");
    }
    places.emplace_back(entry.begin, entry.end);
  }
  std::sort(places.begin(), places.end());
  uint64_t end = 0;
  for (const auto& [from, to] : places) {
    if (from != end) return malformed("has a hole between its tensors, or two that overlap");
    end = to;
  }
  if (end != data.size()) return malformed("has bytes behind its last tensor");
  // In the order of their bytes: JSON has none, and writers sort the names.
  std::ranges::stable_sort(entries, {}, &Entry::begin);
  for (Entry& entry : entries) table.tensors.push_back(std::move(entry.tensor));
  COT_TRY(check_table(table));
  return table;
}

}  // namespace coterie::model_import
