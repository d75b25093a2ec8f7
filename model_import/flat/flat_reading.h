// What readers of model files share that are FlatBuffers: TFLite's and MindSpore Lite's.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "base/result.h"

namespace coterie::model_import {

inline Error malformed(const std::string& why) { return Error(ErrorCode::malformed, why); }
inline Error too_many(const char* what, size_t seen, size_t most) {
  return Error(ErrorCode::too_large,
               "the model has " + std::to_string(seen) + " " + what + ", at most " + std::to_string(most));
}

template <typename Vector>
size_t size_of(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// FlatBuffers' verifier asks the length of a list to be aligned, not its numbers.
inline int64_t number_at(const flatbuffers::Vector<int64_t>& list, size_t i) {
  int64_t number;
  std::memcpy(&number, list.Data() + i * sizeof(number), sizeof(number));
  return number;
}

// A name of at most so many bytes, and never empty.
inline std::string name_or(const flatbuffers::String* text, const char* absent, size_t bytes_max) {
  if (text == nullptr || text->size() == 0) return absent;
  return std::string(text->c_str(), std::min<size_t>(text->size(), bytes_max));
}

// `name`, or one after it and its place where another has it, which is then taken.
inline std::string taken_name(std::string name, size_t place, std::set<std::string>& taken) {
  if (taken.contains(name)) name += "#" + std::to_string(place);
  while (!taken.insert(name).second) name += "'";
  return name;
}

}  // namespace coterie::model_import
