#include "tools/data_cache/stored_data.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/utf8.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"

namespace coterie {
namespace {

using nlohmann::json;

Error bad(const std::string& what) { return Error(ErrorCode::malformed, "data in an entry: " + what); }

bool are_texts(const std::vector<std::string>& texts) {
  return std::ranges::all_of(texts, [](const std::string& text) { return is_utf8(text); });
}

// As a data set file has them at most.
bool fits(const ExampleTable& table) {
  uint64_t bytes = 0;
  for (const ColumnBytes& column : table.columns) bytes += column.size();
  return table.size() > 0 && table.size() <= limits::kDatasetExamplesMax && bytes <= limits::kPayloadBytesMax;
}

struct GroupPlaces {
  std::vector<std::string> names;
  Bytes places;
};

GroupPlaces places_of(const std::vector<std::string>& groups) {
  GroupPlaces made;
  std::map<std::string_view, uint32_t> known;
  made.places.reserve(groups.size() * sizeof(uint32_t));
  for (const std::string& group : groups) {
    const auto [at, is_new] = known.emplace(group, static_cast<uint32_t>(known.size()));
    if (is_new) made.names.push_back(group);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&at->second);
    made.places.insert(made.places.end(), bytes, bytes + sizeof(uint32_t));
  }
  return made;
}

Result<std::vector<std::string>> groups_of(const std::vector<std::string>& names, ByteView places, uint64_t examples) {
  if (places.size() / sizeof(uint32_t) != examples || places.size() % sizeof(uint32_t) != 0) {
    return bad("not a group for each example");
  }
  std::vector<std::string> groups;
  groups.reserve(examples);
  for (size_t at = 0; at < places.size(); at += sizeof(uint32_t)) {
    uint32_t place = 0;
    std::memcpy(&place, &places[at], sizeof place);
    if (place >= names.size()) return bad("a group that is none of " + std::to_string(names.size()));
    groups.push_back(names[place]);
  }
  return groups;
}

// A view of the block's payload, cut into columns; one of numbers that does not lie on their border is copied.
Result<ExampleTable> table_of(ByteView file, const std::shared_ptr<const void>& keeper) {
  COT_ASSIGN(Decoded<DatasetHeader> dataset, decode_dataset(file));
  ExampleTable table{std::move(dataset.header), {}};
  ByteView left = dataset.payload;
  const auto take = [&](const DatasetColumn& info) {
    const ByteView bytes = left.first(static_cast<size_t>(example_bytes(info).value() * table.header.examples));
    left = left.subspan(bytes.size());
    const bool is_aligned = reinterpret_cast<uintptr_t>(bytes.data()) % element_bytes(info.type) == 0;
    table.columns.push_back(is_aligned ? ColumnBytes(bytes, keeper) : ColumnBytes(Bytes(bytes.begin(), bytes.end())));
  };
  for (const DatasetColumn& input : table.header.inputs) take(input);
  take(table.header.target);
  return table;
}

struct Said {
  InputContract contract;
  bool is_by_contract = false, has_held_out = false;
  std::vector<std::string> notes, groups;
};

Result<Said> said_in(ByteView block) {
  const json text = json::parse(as_text(block), nullptr, false);
  const auto is_list = [&](const char* key) {
    return text.contains(key) && text[key].is_array() &&
           std::ranges::all_of(text[key], [](const json& each) { return each.is_string(); });
  };
  const auto is_flag = [&](const char* key) { return text.contains(key) && text[key].is_boolean(); };
  if (!text.is_object() || !text.contains("contract") || !text["contract"].is_string() || !is_flag("by_contract") ||
      !is_flag("held_out") || !is_list("notes") || !is_list("groups")) {
    return bad("expected a contract, flags, notes and groups");
  }
  Said said;
  COT_ASSIGN(said.contract, parse_contract(text["contract"].get_ref<const std::string&>()));
  said.is_by_contract = text["by_contract"].get<bool>();
  said.has_held_out = text["held_out"].get<bool>();
  said.notes = text["notes"].get<std::vector<std::string>>();
  said.groups = text["groups"].get<std::vector<std::string>>();
  return said;
}

bool is_same_table(const ExampleTable& a, const ExampleTable& b) {
  return a.header == b.header && a.columns == b.columns;
}

}  // namespace

std::vector<Bytes> blocks_of(const TrainingData& data) {
  const GroupPlaces groups = places_of(data.groups);
  const std::string contract = to_json_text(data.contract);
  const bool can_be = fits(data.examples) && (!data.held_out || fits(*data.held_out)) && are_texts(data.notes) &&
                      are_texts(groups.names) && is_utf8(contract);
  if (!can_be) return {};
  const json said = {{"contract", contract},
                     {"by_contract", data.is_by_contract},
                     {"notes", data.notes},
                     {"groups", groups.names},
                     {"held_out", data.held_out.has_value()}};
  const std::string text = said.dump();
  std::vector<Bytes> blocks = {Bytes(text.begin(), text.end()), dataset_file(data.examples)};
  if (data.held_out) blocks.push_back(dataset_file(*data.held_out));
  if (!groups.places.empty()) blocks.push_back(groups.places);
  return blocks;
}

Result<TrainingData> data_of(std::span<const ByteView> blocks, const std::shared_ptr<const void>& keeper) {
  if (blocks.empty()) return bad("it has no blocks");
  COT_ASSIGN(Said said, said_in(blocks[0]));
  const size_t expected = 2u + (said.has_held_out ? 1 : 0) + (said.groups.empty() ? 0 : 1);
  if (blocks.size() != expected) return bad("it has not the blocks that it speaks of");
  TrainingData data;
  data.contract = std::move(said.contract);
  data.is_by_contract = said.is_by_contract;
  data.notes = std::move(said.notes);
  COT_ASSIGN(data.examples, table_of(blocks[1], keeper));
  data.examples_file = ColumnBytes(blocks[1], keeper);
  if (data.examples.header.inputs != data.contract.inputs) return bad("its contract is of other examples");
  if (said.has_held_out) {
    COT_ASSIGN(data.held_out, table_of(blocks[2], keeper));
    data.held_out_file = ColumnBytes(blocks[2], keeper);
    if (data.held_out->header.inputs != data.contract.inputs) return bad("its held-out part has other inputs");
  }
  if (!said.groups.empty()) {
    COT_ASSIGN(data.groups, groups_of(said.groups, blocks.back(), data.examples.size()));
  }
  return data;
}

bool is_same(const TrainingData& a, const TrainingData& b) {
  if (a.held_out.has_value() != b.held_out.has_value()) return false;
  return a.contract == b.contract && a.is_by_contract == b.is_by_contract && a.notes == b.notes &&
         a.groups == b.groups && is_same_table(a.examples, b.examples) &&
         (!a.held_out || is_same_table(*a.held_out, *b.held_out));
}

}  // namespace coterie
