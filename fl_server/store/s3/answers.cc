#include "fl_server/store/s3/answers.h"

#include <algorithm>
#include <charconv>

#include "fl_server/store/s3/xml.h"

namespace coterie::s3 {
namespace {

Error odd(const std::string& what) { return Error(ErrorCode::malformed, "the store's answer: " + what); }

Result<ListedObject> parse_object(const XmlElement& contents) {
  ListedObject object{.key = std::string(contents.child_text("Key")), .size = 0, .modified = {}};
  const std::string_view size = contents.child_text("Size");
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), object.size);
  const std::optional<WallTime> modified = parse_iso_time(contents.child_text("LastModified"));
  if (object.key.empty() || object.key.size() > kKeyBytesMax)
    return odd("an object has no key, or one that is too long");
  if (size.empty() || error != std::errc() || end != size.data() + size.size()) return odd("an object has no size");
  if (!modified) return odd("an object has no LastModified that can be read");
  object.modified = *modified;
  return object;
}

// Keeps printable ASCII alone, so that a hostile store writes nothing into a log but words.
std::string words_of(std::string_view text) {
  std::string words(text.substr(0, kErrorWordsMax));
  for (char& c : words) {
    if (c < ' ' || c > '~') c = '?';
  }
  return words;
}

bool is_one_of(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::ranges::find(codes, code) != codes.end();
}

struct Meaning {
  ErrorCode code;
  bool again;
};

// Amazon S3 API reference, "Error responses"; by status where a store has a code of its own.
Meaning meaning_of(int status, std::string_view code) {
  if (is_one_of(code, {"BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "IncompleteBody"})) {
    return {ErrorCode::data_loss, true};  // what came there is not what was sent
  }
  if (code == "InvalidPart") return {ErrorCode::data_loss, false};  // nor is it the next time
  if (code == "AuthorizationHeaderMalformed") return {ErrorCode::permission_denied, false};
  if (is_one_of(code, {"SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted"})) {
    return {ErrorCode::unavailable, true};
  }
  if (is_one_of(code, {"QuotaExceeded", "XMinioStorageFull"}) || status == 507) return {ErrorCode::storage_full, false};
  if (code == "EntityTooLarge") return {ErrorCode::too_large, false};
  if (code == "NoSuchBucket") return {ErrorCode::unavailable, false};
  if (status == 404) return {ErrorCode::not_found, false};
  if (status == 401 || status == 403) return {ErrorCode::permission_denied, false};
  if (status == 412) return {ErrorCode::conflict, false};
  if (status == 416) return {ErrorCode::data_loss, false};
  if (status == 429 || (status >= 500 && status != 501)) return {ErrorCode::unavailable, true};
  if (status >= 300 && status < 400) return {ErrorCode::unavailable, false};
  return {ErrorCode::internal, false};
}

std::string advice_for(int status, std::string_view code) {
  if (code == "NoSuchBucket") return "; create the bucket, or correct its name in the configuration";
  if (status >= 300 && status < 400) return "; redirects are not followed: correct the endpoint and the region";
  if (code == "AuthorizationHeaderMalformed") return "; correct the region";
  if (code == "SignatureDoesNotMatch") return "; correct the secret key and the region";
  return "";
}

}  // namespace

Result<ListPage> parse_list(std::string_view xml) {
  COT_ASSIGN(const XmlElement root, parse_xml(xml));
  if (root.name != "ListBucketResult")
    return odd("<ListBucketResult> was expected, <" + words_of(root.name) + "> was seen");
  ListPage page;
  for (const XmlElement& child : root.children) {
    if (child.name != "Contents") continue;
    if (page.objects.size() == kListedMax) return odd("a page of a list has more than 1000 objects");
    COT_ASSIGN(ListedObject object, parse_object(child));
    page.objects.push_back(std::move(object));
  }
  const std::string_view is_truncated = root.child_text("IsTruncated");
  if (is_truncated != "true" && is_truncated != "false") return odd("a list does not say whether it is truncated");
  if (is_truncated == "true") page.next = root.child_text("NextContinuationToken");
  if (page.next.size() > kTokenBytesMax || (is_truncated == "true" && page.next.empty())) {
    return odd("a truncated list has no token to go on with, or one that is too long");
  }
  return page;
}

Result<std::string> parse_upload_id(std::string_view xml) {
  COT_ASSIGN(const XmlElement root, parse_xml(xml));
  std::string id(root.child_text("UploadId"));
  if (root.name != "InitiateMultipartUploadResult" || id.empty() || id.size() > kTokenBytesMax) {
    return odd("an upload that was begun has no id, or one that is too long");
  }
  return id;
}

Failure failure_of(int status, std::string_view body, const std::string& what) {
  std::string code, words;
  if (const Result<XmlElement> root = parse_xml(body); root && root->name == "Error") {
    code = words_of(root->child_text("Code"));
    words = words_of(root->child_text("Message"));
  }
  const Meaning meaning = meaning_of(status, code);
  std::string text = what + ": the store answered " + std::to_string(status);
  if (!code.empty()) text += " " + code;
  if (!words.empty()) text += " (" + words + ")";
  return {Error(meaning.code, text + advice_for(status, code)), code, meaning.again};
}

bool is_error_body(std::string_view body) {
  const Result<XmlElement> root = parse_xml(body);
  return root && root->name == "Error";
}

}  // namespace coterie::s3
