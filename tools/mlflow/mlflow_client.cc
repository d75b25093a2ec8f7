#include "tools/mlflow/mlflow_client.h"

#include <cstdlib>

#include "base/text/percent.h"
#include "fl_server/https/verified_transfer.h"
#include "fl_server/settings/collector_url.h"

namespace coterie {
namespace {

// Another number than it was given ends the transfer.
size_t take_body(char* data, size_t, size_t size, void* context) {
  std::string& body = *static_cast<std::string*>(context);
  if (size > MlflowClient::kAnswerBytesMax - body.size()) return 0;
  body.append(data, size);
  return size;
}

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

Result<MlflowServer> mlflow_server(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  if (!is_collector_url(url + "/") || url.find_first_of("?#") != std::string::npos) {
    return Error(ErrorCode::invalid_argument,
                 "--mlflow " + url + ": must be https://, or http:// to this machine, as http://127.0.0.1:5000");
  }
  MlflowServer server{.url = std::move(url),
                      .experiment = from_environment("MLFLOW_EXPERIMENT_NAME"),
                      .token = from_environment("MLFLOW_TRACKING_TOKEN"),
                      .user = from_environment("MLFLOW_TRACKING_USERNAME"),
                      .password = from_environment("MLFLOW_TRACKING_PASSWORD"),
                      .ca_file = from_environment("MLFLOW_TRACKING_SERVER_CERT_PATH")};
  if (server.experiment.empty()) server.experiment = "coterie";
  return server;
}

Result<MlflowClient::Answer> MlflowClient::ask(const Question& question) {
  const std::string url = server_.url + "/api/2.0/" + question.path;
  char why[CURL_ERROR_SIZE] = {};
  Answer answer;
  CurlHeaders headers;
  const CurlEasy easy = new_easy();
  bool is_set =
      easy &&
      headers.add(question.is_file ? "Content-Type: application/octet-stream" : "Content-Type: application/json") &&
      (server_.token.empty() || headers.add("Authorization: Bearer " + server_.token)) &&
      set_verified(easy, {.url = url,
                          .ca_file = server_.ca_file,
                          .protocols = "https,http",
                          .total_max = question.is_file ? kFileTotalMax : kTotalMax,
                          .cancelled = cancelled_,
                          .why = why}) &&
      set_option(easy, CURLOPT_HTTPHEADER, headers.get()) && set_option(easy, CURLOPT_WRITEFUNCTION, take_body) &&
      set_option(easy, CURLOPT_WRITEDATA, static_cast<void*>(&answer.body));
  if (is_set && (!question.body.empty() || question.is_file)) {
    is_set = set_option(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(question.body.size())) &&
             set_option(easy, CURLOPT_POSTFIELDS, question.body.empty() ? "" : question.body.data());
  }
  if (is_set && question.is_file) is_set = set_option(easy, CURLOPT_CUSTOMREQUEST, "PUT");
  if (is_set && server_.token.empty() && !server_.user.empty()) {
    is_set = set_option(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC)) &&
             set_option(easy, CURLOPT_USERNAME, server_.user.c_str()) &&
             set_option(easy, CURLOPT_PASSWORD, server_.password.c_str());
  }
  if (!is_set) return Error(ErrorCode::internal, "libcurl could not be set up for " + url);
  const CURLcode code = curl_easy_perform(easy.get());
  if (code != CURLE_OK) {
    return Error(ErrorCode::unavailable, url + ": " + (why[0] != '\0' ? why : curl_easy_strerror(code)));
  }
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

Result<std::string> MlflowClient::ask_well(const Question& question) {
  COT_ASSIGN(Answer answer, ask(question));
  if (answer.status == 200) return std::move(answer.body);
  const bool may_pass = answer.status == 429 || answer.status >= 500;
  return Error(
      may_pass ? ErrorCode::unavailable : ErrorCode::invalid_argument,
      server_.url + ": " + question.path + " was answered " + std::to_string(answer.status) + ", expected 200");
}

Result<std::string> MlflowClient::experiment_id() {
  const std::string by_name = "mlflow/experiments/get-by-name?experiment_name=" + percent_encoded(server_.experiment);
  COT_ASSIGN(const Answer found, ask({.path = by_name}));
  if (found.status == 200) return mlflow_text_at(found.body, "/experiment/experiment_id");
  if (found.status != 404) {
    return Error(ErrorCode::unavailable, server_.url + ": experiments/get-by-name was answered " +
                                             std::to_string(found.status) + ", expected 200 or 404");
  }
  const std::string wanted = mlflow_create_experiment(server_.experiment);
  COT_ASSIGN(const std::string made, ask_well({.path = "mlflow/experiments/create", .body = wanted}));
  return mlflow_text_at(made, "/experiment_id");
}

Result<MlflowClient::Run> MlflowClient::create_run(const std::string& name, WallTime start) {
  COT_ASSIGN(const std::string experiment, experiment_id());
  const std::string wanted = mlflow_create_run(experiment, name, start);
  COT_ASSIGN(const std::string made, ask_well({.path = "mlflow/runs/create", .body = wanted}));
  COT_ASSIGN(std::string id, mlflow_text_at(made, "/run/info/run_id"));
  const Result<std::string> uri = mlflow_text_at(made, "/run/info/artifact_uri");
  return Run{.id = std::move(id), .artifact_path = uri ? mlflow_artifact_path(*uri) : std::nullopt};
}

Status MlflowClient::log_batch(const std::string& run, std::span<const MlflowMetric> metrics,
                               const MlflowParams& params) {
  const std::string batch = mlflow_log_batch(run, metrics, params);
  const Result<std::string> logged = ask_well({.path = "mlflow/runs/log-batch", .body = batch});
  return logged ? Status() : Status(logged.error());
}

Status MlflowClient::put_file(const std::string& artifact_path, const std::string& name, ByteView bytes) {
  const std::string path = "mlflow-artifacts/artifacts/" + artifact_path + "/" + percent_encoded(name);
  const Result<std::string> put = ask_well({.path = path, .body = as_text(bytes), .is_file = true});
  return put ? Status() : Status(put.error());
}

Status MlflowClient::update_run(const std::string& run, MlflowEnd how, WallTime end) {
  const std::string update = mlflow_update_run(run, how, end);
  const Result<std::string> updated = ask_well({.path = "mlflow/runs/update", .body = update});
  return updated ? Status() : Status(updated.error());
}

}  // namespace coterie
