#include "base/error.h"

#include <array>

#include "base/text/concat.h"

namespace coterie {
namespace {

using enum ErrorCode;

constexpr std::array kTable = {
    // code               name                   http  C  retry                 title
    ErrorTraits{invalid_argument, "invalid_argument", 400, 1, RetryClass::never, "Invalid argument"},
    ErrorTraits{malformed, "malformed", 400, 2, RetryClass::never, "Malformed bytes"},
    ErrorTraits{unsupported_version, "unsupported_version", 400, 3, RetryClass::never, "Unsupported version"},
    ErrorTraits{unauthenticated, "unauthenticated", 401, 4, RetryClass::never, "Not authenticated"},
    ErrorTraits{permission_denied, "permission_denied", 403, 5, RetryClass::never, "Permission denied"},
    ErrorTraits{not_found, "not_found", 404, 6, RetryClass::never, "Not found"},
    ErrorTraits{conflict, "conflict", 409, 7, RetryClass::never, "Conflicting state"},
    ErrorTraits{round_closed, "round_closed", 409, 8, RetryClass::check_in, "Round closed"},
    ErrorTraits{ticket_expired, "ticket_expired", 410, 9, RetryClass::check_in, "Ticket expired"},
    ErrorTraits{too_large, "too_large", 413, 10, RetryClass::never, "Too large"},
    ErrorTraits{length_required, "length_required", 411, 11, RetryClass::never, "Content-Length required"},
    ErrorTraits{rate_limited, "rate_limited", 429, 12, RetryClass::window, "Rate limited"},
    ErrorTraits{overloaded, "overloaded", 503, 13, RetryClass::window, "Overloaded"},
    ErrorTraits{unavailable, "unavailable", 503, 14, RetryClass::backoff, "Unavailable"},
    ErrorTraits{storage_full, "storage_full", 507, 15, RetryClass::backoff, "Storage full"},
    ErrorTraits{timed_out, "timed_out", 408, 16, RetryClass::backoff, "Timed out"},
    ErrorTraits{data_loss, "data_loss", 500, 17, RetryClass::never, "Stored data is damaged"},
    ErrorTraits{refused, "refused", 422, 18, RetryClass::never, "Refused by the device"},
    ErrorTraits{cancelled, "cancelled", 499, 19, RetryClass::never, "Cancelled"},
    ErrorTraits{internal, "internal", 500, 20, RetryClass::backoff, "Internal error"},
};

}  // namespace

struct Error::Content {
  ErrorCode code;
  std::string_view reason;
  std::string message;
  friend bool operator==(const Content&, const Content&) = default;
};

Error::Error(ErrorCode code, std::string_view message, std::string_view reason)
    : content_(new Content{code, reason, std::string(message)}) {}

Error::Error(const Error& other) : content_(other.content_ == nullptr ? nullptr : new Content(*other.content_)) {}

void Error::destroy(Content* content) { delete content; }

ErrorCode Error::code() const { return content_->code; }

const std::string& Error::message() const { return content_->message; }

std::string_view Error::reason() const { return content_->reason; }

Error Error::with_context(std::string_view context) const {
  return Error(code(), concat({context, ": ", message()}), reason());
}

bool operator==(const Error& a, const Error& b) { return *a.content_ == *b.content_; }

const ErrorTraits& traits(ErrorCode code) {
  const size_t index = static_cast<size_t>(code) - 1;
  return index < kTable.size() ? kTable[index] : kTable.back();
}

std::span<const ErrorTraits> all_error_traits() { return kTable; }

ErrorCode error_code_from_name(std::string_view name) {
  for (const ErrorTraits& row : kTable) {
    if (row.name == name) return row.code;
  }
  return internal;
}

}  // namespace coterie
