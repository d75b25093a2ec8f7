// Result<T>: a value or an Error, never dropped in silence.
//
// Member names are std::expected's (C++23), so that this file can become an alias one day. No function of ours lets an
// exception cross a folder's API; it returns one of these.
//
//   Result<Model> load(ByteView bytes);
//   Status check(const Model&);
//
//   Status use(ByteView bytes) {
//     COT_ASSIGN(Model model, load(bytes));   // returns the error to our caller, or defines `model`
//     COT_TRY(check(model));
//     return {};
//   }
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "base/error.h"

namespace coterie {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  template <typename U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, T> && !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

  template <typename U>
  T value_or(U&& fallback) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(fallback));
  }

  const Error& error() const& {
    COT_ASSERT(!has_value());
    return std::get<1>(state_);
  }
  Error&& error() && {
    COT_ASSERT(!has_value());
    return std::move(std::get<1>(state_));
  }

 private:
  T& checked() {
    COT_ASSERT(has_value());
    return std::get<0>(state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    COT_ASSERT(failed_);
    return error_;
  }

 private:
  Error error_{ErrorCode::internal, {}};
  bool failed_ = false;
};

using Status = Result<void>;

}  // namespace coterie

#define COT_CONCAT_INNER(a, b) a##b
#define COT_CONCAT(a, b) COT_CONCAT_INNER(a, b)

// Returns the error of a Result<...> expression to our caller; goes on otherwise.
#define COT_TRY(expr)                                                                \
  do {                                                                               \
    if (auto cot_status = (expr); !cot_status) return std::move(cot_status).error(); \
  } while (false)

// As COT_TRY, and defines `declaration` from the value.
#define COT_ASSIGN(declaration, expr) COT_ASSIGN_IMPL(COT_CONCAT(cot_result_, __LINE__), declaration, expr)
#define COT_ASSIGN_IMPL(temporary, declaration, expr)  \
  auto temporary = (expr);                             \
  if (!temporary) return std::move(temporary).error(); \
  declaration = std::move(*temporary)
