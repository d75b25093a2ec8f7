#include "fl_server/http/frame_response.h"

#include <algorithm>

#include "proto/codec/codec.h"
#include "proto/codec/limits.h"

namespace coterie {

HttpResponse frame_response(Bytes frame, int status) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/vnd.coterie.frame";
  response.body = std::move(frame);
  return response;
}

HttpResponse error_response(const Error& error, const RetryWindow& window) {
  const ErrorTraits& row = traits(error.code());
  std::string detail = error.message();
  detail.resize(std::min(detail.size(), limits::kDetailBytesMax));
  HttpResponse response =
      frame_response(encode(ErrorReply{std::string(row.name), detail, window.min_ms, window.max_ms}), row.http_status);
  if (row.retry == RetryClass::window || row.retry == RetryClass::backoff) {
    response.headers.emplace_back("Retry-After", std::to_string((window.min_ms + 999) / 1000));
  }
  return response;
}

}  // namespace coterie
