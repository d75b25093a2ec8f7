#include "tools/admin/admin_client.h"

#include <nlohmann/json.hpp>

#include "device_sdk/transport/https_client.h"

namespace coterie {
namespace {

constexpr uint64_t kAnswerBytesMax = 1ull << 34;
constexpr Millis kAnswerMax{120'000};  // the server may have to write a large model
constexpr uint64_t kRefusalBytesMax = 64 * 1024;
constexpr Millis kStreamSilenceMax{45'000};  // three of the server's heartbeats
constexpr std::string_view kEvents = "text/event-stream";
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kFrame = "application/vnd.coterie.frame";

Result<nlohmann::json> parse_answer(const Bytes& body) {
  nlohmann::json json = nlohmann::json::parse(as_text(body), nullptr, false);
  if (json.is_discarded()) return Error(ErrorCode::malformed, "the server's answer is not JSON");
  return json;
}

HttpsClientSettings settings_for(const AdminEndpoint& endpoint, const std::atomic<bool>* cancelled) {
  HttpsClientSettings settings;
  settings.url = endpoint.url;
  settings.ca_pem = endpoint.ca_pem;
  settings.cancelled = cancelled;
  return settings;
}

ErrorCode code_of_status(int status) {
  for (const ErrorTraits& row : all_error_traits()) {
    if (row.http_status == status) return row.code;
  }
  return ErrorCode::internal;
}

bool is_stream(const TransportResponse& head) {
  return head.status == 200 && head.header("content-type").starts_with(kEvents);
}

// A string member of a problem document, or "".
std::string text_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Error error_of_answer(int status, std::string_view content_type, std::string_view body) {
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  if (!content_type.starts_with("application/problem+json") || !json.is_object()) {
    return Error(code_of_status(status), "the server answered HTTP status " + std::to_string(status));
  }
  std::string message = text_in(json, "detail");
  if (message.empty()) message = text_in(json, "title");
  if (const auto errors = json.find("errors"); errors != json.end() && errors->is_array()) {
    for (const nlohmann::json& error : *errors) {
      if (!error.is_object()) continue;
      const std::string pointer = text_in(error, "pointer");
      message += "\n  " + (pointer.empty() ? "/" : pointer) + ": " + text_in(error, "detail");
    }
  }
  const std::string name = text_in(json, "code");
  return Error(name.empty() ? code_of_status(status) : error_code_from_name(name), message);
}

std::string path_segment(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~";
  std::string result;
  for (const char c : text) {
    if (kPlain.find(c) != kPlain.npos) {
      result += c;
    } else {
      const auto byte = static_cast<uint8_t>(c);
      result += "%" + to_hex({&byte, 1});
    }
  }
  return result;
}

Result<std::unique_ptr<AdminClient>> AdminClient::make(const AdminEndpoint& endpoint,
                                                       const std::atomic<bool>* cancelled) {
  COT_ASSIGN(std::unique_ptr<HttpsClient> http, HttpsClient::make(settings_for(endpoint, cancelled)));
  return std::unique_ptr<AdminClient>(new AdminClient(endpoint, cancelled, std::move(http)));
}

AdminClient::AdminClient(const AdminEndpoint& endpoint, const std::atomic<bool>* cancelled,
                         std::unique_ptr<HttpsClient> http)
    : endpoint_(endpoint), cancelled_(cancelled), http_(std::move(http)), authorization_("Bearer " + endpoint.token) {}
AdminClient::~AdminClient() = default;

Result<Bytes> AdminClient::call(std::string_view method, const std::string& path, std::string_view content_type,
                                ByteView body) {
  const TransportRequest request{.method = method,
                                 .target = path,
                                 .headers = {{"Authorization", authorization_}},
                                 .content_type = content_type,
                                 .body = body,
                                 .answer_max = kAnswerMax};
  Bytes answer;
  const auto collect = [&answer](const TransportResponse&, ByteView piece) -> Status {
    if (answer.size() + piece.size() > kAnswerBytesMax)
      return Error(ErrorCode::too_large, "the server's answer is too long");
    answer.insert(answer.end(), piece.begin(), piece.end());
    return {};
  };
  COT_ASSIGN(const TransportResponse response, http_->send(request, collect));
  if (response.status >= 200 && response.status <= 299) return answer;
  return error_of_answer(response.status, response.header("content-type"), as_text(answer));
}

Result<nlohmann::json> AdminClient::get(const std::string& target) {
  COT_ASSIGN(const Bytes answer, call("GET", "/admin/v1/" + target, {}, {}));
  return parse_answer(answer);
}

Result<nlohmann::json> AdminClient::get_pages(const std::string& target, const std::string& key) {
  const std::string joint = target.find('?') == std::string::npos ? "?" : "&";
  COT_ASSIGN(nlohmann::json all, get(target));
  while (all.is_object() && all.contains("next_after")) {
    const nlohmann::json after = all["next_after"];
    all.erase("next_after");
    const std::string cursor = after.is_string() ? after.get<std::string>() : after.dump();
    COT_ASSIGN(const nlohmann::json page, get(target + joint + "after=" + path_segment(cursor)));
    const auto items = page.is_object() ? page.find(key) : page.end();
    if (items == page.end() || !items->is_array() || items->empty() || !all[key].is_array()) {
      return Error(ErrorCode::malformed, "the server's list of " + key + " goes on with a page that has none");
    }
    for (const nlohmann::json& item : *items) all[key].push_back(item);
    if (page.contains("next_after")) all["next_after"] = page["next_after"];
  }
  return all;
}

Result<nlohmann::json> AdminClient::post(const std::string& target, const nlohmann::json& body) {
  const std::string text = body.dump();
  COT_ASSIGN(const Bytes answer, call("POST", "/admin/v1/" + target, kJson, as_bytes(text)));
  return parse_answer(answer);
}

Result<nlohmann::json> AdminClient::post(const std::string& target) { return upload(target, {}); }

Result<nlohmann::json> AdminClient::upload(const std::string& target, ByteView file) {
  COT_ASSIGN(const Bytes answer, call("POST", "/admin/v1/" + target, file.empty() ? "" : kFrame, file));
  return parse_answer(answer);
}

Status AdminClient::remove(const std::string& target) {
  COT_TRY(call("DELETE", "/admin/v1/" + target, {}, {}));
  return {};
}

Result<Bytes> AdminClient::download(const std::string& target) { return call("GET", "/admin/v1/" + target, {}, {}); }

Status AdminClient::stream(const std::string& target, const std::string& last_id,
                           const std::function<Status(ByteView piece)>& sink) {
  HttpsClientSettings settings = settings_for(endpoint_, cancelled_);
  settings.reads_to_end = true;
  settings.silence_max = kStreamSilenceMax;
  COT_ASSIGN(const std::unique_ptr<HttpsClient> http, HttpsClient::make(settings));
  TransportRequest request{.method = "GET",
                           .target = "/admin/v1/" + target,
                           .headers = {{"Authorization", authorization_}, {"Accept", std::string(kEvents)}},
                           .content_type = {},
                           .body = {}};
  if (!last_id.empty()) request.headers.emplace_back("Last-Event-ID", last_id);
  std::string refusal;
  const auto pass_on = [&](const TransportResponse& head, ByteView piece) -> Status {
    if (is_stream(head)) return sink(piece);
    if (refusal.size() + piece.size() > kRefusalBytesMax) {
      return Error(ErrorCode::too_large, "the server's answer is too long");
    }
    refusal.append(as_text(piece));
    return {};
  };
  COT_ASSIGN(const TransportResponse response, http->send(request, pass_on));
  if (is_stream(response)) return {};
  if (response.status == 200) return Error(ErrorCode::malformed, "the server's answer is no stream of events");
  return error_of_answer(response.status, response.header("content-type"), refusal);
}

Result<std::string> AdminClient::metrics() {
  COT_ASSIGN(const Bytes answer, call("GET", "/metrics", {}, {}));
  return std::string(as_text(answer));
}

}  // namespace coterie
