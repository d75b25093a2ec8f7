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

#include <memory>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "base/error.h"

namespace coterie {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)), has_value_(true) {}  // NOLINT(google-explicit-constructor)
  COT_INLINE Result(Error error) : error_(std::move(error)), has_value_(false) {}  // NOLINT
  template <typename U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, T> && !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : value_(std::forward<U>(value)), has_value_(true) {}  // NOLINT

  Result(const Result& other)
    requires(std::is_copy_constructible_v<T>)
      : has_value_(other.has_value_) {
    if (has_value_) std::construct_at(&value_, other.value_);
    else std::construct_at(&error_, other.error_);
  }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(other.has_value_) {
    if (has_value_) std::construct_at(&value_, std::move(other.value_));
    else std::construct_at(&error_, std::move(other.error_));
  }
  // By value: what is assigned is there in whole before what was is destroyed.
  Result& operator=(Result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
    return *this;
  }
  ~Result() {
    if (has_value_) value_.~T();
    else error_.~Error();
  }

  COT_INLINE bool has_value() const { return has_value_; }
  COT_INLINE explicit operator bool() const { return has_value(); }

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
    return error_;
  }
  COT_INLINE Error&& error() && {
    COT_ASSERT(!has_value());
    return std::move(error_);
  }

 private:
  T& checked() {
    COT_ASSERT(has_value());
    return value_;
  }

  union {
    T value_;
    Error error_;
  };
  bool has_value_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  COT_INLINE Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  COT_INLINE bool has_value() const { return error_.content_ == nullptr; }
  COT_INLINE explicit operator bool() const { return has_value(); }
  const Error& error() const& {
    COT_ASSERT(!has_value());
    return error_;
  }
  COT_INLINE Error&& error() && {
    COT_ASSERT(!has_value());
    return std::move(error_);
  }

 private:
  Error error_;
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
