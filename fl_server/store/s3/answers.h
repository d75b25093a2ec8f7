// What an S3 store's answers mean: pages of lists, multipart uploads, errors, times. Pure; every answer is a
// stranger's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace coterie::s3 {

inline constexpr size_t kKeyBytesMax = 1024;    // S3: of an object's key
inline constexpr size_t kTokenBytesMax = 4096;  // of a continuation token or an upload id: ours
inline constexpr size_t kListedMax = 1000;      // S3: objects of one page
inline constexpr size_t kErrorWordsMax = 300;   // of the store's own sentence that go into ours

struct ListedObject {
  std::string key;
  uint64_t size = 0;
  WallTime modified;
};

struct ListPage {
  std::vector<ListedObject> objects;
  std::string next;  // where the next page begins; empty: this was the last
};

Result<ListPage> parse_list(std::string_view xml);          // ListObjectsV2
Result<std::string> parse_upload_id(std::string_view xml);  // CreateMultipartUpload

// What a status that is no success says, or a body that is an error in spite of its status.
struct Failure {
  Error error;
  std::string code;  // S3's, as "SlowDown"; empty if the answer does not say
  bool is_worth_trying_again;
};

// `body` is whatever came: not XML is fine. `what` was being done: "PUT blobs/ab..".
Failure failure_of(int status, std::string_view body, const std::string& what);

// Whether the answer with status 200 is an error in spite of it, as CompleteMultipartUpload's may be.
bool is_error_body(std::string_view body);

std::optional<WallTime> parse_http_date(
    std::string_view text);                                     // Fri, 24 May 2013 00:00:00 GMT: RFC 9110's IMF-fixdate
std::optional<WallTime> parse_iso_time(std::string_view text);  // 2013-05-24T00:00:00.000Z

}  // namespace coterie::s3
