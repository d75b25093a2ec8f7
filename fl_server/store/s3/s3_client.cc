#include "fl_server/store/s3/s3_client.h"

#include <charconv>
#include <optional>

#include "fl_server/store/s3/xml.h"
#include "secure/crypto/sha256.h"

namespace coterie::s3 {
namespace {

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string checksum_of(ByteView body) {
  std::string text = to_base64url(sha256(body).view());  // 32 bytes: 43 characters and one of padding
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  return text + "=";
}

Error lost(const std::string& what) { return Error(ErrorCode::data_loss, what); }

// Some stores echo the checksum of what they keep.
Status check_echo(const HttpsReply& reply, const std::string& checksum) {
  const std::string_view echo = reply.header("x-amz-checksum-sha256");
  if (echo.empty() || echo == checksum) return {};
  return lost("the store says that it keeps other bytes than it was sent");
}

Result<std::string> etag_of(const HttpsReply& reply) {
  const std::string_view etag = reply.header("etag");
  if (etag.size() > kETagBytesMax) return Error(ErrorCode::malformed, "the answer's ETag has more than 256 characters");
  return std::string(etag);
}

// 206 with exactly these bytes, or 200 where they are all there are.
Status check_range(const HttpsReply& reply, uint64_t offset, uint64_t count, const std::string& etag) {
  const std::string wanted = "bytes " + std::to_string(offset) + "-" + std::to_string(offset + count - 1) + "/";
  const bool is_part = reply.status == 206 && reply.header("content-range").starts_with(wanted);
  if (!is_part && (reply.status != 200 || offset != 0)) return lost("the answer is not the range that was asked for");
  if (reply.body.size() != count) {
    return lost("the answer has " + std::to_string(reply.body.size()) + " bytes, " + std::to_string(count) +
                " were expected");
  }
  if (const std::string_view seen = reply.header("etag"); !etag.empty() && seen != etag) {
    return lost("the answer is of another object than that which was opened");
  }
  return {};
}

}  // namespace

Status S3Client::put(const std::string& key, ByteView body) {
  const std::string checksum = checksum_of(body);
  const BucketRequest request{
      .method = "PUT", .key = key, .query = {}, .headers = {{"x-amz-checksum-sha256", checksum}}, .body = body};
  COT_TRY(sender_.send(request, [&](const HttpsReply& reply) { return check_echo(reply, checksum); }));
  return {};
}

Result<ObjectInfo> S3Client::head(const std::string& key) {
  COT_ASSIGN(const HttpsReply reply,
             sender_.send({.method = "HEAD", .key = key, .query = {}, .headers = {}, .body = {}}));
  const std::optional<uint64_t> size = number(reply.header("content-length"));
  if (!size) return Error(ErrorCode::malformed, "S3 HEAD " + key + ": the answer has no Content-Length");
  COT_ASSIGN(std::string etag, etag_of(reply));
  return ObjectInfo{*size, std::move(etag)};
}

Result<Bytes> S3Client::get(const std::string& key, uint64_t offset, uint64_t count, const std::string& etag) {
  COT_ASSERT(count > 0 && count <= kGetBytesMax && offset <= UINT64_MAX - count);
  BucketRequest request{.method = "GET", .key = key, .query = {}, .headers = {}, .body = {}, .answer_bytes_max = count};
  request.headers.emplace_back("range", "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + count - 1));
  if (!etag.empty()) request.headers.emplace_back("if-match", etag);
  Result<HttpsReply> reply =
      sender_.send(request, [&](const HttpsReply& r) { return check_range(r, offset, count, etag); });
  if (!reply && reply.error().code() == ErrorCode::conflict)
    return lost(reply.error().message() + ": the object is another now");
  COT_TRY(reply);
  return std::move(reply->body);
}

Status S3Client::remove(const std::string& key) {
  const Result<HttpsReply> reply =
      sender_.send({.method = "DELETE", .key = key, .query = {}, .headers = {}, .body = {}});
  if (!reply && reply.error().code() != ErrorCode::not_found) return reply.error();
  return {};
}

Result<DatedPage> S3Client::list(const std::string& prefix, const std::string& token) {
  BucketRequest request{
      .method = "GET", .key = {}, .query = {{"list-type", "2"}, {"prefix", prefix}}, .headers = {}, .body = {}};
  request.answer_bytes_max = kXmlBytesMax;
  if (!token.empty()) request.query.emplace_back("continuation-token", token);
  COT_ASSIGN(const HttpsReply reply, sender_.send(request));
  COT_ASSIGN(ListPage page, parse_list(as_text(reply.body)));
  const std::optional<WallTime> now = parse_http_date(reply.header("date"));
  if (!now) return Error(ErrorCode::malformed, "S3 list of " + prefix + ": the answer has no Date that can be read");
  return DatedPage{std::move(page), *now};
}

Result<std::string> S3Client::begin_upload(const std::string& key) {
  const BucketRequest request{.method = "POST",
                              .key = key,
                              .query = {{"uploads", ""}},
                              .headers = {{"x-amz-checksum-algorithm", "SHA256"}},
                              .body = {}};
  COT_ASSIGN(const HttpsReply reply, sender_.send(request));
  return parse_upload_id(as_text(reply.body));
}

Result<Part> S3Client::put_part(const std::string& key, const std::string& upload, uint32_t number, ByteView body) {
  COT_ASSERT(number >= 1 && number <= kPartsMax);
  Part part{.etag = {}, .checksum = checksum_of(body)};
  const BucketRequest request{.method = "PUT",
                              .key = key,
                              .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
                              .headers = {{"x-amz-checksum-sha256", part.checksum}},
                              .body = body};
  COT_ASSIGN(const HttpsReply reply,
             sender_.send(request, [&](const HttpsReply& r) { return check_echo(r, part.checksum); }));
  COT_ASSIGN(part.etag, etag_of(reply));
  if (part.etag.empty()) return Error(ErrorCode::malformed, "S3 PUT " + key + ": a part's answer has no ETag");
  return part;
}

Status S3Client::complete_upload(const std::string& key, const std::string& upload, const std::vector<Part>& parts) {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (size_t i = 0; i < parts.size(); ++i) {
    body += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" + xml_escaped(parts[i].etag) +
            "</ETag><ChecksumSHA256>" + parts[i].checksum + "</ChecksumSHA256></Part>";
  }
  body += "</CompleteMultipartUpload>";
  const BucketRequest request{
      .method = "POST", .key = key, .query = {{"uploadId", upload}}, .headers = {}, .body = as_bytes(body)};
  // The status goes out before the parts are joined: an error may follow it.
  const auto is_no_error = [&](const HttpsReply& reply) -> Status {
    if (!is_error_body(as_text(reply.body))) return {};
    return failure_of(reply.status, as_text(reply.body), "completing an upload").error;
  };
  COT_TRY(sender_.send(request, is_no_error));
  return {};
}

Status S3Client::abort_upload(const std::string& key, const std::string& upload) {
  const BucketRequest request{
      .method = "DELETE", .key = key, .query = {{"uploadId", upload}}, .headers = {}, .body = {}};
  const Result<HttpsReply> reply = sender_.send(request);
  if (!reply && reply.error().code() != ErrorCode::not_found) return reply.error();
  return {};
}

}  // namespace coterie::s3
