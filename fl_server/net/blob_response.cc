#include "fl_server/net/blob_response.h"

#include <algorithm>
#include <charconv>

namespace coterie {
namespace {

struct ByteRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// RFC 9110 section 14.1.2, one range. Nothing: the header is not understood and therefore ignored.
std::optional<ByteRange> parse_range(std::string_view text, uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos || text.find(',') != std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> first = number(text.substr(0, dash));
  const std::optional<uint64_t> last = number(text.substr(dash + 1));
  if (first && dash + 1 == text.size()) return ByteRange{*first, size - 1};
  if (first && last && *first <= *last) return ByteRange{*first, std::min(*last, size - 1)};
  if (!first && dash == 0 && last) return ByteRange{size - std::min(*last, size), size - 1};  // suffix
  return std::nullopt;
}

}  // namespace

Result<HttpResponse> blob_response(const RequestHead& head, BlobStore& store, const Digest& digest,
                                   std::string content_type) {
  COT_ASSIGN(const std::shared_ptr<const BlobReader> blob, store.open(digest));
  const uint64_t size = blob->size();
  HttpResponse response;
  response.content_type = std::move(content_type);
  const std::string etag = "\"" + digest.hex() + "\"";
  response.headers = {
      {"ETag", etag}, {"Accept-Ranges", "bytes"}, {"Cache-Control", "private, max-age=31536000, immutable"}};
  response.head_only = head.method == "HEAD";
  const std::string_view unless = head.header("if-none-match");
  if (unless == "*" || unless.find(etag) != std::string_view::npos) {
    response.status = 304;
    return response;
  }
  const std::string_view range_text = head.header("range");
  const std::string_view condition = head.header("if-range");
  const bool may_be_range = head.method == "GET" && (condition.empty() || condition == etag);
  const auto range = may_be_range ? parse_range(range_text, size) : std::nullopt;
  if (!range) {
    response.blob = BlobRange{blob, 0, size};
    return response;
  }
  if (range->first >= size) {
    response.status = 416;
    response.headers.emplace_back("Content-Range", "bytes */" + std::to_string(size));
    return response;
  }
  response.status = 206;
  response.headers.emplace_back("Content-Range", "bytes " + std::to_string(range->first) + "-" +
                                                     std::to_string(range->last) + "/" + std::to_string(size));
  response.blob = BlobRange{blob, range->first, range->last - range->first + 1};
  return response;
}

}  // namespace coterie
