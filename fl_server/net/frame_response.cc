#include "fl_server/net/frame_response.h"

#include <algorithm>

#include "fl_server/net/retry_after.h"
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
  const RetryWindow told = row.retry == RetryClass::window && window.max_ms == 0 ? default_retry_window() : window;
  HttpResponse response =
      frame_response(encode(ErrorReply{std::string(row.name), detail, told.min_ms, told.max_ms}), row.http_status);
  if (may_pass(error.code())) say_when(response, told);
  return response;
}

}  // namespace coterie
