#include "device_sdk/c_api/host_callbacks.h"

#include <string>

namespace coterie {

Status HostDataset::read(uint64_t index, const Example& to) {
  const std::span<float> features = to.features();
  if (to.input_count() != 1 || to.labels().size() != 1) {
    return Error(ErrorCode::invalid_argument, "the app's data set has one input and one label an example, the model "
                                              "takes more");
  }
  if (dataset_.read(dataset_.context, index, features.data(), features.size(), to.labels().data()) == 0) return {};
  return Error(ErrorCode::unavailable, "the app could not read example " + std::to_string(index) + ", of " +
                                           std::to_string(features.size()) + " features");
}

Result<TransportResponse> HostTransport::send(const TransportRequest& request, const BodySink& sink) {
  if (cancelled_) return Error(ErrorCode::cancelled, "cancelled by the app");
  std::vector<coterie_http_header> headers;
  for (const auto& [name, value] : request.headers) headers.push_back({name.c_str(), value.c_str()});
  const std::string method(request.method);
  const std::string content_type(request.content_type);
  const coterie_http_request c_request{.struct_size = sizeof(coterie_http_request),
                                       .method = method.c_str(),
                                       .target = request.target.c_str(),
                                       .headers = headers.data(),
                                       .header_count = headers.size(),
                                       .content_type = content_type.empty() ? nullptr : content_type.c_str(),
                                       .body = request.body.data(),
                                       .body_bytes = request.body.size(),
                                       .answer_ms_max = static_cast<uint32_t>(request.answer_max.count())};
  coterie_http_reply reply;
  reply.sink = &sink;
  const int sent = transport_.send(transport_.context, &c_request, &reply);
  if (reply.thrown) std::rethrow_exception(reply.thrown);
  if (!reply.failed) return reply.failed.error();
  if (cancelled_) return Error(ErrorCode::cancelled, "cancelled by the app");
  if (sent != 0 || reply.head.status == 0) return Error(ErrorCode::unavailable, "the app's transport got no answer");
  return std::move(reply.head);
}

}  // namespace coterie

namespace {

// Runs `f` unless the reply is already lost. Returns whether it still is good.
template <typename F>
bool fill(coterie_http_reply* reply, F f) noexcept {
  if (reply == nullptr || reply->thrown || !reply->failed) return false;
  try {
    f();
  } catch (...) {
    reply->thrown = std::current_exception();
  }
  return !reply->thrown && reply->failed;
}

}  // namespace

extern "C" {

void coterie_http_reply_status(coterie_http_reply* reply, int status) {
  fill(reply, [&] { reply->head.status = status; });
}

void coterie_http_reply_header(coterie_http_reply* reply, const char* name, const char* value) {
  if (name == nullptr || value == nullptr) return;
  fill(reply, [&] {
    std::string lower(name);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    reply->head.headers.emplace_back(std::move(lower), value);
  });
}

int coterie_http_reply_body(coterie_http_reply* reply, const uint8_t* bytes, size_t count) {
  const bool good = fill(reply, [&] {
    using coterie::Error, coterie::ErrorCode;
    if (reply->head.status == 0) {
      reply->failed = Error(ErrorCode::invalid_argument, "the app's transport gave a body before a status");
    } else if (bytes == nullptr && count > 0) {
      reply->failed = Error(ErrorCode::invalid_argument, "the app's transport gave a body that is NULL");
    } else if (count > 0) {
      reply->head.body_bytes += count;
      reply->failed = (*reply->sink)(reply->head, coterie::ByteView(bytes, count));
    }
  });
  return good ? 0 : 1;
}

}  // extern "C"
