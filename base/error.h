// Error: what went wrong, for whom, and whether asking again can help.
//
// One table (error.cc) says for each code its HTTP status, its status in the C ABI, its metric label and its retry
// class. Adding a code means adding one row; a test fails while the C header or the documentation lags behind it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

// What comes to few instructions once the compiler sees who calls it, also where it optimises for size.
#define COT_INLINE [[gnu::always_inline]]

namespace coterie {

template <typename T>
class Result;

enum class ErrorCode : uint8_t {
  invalid_argument = 1,  // the request itself is wrong; the same bytes will never work
  malformed,             // bytes that do not decode: truncated, garbage, out of range
  unsupported_version,   // a frame or file of a format version this build does not speak
  unauthenticated,       // missing, bad or stale signature or token
  permission_denied,     // known, but not allowed: foreign ticket, revoked device
  not_found,
  conflict,         // the object is not in a state that allows this
  round_closed,     // the round (attempt) takes no more updates
  ticket_expired,   // the ticket's time is over; check in again
  too_large,        // over a named limit
  length_required,  // a device sent a body without Content-Length
  rate_limited,     // this caller asks too often
  overloaded,       // the server sheds load; the retry window says when
  unavailable,      // a dependency (store, network) does not answer now
  storage_full,     // the disk has no room
  timed_out,
  data_loss,  // stored bytes fail their checksum
  refused,    // the device's own policy says no: older model, bad signature
  cancelled,
  internal,  // a defect of ours
};

// Whether and how the same intent may be tried again.
enum class RetryClass : uint8_t {
  never,     // the request is wrong, repeating it cannot help
  backoff,   // transient: repeat with jittered exponential back-off
  window,    // repeat inside the retry window that came with the error
  check_in,  // start again from a check-in
};

struct ErrorTraits {
  ErrorCode code;
  std::string_view name;  // stable, snake_case: JSON "code", metric label, documentation anchor
  int http_status;
  int c_status;  // value of the coterie_status enumerator in coterie.h
  RetryClass retry;
  std::string_view title;
};

// The row of `code`; every enumerator has one.
const ErrorTraits& traits(ErrorCode code);

// All rows, in enumerator order: for tests, documentation and the C header check.
std::span<const ErrorTraits> all_error_traits();

// The code with this stable name, or `internal` if there is none (an answer of a newer server).
ErrorCode error_code_from_name(std::string_view name);

// A code plus one sentence for a person: names the thing, what was expected, what was seen, what to do.
// Never contains private data (tensors, tokens, keys, raw device ids).
//
// One pointer wide, as each function that can fail carries it. One that was moved from is only to be assigned to or
// destroyed.
class [[nodiscard]] Error {
 public:
  // `reason` outlives every error: a literal.
  Error(ErrorCode code, std::string_view message, std::string_view reason = {});
  Error(const Error& other);
  COT_INLINE Error(Error&& other) noexcept : content_(std::exchange(other.content_, nullptr)) {}
  Error& operator=(Error other) noexcept {
    std::swap(content_, other.content_);
    return *this;
  }
  COT_INLINE ~Error() {
    if (content_ != nullptr) destroy(content_);
  }

  ErrorCode code() const;
  const std::string& message() const;
  std::string_view name() const { return traits(code()).name; }
  // Which rule of a protocol was broken, stable and in snake_case, where one code stands for many rules; mostly empty.
  std::string_view reason() const;

  // The same error, its sentence preceded by what the caller was doing: "model file a.cot: <message>".
  Error with_context(std::string_view context) const;

  friend bool operator==(const Error& a, const Error& b);

 private:
  friend class Result<void>;  // it has none where nothing failed
  struct Content;

  Error() = default;
  static void destroy(Content* content);

  Content* content_ = nullptr;
};

}  // namespace coterie
