#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace coterie {
namespace {

using enum RetryClass;

struct Row {
  ErrorCode code;
  std::string_view name;
  int http_status;
  int c_status;
  RetryClass retry;
};

// The table again, on purpose: names, HTTP and C statuses are promises to operators and to apps that are installed
// already. A change here is a change of the wire and of the ABI. Codes may be added, never renamed or renumbered.
constexpr Row kPromised[] = {
    {ErrorCode::invalid_argument, "invalid_argument", 400, 1, never},
    {ErrorCode::malformed, "malformed", 400, 2, never},
    {ErrorCode::unsupported_version, "unsupported_version", 400, 3, never},
    {ErrorCode::unauthenticated, "unauthenticated", 401, 4, never},
    {ErrorCode::permission_denied, "permission_denied", 403, 5, never},
    {ErrorCode::not_found, "not_found", 404, 6, never},
    {ErrorCode::conflict, "conflict", 409, 7, never},
    {ErrorCode::round_closed, "round_closed", 409, 8, check_in},
    {ErrorCode::ticket_expired, "ticket_expired", 410, 9, check_in},
    {ErrorCode::too_large, "too_large", 413, 10, never},
    {ErrorCode::length_required, "length_required", 411, 11, never},
    {ErrorCode::rate_limited, "rate_limited", 429, 12, window},
    {ErrorCode::overloaded, "overloaded", 503, 13, window},
    {ErrorCode::unavailable, "unavailable", 503, 14, backoff},
    {ErrorCode::storage_full, "storage_full", 507, 15, backoff},
    {ErrorCode::timed_out, "timed_out", 408, 16, backoff},
    {ErrorCode::data_loss, "data_loss", 500, 17, never},
    {ErrorCode::refused, "refused", 422, 18, never},
    {ErrorCode::cancelled, "cancelled", 499, 19, never},
    {ErrorCode::internal, "internal", 500, 20, backoff},
};

TEST(ErrorTable, KeepsEveryPromiseInEnumeratorOrder) {
  const auto rows = all_error_traits();
  ASSERT_EQ(rows.size(), std::size(kPromised));
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(std::string(kPromised[i].name));
    EXPECT_EQ(static_cast<size_t>(rows[i].code), i + 1) << "rows stand in enumerator order";
    EXPECT_EQ(rows[i].code, kPromised[i].code);
    EXPECT_EQ(rows[i].name, kPromised[i].name);
    EXPECT_EQ(rows[i].http_status, kPromised[i].http_status);
    EXPECT_EQ(rows[i].c_status, kPromised[i].c_status);
    EXPECT_EQ(rows[i].retry, kPromised[i].retry);
  }
}

TEST(ErrorTable, EveryEnumeratorHasARow) {
  // -Wswitch (in -Wall) breaks the build here when an enumerator is added; then add its row above and in error.cc.
  for (const ErrorTraits& row : all_error_traits()) {
    switch (row.code) {
      case ErrorCode::invalid_argument:
      case ErrorCode::malformed:
      case ErrorCode::unsupported_version:
      case ErrorCode::unauthenticated:
      case ErrorCode::permission_denied:
      case ErrorCode::not_found:
      case ErrorCode::conflict:
      case ErrorCode::round_closed:
      case ErrorCode::ticket_expired:
      case ErrorCode::too_large:
      case ErrorCode::length_required:
      case ErrorCode::rate_limited:
      case ErrorCode::overloaded:
      case ErrorCode::unavailable:
      case ErrorCode::storage_full:
      case ErrorCode::timed_out:
      case ErrorCode::data_loss:
      case ErrorCode::refused:
      case ErrorCode::cancelled:
      case ErrorCode::internal: break;
    }
    EXPECT_EQ(&traits(row.code), &row);
  }
}

TEST(ErrorTable, NamesAreUniqueSnakeCaseAndStatusesAreSane) {
  std::set<std::string_view> names;
  std::set<std::string_view> titles;
  std::set<int> c_statuses;
  for (const ErrorTraits& row : all_error_traits()) {
    SCOPED_TRACE(std::string(row.name));
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_TRUE(titles.insert(row.title).second);
    EXPECT_TRUE(c_statuses.insert(row.c_status).second);
    EXPECT_THAT(std::string(row.name), testing::MatchesRegex("[a-z_]+"));
    EXPECT_FALSE(row.title.empty());
    EXPECT_GT(row.c_status, 0) << "0 is success";
    EXPECT_GE(row.http_status, 400);
    EXPECT_LT(row.http_status, 600);
    if (row.retry == window) {
      EXPECT_TRUE(row.http_status == 429 || row.http_status == 503) << "statuses that carry Retry-After";
    }
  }
}

TEST(ErrorTable, ACodeOutsideTheTableIsInternal) {
  EXPECT_EQ(traits(static_cast<ErrorCode>(0)).code, ErrorCode::internal);
  EXPECT_EQ(traits(static_cast<ErrorCode>(21)).code, ErrorCode::internal);
  EXPECT_EQ(traits(static_cast<ErrorCode>(255)).code, ErrorCode::internal);
}

TEST(ErrorTable, FindsACodeByItsStableName) {
  for (const ErrorTraits& row : all_error_traits()) EXPECT_EQ(error_code_from_name(row.name), row.code);
  EXPECT_EQ(error_code_from_name("a_code_of_a_newer_server"), ErrorCode::internal);
  EXPECT_EQ(error_code_from_name(""), ErrorCode::internal);
  EXPECT_EQ(error_code_from_name("Malformed"), ErrorCode::internal) << "names are exact";
}

TEST(Error, KeepsCodeAndSentenceAndGainsContext) {
  const Error error(ErrorCode::malformed, "ends 3 bytes too early");
  EXPECT_EQ(error.name(), "malformed");
  const Error outer = error.with_context("model file a.cot");
  EXPECT_EQ(outer.code(), ErrorCode::malformed);
  EXPECT_EQ(outer.message(), "model file a.cot: ends 3 bytes too early");
  EXPECT_EQ(error.message(), "ends 3 bytes too early");
  EXPECT_FALSE(error == outer);
  EXPECT_TRUE(error == Error(ErrorCode::malformed, "ends 3 bytes too early"));
  EXPECT_EQ(error.reason(), "");
}

TEST(Error, KeepsItsReason) {
  const Error error(ErrorCode::conflict, "two of one device", "equivocation");
  EXPECT_EQ(error.reason(), "equivocation");
  EXPECT_EQ(error.with_context("round 3").reason(), "equivocation");
  EXPECT_FALSE(error == Error(ErrorCode::conflict, "two of one device"));
}

}  // namespace
}  // namespace coterie
