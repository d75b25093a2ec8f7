// AWS Signature Version 4, as the Amazon S3 API reference has it ("Authenticating Requests: Using the
// Authorization Header", "Using Query Parameters"): what is signed, and how. Pure.
//
// A path is taken as it is: S3 keys are never normalized. Names and values of queries and the path are given
// as they are meant, and encoded here; whoever sends the request must send encoded_path() and
// encoded_query().
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "fl_server/store/s3/credentials.h"

namespace coterie::s3 {

using Fields = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

struct SignedRequest {
  std::string method = "GET";
  std::string path = "/";  // begins with /
  Fields query;
  Fields headers;            // all that are signed; names in lower case; "host" among them
  std::string payload_hash;  // SHA-256 in hexadecimal, or kUnsignedPayload
};

// Where and when a signature is good: its credential scope. `service` is "s3" but in tests.
struct Scope {
  WallTime time;
  std::string region;
  std::string service = "s3";
};

std::string encoded_path(std::string_view path);
std::string encoded_query(const Fields& query);  // sorted

std::string amz_time(WallTime time);  // 20130524T000000Z

std::string canonical_request(const SignedRequest& request);
std::string signed_header_names(const SignedRequest& request);
std::string string_to_sign(const SignedRequest& request, const Scope& scope);
std::string signature(const SignedRequest& request, const Scope& scope, const Credentials& credentials);

// The value of the header Authorization. The request's headers must have x-amz-date, of the scope's time.
std::string authorization(const SignedRequest& request, const Scope& scope, const Credentials& credentials);

inline constexpr int64_t kPresignedSecondsMax = 604'800;  // seven days, says S3

// The request's query with everything that makes it good for `seconds` from the scope's time for whoever has
// it. seconds in [1, kPresignedSecondsMax]. The payload is not signed.
Fields presigned_query(SignedRequest request, const Scope& scope, const Credentials& credentials, int64_t seconds);

}  // namespace coterie::s3
