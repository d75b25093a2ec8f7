#include "fl_server/serving/serving_service.h"

#include <algorithm>
#include <charconv>
#include <new>

#include "base/json/json_scanner.h"
#include "fl_server/net/behind_sockets.h"
#include "fl_server/net/retry_after.h"
#include "fl_server/net/route_pattern.h"
#include "fl_server/serving/at_once.h"
#include "fl_server/serving/infer_answer.h"

namespace coterie {
namespace {

constexpr std::string_view kJsonBytesHeader = "inference-header-content-length";
constexpr int kUnsupportedMedia = 415;

struct ServingRoute {
  std::string_view method, pattern;
  bool is_open = false;  // to whoever has no token
};

// clang-format off
constexpr ServingRoute kRoutes[] = {
    {"GET", "/v2", true},
    {"GET", "/v2/", true},  // as the protocol's own OpenAPI file writes it
    {"GET", "/v2/health/live", true},
    {"GET", "/v2/health/ready", true},
    {"GET", "/metrics"},
    {"GET", "/v2/models/{model}"},
    {"GET", "/v2/models/{model}/ready"},
    {"GET", "/v2/models/{model}/versions/{version}"},
    {"GET", "/v2/models/{model}/versions/{version}/ready"},
    {"POST", "/v2/models/{model}/infer"},
    {"POST", "/v2/models/{model}/versions/{version}/infer"},
};
// clang-format on

HttpResponse json_response(std::string_view text, int status = 200) {
  HttpResponse response{.status = status, .content_type = "application/json"};
  response.body.assign(text.begin(), text.end());
  return response;
}

HttpResponse error_response(const Error& error, int status = 0) {
  constexpr int kGatewayTimeout = 504;
  if (status == 0) status = error.code() == ErrorCode::timed_out ? kGatewayTimeout : traits(error.code()).http_status;
  HttpResponse response{.status = status, .content_type = "application/json"};
  response.body = error_answer(error.message());
  if (error.code() == ErrorCode::unauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (may_pass(error.code())) say_when(response, {});
  return response;
}

std::string tensor_json(const TensorInterface& tensor) {
  std::string text = "{\"name\":";
  append_json_string(text, tensor.name);
  return text + ",\"datatype\":\"" + std::string(protocol_name(tensor.type)) +
         "\",\"shape\":" + protocol_shape(tensor.shape) + "}";
}

Result<std::optional<uint64_t>> json_bytes_of(const RequestHead& head) {
  const auto count =
      std::ranges::count(head.headers, kJsonBytesHeader, [](const auto& one) { return std::string_view(one.first); });
  if (count > 1) return Error(ErrorCode::malformed, "Inference-Header-Content-Length is given twice");
  const std::string_view text = head.header(kJsonBytesHeader);
  if (text.empty()) return std::optional<uint64_t>();
  uint64_t bytes = 0;
  const auto [read, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || read != text.data() + text.size())
    return Error(ErrorCode::malformed, "Inference-Header-Content-Length must be a number of bytes");
  return std::optional(bytes);
}

// Nobody unpacks a body here: what a few of its bytes become has no bound.
Status check_encoding(const RequestHead& head) {
  const std::string_view encoding = head.header("content-encoding");
  if (encoding.empty() || encoding == "identity") return {};
  return Error(ErrorCode::invalid_argument,
               "Content-Encoding " + shown_name(encoding) + " is not taken: send the body as it is");
}

// Its connections are this thread's alone, whichever listener they belong to.
SocketPass& pass_of_this_thread() {
  thread_local SocketPass pass;
  return pass;
}

}  // namespace

// What a path names, and who asks for it.
struct ServingService::Target {
  std::string_view model, version;
  std::string_view caller;  // the tenant
};

HttpResponse ServingService::refuse(const Error& error, int status) { return error_response(error, status); }

HttpResponse ServingService::failed(const Error& error, int status) {
  metrics_.request_failed(std::string(error.name()));
  return error_response(error, status);
}

Awaitable<Result<std::string>> ServingService::authenticate(Exchange& exchange) {
  const std::string_view authorization = exchange.head().header("authorization");
  if (std::optional<ModelAccess::Answer> known = caller_check_.recall(authorization)) co_return *std::move(known);
  const auto verify = [&](std::function<void(ModelAccess::Answer)> done) {
    caller_check_.verify(authorization, exchange.origin().address, std::move(done));
  };
  co_return co_await await_callback<ModelAccess::Answer>(verify);
}

Awaitable<RoutedResponse> ServingService::handle(Exchange& exchange) {
  const RequestHead& head = exchange.head();
  PathParameters parameters;
  const ServingRoute* found = nullptr;
  std::string_view allowed;
  const std::string_view method = head.method == "HEAD" ? "GET" : std::string_view(head.method);
  for (const ServingRoute& route : kRoutes) {
    if (!matches_pattern(route.pattern, head.path, parameters)) continue;
    allowed = route.method;
    if (route.method == method) found = &route;
    break;
  }
  // Who may not ask is told nothing, not even what exists.
  ModelAccess::Answer caller = std::string();
  if (found == nullptr || !found->is_open) {
    caller = co_await authenticate(exchange);
    if (!caller) co_return RoutedResponse{found == nullptr ? kUnknownRoute : found->pattern, failed(caller.error())};
    exchange.sender_is_known();
  }
  if (found == nullptr && allowed.empty()) {
    const Error none(ErrorCode::not_found, "there is no such route: GET /v2 says what this is");
    co_return RoutedResponse{kUnknownRoute, failed(none)};
  }
  if (found == nullptr) {
    const Error wrong(ErrorCode::invalid_argument, "this route takes " + std::string(allowed));
    HttpResponse response = error_response(wrong, 405);
    response.headers.emplace_back("Allow", allowed);
    co_return RoutedResponse{kUnknownRoute, std::move(response)};
  }
  const Target target{parameters["model"], parameters["version"], *caller};
  if (found->method == "GET") co_return RoutedResponse{found->pattern, look(found->pattern, target)};
  HttpResponse response = co_await infer(exchange, target);
  co_return RoutedResponse{found->pattern, std::move(response)};
}

HttpResponse ServingService::look(std::string_view pattern, const Target& target) const {
  if (pattern == "/v2" || pattern == "/v2/") {
    std::string text = "{\"name\":\"coterie\",\"version\":";
    append_json_string(text, settings_.version);
    return json_response(text + ",\"extensions\":[\"binary_tensor_data\"]}");
  }
  if (pattern == "/v2/health/live") return json_response("{\"live\":true}");
  if (pattern == "/v2/health/ready") {
    if (!is_ready_) return error_response(Error(ErrorCode::unavailable, "models are still being loaded"));
    if (!models_.empty()) return json_response("{\"ready\":true}");
    return error_response(Error(ErrorCode::unavailable, "no model is loaded yet"));
  }
  if (pattern == "/metrics") {
    if (target.caller != kEveryTenant) {
      return error_response(Error(ErrorCode::permission_denied,
                                  "the metrics are of all tenants' models: a token of every tenant is needed"));
    }
    std::string own = http_metrics_.exposition() + metrics_.exposition();
    HttpResponse response = json_response(settings_.metrics_of_all ? settings_.metrics_of_all(std::move(own)) : own);
    response.content_type = "text/plain; version=0.0.4";
    return response;
  }
  if (pattern.ends_with("/ready")) {
    const auto version = models_.find(target.model, target.version, target.caller);
    if (!version) return error_response(version.error());
    std::string text = "{\"name\":";
    append_json_string(text, target.model);
    return json_response(text + ",\"ready\":true}");
  }
  const Result<std::string> text = describe(target);
  return text ? json_response(*text) : error_response(text.error());
}

Result<std::string> ServingService::describe(const Target& target) const {
  COT_ASSIGN(const auto version, models_.find(target.model, target.version, target.caller));
  COT_ASSIGN(const ServedModels::Listing listing, models_.list(target.model, target.caller));
  std::string text = "{\"name\":";
  append_json_string(text, target.model);
  text += ",\"versions\":[";
  for (const auto& one : listing.versions) {
    text += text.back() == '[' ? "\"" : ",\"";
    text += (listing.is_population ? one->digest_text() : one->name()) + "\"";
  }
  text += "],\"platform\":\"coterie\",\"inputs\":[";
  for (const TensorInterface& input : version->client().inputs)
    text += (text.back() == '[' ? "" : ",") + tensor_json(input);
  text += "],\"outputs\":[";
  for (const TensorInterface& output : version->client().outputs)
    text += (text.back() == '[' ? "" : ",") + tensor_json(output);
  text += "],\"parameters\":{\"coterie_version\":\"" + version->name() + "\",\"coterie_digest\":\"" +
          version->digest_text() + "\"";
  if (listing.promoted) text += ",\"coterie_promoted\":\"" + std::to_string(*listing.promoted) + "\"";
  return text + "}}";
}

Awaitable<HttpResponse> ServingService::infer(Exchange& exchange, const Target& target) {
  // Before the body is read: who asks for what is not there need not send it.
  const auto found = models_.find(target.model, target.version, target.caller);
  if (!found) co_return failed(found.error());
  if (const Status plain = check_encoding(exchange.head()); !plain) co_return failed(plain.error(), kUnsupportedMedia);
  const Result<std::optional<uint64_t>> json_bytes = json_bytes_of(exchange.head());
  if (!json_bytes) co_return failed(json_bytes.error());
  Result<InferRequest> request = Error(ErrorCode::internal, "not read");
  {
    Result<RequestBody> body = co_await exchange.read_body(settings_.body_bytes_max);
    // A body that is late is the client's doing, where an answer that is late is ours.
    if (!body) co_return failed(body.error(), traits(body.error().code()).http_status);
    request = parse_infer_request(body->bytes, *json_bytes, (*found)->client(), settings_.limits);
  }
  if (!request) co_return failed(request.error());
  const std::optional<std::string> id = request->id;
  const uint64_t rows = request->rows;
  const std::vector<bool> wanted = request->wanted, as_binary = request->as_binary;
  Result<InferenceRouter::Routed> routed =
      router_.route({target.model, target.version, target.caller}, *found, *request);
  if (!routed) co_return failed(routed.error());
  SocketPass& pass = pass_of_this_thread();
  std::optional<Result<InferenceRouter::Computed>> answered_now = router_.answer_at_once(*routed, *request, pass);
  if (answered_now && pass.begins()) {
    try {
      co_await call_behind_sockets([&pass] { pass.end(); });
    } catch (const std::bad_alloc&) {
      pass.end();  // nobody else would
      throw;
    }
  }
  if (!answered_now) {
    const auto start = [&](InferenceRouter::Done done) {
      router_.answer(*std::move(routed), *std::move(request), std::move(done));
    };
    answered_now.emplace(co_await await_callback<Result<InferenceRouter::Computed>>(start));
  }
  const Result<InferenceRouter::Computed>& computed = *answered_now;
  if (!computed) co_return failed(computed.error());
  InferAnswer answer{.model = target.model,
                     .version = computed->version->name(),
                     .digest = computed->version->digest_text(),
                     .id = {},
                     .rows = rows,
                     .outputs = answered(computed->version->client().outputs, computed->outputs, wanted, as_binary)};
  if (id) answer.id = *id;
  Result<WrittenAnswer> written = write_answer(answer);
  if (!written) co_return failed(written.error());
  HttpResponse response{.content_type = "application/json"};
  if (written->json_bytes) {
    response.content_type = "application/octet-stream";
    response.headers.emplace_back("Inference-Header-Content-Length", std::to_string(*written->json_bytes));
  }
  response.body = std::move(written->body);
  co_return response;
}

}  // namespace coterie
