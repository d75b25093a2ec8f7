#include "tools/demo/demo_server.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "tools/cli/interrupt.h"

namespace coterie {
namespace {

constexpr Millis kStartMax{60'000};
constexpr Millis kLookEvery{10};
constexpr Millis kGrace{10'000};

Result<std::string> text_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_string()) return found->get<std::string>();
  return Error(ErrorCode::malformed, std::string("the server's answer has no \"") + key + "\"");
}

}  // namespace

Result<std::string> own_path() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error(ErrorCode::unavailable, "cannot find out where this program lies: " + error.message());
  return path.string();
}

double metric_value(std::string_view exposition, std::string_view name) {
  const std::string wanted = "\n" + std::string(name) + " ";
  const size_t at = exposition.find(wanted);
  double value = 0;
  if (at == exposition.npos) return value;
  std::from_chars(exposition.data() + at + wanted.size(), exposition.data() + exposition.size(), value);
  return value;
}

Result<std::unique_ptr<DemoServer>> DemoServer::start(const RunFolder& folder, uint64_t seed) {
  COT_ASSIGN(const std::string self, own_path());
  const std::string program = os::parent_directory(self) + "/fl_server";
  if (!os::exists(program)) {
    return Error(ErrorCode::not_found, "there is no fl_server beside this program (" + program + "); build it, too");
  }
  COT_ASSIGN(Child child, Child::start({.name = "the server",
                                        .command = {program, "--data-dir", folder.server_dir(), "--device-address",
                                                    "127.0.0.1", "--device-port", "0", "--admin-port", "0",
                                                    "--development-draw-seed", std::to_string(seed)},
                                        .environment = {},
                                        .log_file = folder.log_file("server")}));
  std::unique_ptr<DemoServer> server(new DemoServer(std::move(child)));
  COT_TRY(server->wait_until_ready(folder));
  return server;
}

Status DemoServer::wait_until_ready(const RunFolder& folder) {
  const Instant until = os::monotonic_now() + kStartMax;
  while (!os::exists(folder.server_dir() + "/endpoints.json")) {
    COT_TRY(check());
    if (os::monotonic_now() > until) {
      return Error(ErrorCode::timed_out, "waited 60 s for the server to start (log: " + child_.log_file() + ")");
    }
    COT_TRY(Interrupt::wait(kLookEvery));
  }
  COT_ASSIGN(endpoints_, read_endpoints(folder.server_dir()));
  ConnectionOptions connection;
  connection.data_dir = folder.server_dir();
  COT_ASSIGN(const AdminEndpoint endpoint, find_admin(connection));
  COT_ASSIGN(admin_, AdminClient::make(endpoint, Interrupt::flag()));
  return {};
}

Status DemoServer::check() {
  if (child_.has_ended()) return Error(ErrorCode::unavailable, child_.obituary());
  return {};
}

void DemoServer::stop() { stop_children({&child_}, kGrace); }

Error DemoServer::explain(const Error& failed, const std::string& what) {
  if (failed.code() == ErrorCode::cancelled) return failed;
  const Status alive = check();
  return alive ? failed.with_context(what) : alive.error();
}

Result<Digest> DemoServer::upload(const std::string& what, ByteView file) {
  const Result<nlohmann::json> answer = admin_->upload(what, file);
  if (!answer) return explain(answer.error(), "uploading to " + what);
  COT_ASSIGN(const std::string digest, text_in(*answer, "digest"));
  return Digest::from_hex(digest);
}

Result<std::string> DemoServer::create_token(uint32_t uses) {
  const Result<nlohmann::json> answer = admin_->post("enrollment-tokens", {{"label", "demo"}, {"uses", uses}});
  if (!answer) return explain(answer.error(), "creating an enrollment token");
  return text_in(*answer, "token");
}

Result<std::string> DemoServer::create_job(const std::string& request) {
  const Result<nlohmann::json> answer = admin_->post("jobs", nlohmann::json::parse(request));
  if (!answer) return explain(answer.error(), "creating the job");
  return text_in(*answer, "id");
}

Result<uint64_t> DemoServer::count_devices() {
  const Result<nlohmann::json> answer = admin_->get("server");
  if (!answer) return explain(answer.error(), "asking the server for its devices");
  const auto devices = answer->find("devices");
  return devices != answer->end() && devices->is_number_unsigned() ? devices->get<uint64_t>() : uint64_t{0};
}

Result<Bytes> DemoServer::download_model(const std::string& job, uint64_t version) {
  Result<Bytes> model =
      admin_->download("jobs/" + path_segment(job) + "/models/" + std::to_string(version) + "/content");
  if (!model) return explain(model.error(), "downloading the model");
  return model;
}

double DemoServer::finalize_seconds() {
  const Result<std::string> metrics = admin_->metrics();
  return metrics ? metric_value(*metrics, "coterie_finalize_duration_seconds_sum") : 0;
}

}  // namespace coterie
