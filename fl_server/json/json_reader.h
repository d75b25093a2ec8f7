// JsonReader: takes a JSON object apart field by field and collects everything that is wrong with it.
//
//   Problems problems;
//   JsonReader reader(json, "", problems);
//   reader.read("name", settings.name);              // absent: keeps the default
//   JsonReader rounds = reader.object("rounds");
//   rounds.read("count", settings.rounds.count);
//   rounds.finish(); reader.finish();            // whatever was not asked for is an unknown key
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/problem.h"
#include "base/time.h"

namespace coterie {

class JsonReader {
 public:
  // `json` must be an object (else that is the one problem) and outlive the reader.
  JsonReader(const nlohmann::json& json, std::string pointer, Problems& problems);

  bool has(const char* key) const;
  void read(const char* key, std::string& value);
  void read(const char* key, bool& value);
  void read(const char* key, uint16_t& value);
  void read(const char* key, uint32_t& value);
  void read(const char* key, uint64_t& value);
  void read(const char* key, std::optional<int32_t>& value);
  void read(const char* key, float& value);  // finite as a float, too: an infinity could not be written again
  void read(const char* key, double& value);
  void read(const char* key, Millis& value);  // an integer; the key's name ends in _ms or has _ms_
  void read(const char* key, Digest& value);
  void read(const char* key, std::optional<Digest>& value);
  void read(const char* key, std::vector<std::string>& value);
  void read(const char* key, std::vector<float>& value);                  // finite as floats, each
  void read(const char* key, std::vector<double>& value);                 // likewise
  void read(const char* key, std::map<std::string, std::string>& value);  // an object whose values are strings
  // One of `names`; the value is the index.
  void read_choice(const char* key, std::initializer_list<std::string_view> names, size_t& index);
  void read_choice(const char* key, std::span<const std::string_view> names, size_t& index);
  // The same of an enum that counts from 1.
  template <typename Kind>
  void read_kind(const char* key, std::span<const std::string_view> names, Kind& kind) {
    size_t index = static_cast<size_t>(kind) - 1;
    read_choice(key, names, index);
    kind = static_cast<Kind>(index + 1);
  }
  // The object under `key`; an absent one reads as empty.
  JsonReader object(const char* key);
  // The objects of the list under `key`, in its order; an absent list is empty.
  std::vector<JsonReader> objects(const char* key);

  void require(const char* key);
  void problem(std::string_view key, std::string detail);
  void finish();

 private:
  const nlohmann::json* find(const char* key);
  template <typename T>
  void read_unsigned(const char* key, T& value);

  const nlohmann::json* json_;
  std::string pointer_;
  Problems* problems_;
  std::set<std::string, std::less<>> known_;
};

// Text to JSON; one problem with the place if it does not parse. Depth is limited to 32.
std::optional<nlohmann::json> parse_json(std::string_view text, Problems& problems);

// All of them in one line, each behind its pointer: for people who see no problem document.
std::string listed(const Problems& problems);

}  // namespace coterie
