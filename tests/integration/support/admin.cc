#include "tests/integration/support/admin.h"

#include "proto/codec/codec.h"

namespace coterie::integration {

Admin::Admin(const ServerProcess& server) : token_(server.admin_token()) {
  HttpsClientSettings settings;
  settings.url = server.admin_url();
  settings.ca_pem = server.ca_pem();
  client_ = std::move(*HttpsClient::make(settings));
}

Result<AdminAnswer> Admin::call(const std::string& method, const std::string& target, ByteView body,
                                const std::string& token, const std::string& idempotency_key) {
  TransportRequest request{
      .method = method, .target = target, .headers = {}, .content_type = "application/json", .body = body};
  request.headers.emplace_back("Authorization", "Bearer " + (token.empty() ? token_ : token));
  if (!idempotency_key.empty()) request.headers.emplace_back("Idempotency-Key", idempotency_key);
  AdminAnswer answer;
  const auto collect = [&](const TransportResponse&, ByteView piece) -> Status {
    answer.body.insert(answer.body.end(), piece.begin(), piece.end());
    return {};
  };
  COT_ASSIGN(const TransportResponse head, client_->send(request, collect));
  answer.status = head.status;
  answer.content_type = head.header("content-type");
  return answer;
}

Result<nlohmann::json> Admin::ask(const std::string& method, const std::string& target, const nlohmann::json& body) {
  const std::string text = body.is_null() ? "" : body.dump();
  COT_ASSIGN(const AdminAnswer answer, call(method, target, as_bytes(text)));
  if (answer.status < 200 || answer.status > 299) {
    return Error(ErrorCode::invalid_argument, method + " " + target + " answered " + std::to_string(answer.status) +
                                                  ": " + std::string(as_text(answer.body)));
  }
  return answer.json();
}

Result<std::string> Admin::create_token(uint32_t uses) {
  COT_ASSIGN(const nlohmann::json token, ask("POST", "/admin/v1/enrollment-tokens", {{"uses", uses}}));
  return token["token"].get<std::string>();
}

Result<std::string> Admin::create_job(ByteView model, nlohmann::json spec) {
  COT_ASSIGN(const AdminAnswer uploaded, call("POST", "/admin/v1/models", model));
  if (uploaded.status != 201) return Error(ErrorCode::invalid_argument, std::string(as_text(uploaded.body)));
  spec["model"] = uploaded.json()["digest"];
  if (!spec.contains("name")) spec["name"] = "test";
  COT_ASSIGN(const nlohmann::json job, ask("POST", "/admin/v1/jobs", spec));
  return job["id"].get<std::string>();
}

Result<std::vector<float>> Admin::download_weights(const std::string& job, uint64_t version) {
  const std::string target = "/admin/v1/jobs/" + job + "/models/" + std::to_string(version) + "/content";
  COT_ASSIGN(const AdminAnswer answer, call("GET", target));
  if (answer.status != 200) return Error(ErrorCode::not_found, target + " answered " + std::to_string(answer.status));
  COT_ASSIGN(const Decoded<ModelGraph> model, decode_model(answer.body));
  const std::span<const float> values = payload_as<float>(model.payload);
  return std::vector<float>(values.begin(), values.end());
}

Result<nlohmann::json> Admin::rounds(const std::string& job) {
  constexpr size_t kPage = 1000;
  const std::string target = "/admin/v1/jobs/" + job + "/rounds?limit=" + std::to_string(kPage);
  COT_ASSIGN(nlohmann::json all, ask("GET", target));
  for (size_t page = all["rounds"].size(); page == kPage;) {
    const nlohmann::json& last = all["rounds"].back();
    const std::string place =
        std::to_string(last["number"].get<uint64_t>()) + "." + std::to_string(last["attempt"].get<uint32_t>());
    COT_ASSIGN(const nlohmann::json older, ask("GET", target + "&before=" + place));
    page = older["rounds"].size();
    all["rounds"].insert(all["rounds"].end(), older["rounds"].begin(), older["rounds"].end());
  }
  return all;
}

Bytes flat_model(uint64_t value_count) {
  COT_ASSERT(value_count > 0 && value_count % 16 == 0);
  ModelGraph graph;
  graph.name = "flat";
  graph.tensors = {{"x", TensorRole::input, {static_cast<int64_t>(value_count / 16)}, 0},
                   {"w", TensorRole::parameter, {static_cast<int64_t>(value_count / 16), 16}, 0},
                   {"y", TensorRole::activation, {}, 0}};
  graph.ops = {{OpKind::dense, "dense", {0, 1}, {2}, {}}};
  graph.inputs = {0};
  graph.output = 2;
  Bytes file = encode_head(graph, value_count * sizeof(float));
  file.resize(file.size() + value_count * sizeof(float));
  return file;
}

}  // namespace coterie::integration
