// Values across the C boundary: structs that grow with the library's versions, texts, statuses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "base/result.h"
#include "coterie.h"
#include "coterie_train.h"

namespace coterie {

inline coterie_status status_of(const Error& error) {
  return static_cast<coterie_status>(traits(error.code()).c_status);
}

// What the struct measured in 0.1, the first release: nobody can have a smaller one. A member that is added
// behind its last one leaves these as they are: offsetof the new member.
template <typename T>
inline constexpr size_t kFirstReleaseBytes = sizeof(T);
template <>
inline constexpr size_t kFirstReleaseBytes<coterie_dataset> = offsetof(coterie_dataset, read_example);

template <>
inline constexpr size_t kFirstReleaseBytes<coterie_options> = offsetof(coterie_options, policy);

template <>
inline constexpr size_t kFirstReleaseBytes<coterie_policy> = offsetof(coterie_policy, corrupt_share_min);

template <>
inline constexpr size_t kFirstReleaseBytes<coterie_requirements> = offsetof(coterie_requirements, training_bytes_max);

template <>
inline constexpr size_t kFirstReleaseBytes<coterie_train_options> = offsetof(coterie_train_options, augment);
template <>
inline constexpr size_t kFirstReleaseBytes<coterie_train_memory> = offsetof(coterie_train_memory, narrowed_bytes_saved);
template <>
inline constexpr size_t kFirstReleaseBytes<coterie_progress> = offsetof(coterie_progress, hold);

template <>
inline constexpr size_t kFirstReleaseBytes<coterie_model_info> = offsetof(coterie_model_info, output_count);

template <typename T>
Status check_size(const T& given, const char* name) {
  if (given.struct_size >= kFirstReleaseBytes<T>) return {};
  return Error(ErrorCode::invalid_argument, std::string(name) + ".struct_size is " + std::to_string(given.struct_size) +
                                                "; set it to sizeof the struct, at least " +
                                                std::to_string(kFirstReleaseBytes<T>));
}

// The caller's struct, as large as it knows it, on top of zeros: members it does not have mean 0. In whole words: half
// a pointer is none.
template <typename T>
Result<T> known_part(const T* given, const char* name) {
  COT_TRY(check_size(*given, name));
  T whole{};
  std::memcpy(&whole, given, std::min(given->struct_size, sizeof whole) / sizeof(void*) * sizeof(void*));
  return whole;
}

// The reverse, for structs that we fill; precondition: check_size.
template <typename T>
void fill_known_part(T& target, T filled) {
  const size_t target_size = target.struct_size;
  const size_t size = std::min(target_size, sizeof filled);
  filled.struct_size = target_size;
  auto* bytes = reinterpret_cast<uint8_t*>(&target);
  std::memcpy(bytes, &filled, size);
  std::memset(bytes + size, 0, target_size - size);
}

// As much of the text as fits, and a final 0; nothing if `into` is null.
inline void write_text(std::string_view text, char* into, size_t into_size) {
  if (into == nullptr || into_size == 0) return;
  const size_t size = std::min(text.size(), into_size - 1);
  std::memcpy(into, text.data(), size);
  into[size] = 0;
}

}  // namespace coterie
