#include "tests/bench/nginx.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "device_sdk/transport/https_client.h"
#include "secure/crypto/dev_ca.h"

namespace coterie {
namespace {

constexpr const char* kProgram = "/usr/sbin/nginx";
constexpr const char* kEchoModule = "/usr/lib/nginx/modules/ngx_http_echo_module.so";

// A port nobody listens on now; nginx cannot be told to choose one itself.
uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  COT_ASSERT(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  COT_ASSERT(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

int child_of(int parent) {
  const std::string path = "/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children";
  int child = -1;
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    if (std::fscanf(file, "%d", &child) != 1) child = -1;
    std::fclose(file);
  }
  return child;
}

}  // namespace

Result<std::unique_ptr<Nginx>> Nginx::start(Bodies bodies) {
  if (!os::exists(kProgram) || !os::exists(kEchoModule)) {
    return Error(ErrorCode::not_found, "not installed (apt-get install nginx-light)");
  }
  std::unique_ptr<Nginx> nginx(new Nginx());
  const std::string root = nginx->directory_.path();
  COT_ASSIGN(const PemPair ca, make_dev_ca(os::wall_now(), 10));
  COT_ASSIGN(const PemPair leaf, make_server_certificate(ca, {"127.0.0.1"}, os::wall_now(), 10));
  nginx->ca_pem_ = ca.certificate;
  COT_TRY(os::write_file_atomically(root + "/server.pem", as_bytes(leaf.certificate)));
  COT_TRY(os::write_file_atomically(root + "/server-key.pem", as_bytes(leaf.private_key)));
  const uint16_t port = free_port();
  nginx->url_ = "https://127.0.0.1:" + std::to_string(port);
  const std::string config =
      "load_module " + std::string(kEchoModule) + ";\nuser root;\nworker_processes 1;\ndaemon off;\npid " + root +
      "/pid;\nerror_log " + root + "/error.log;\nevents { worker_connections 4096; }\nhttp {\n  access_log off;\n" +
      "  client_body_buffer_size " + (bodies == Bodies::in_memory ? "32m" : "16k") +
      ";\n  client_max_body_size 64m;\n  client_body_temp_path " + root + ";\n  server {\n" +
      "    listen 127.0.0.1:" + std::to_string(port) + " ssl;\n    ssl_certificate " + root + "/server.pem;\n" +
      "    ssl_certificate_key " + root + "/server-key.pem;\n    ssl_protocols TLSv1.3;\n" +
      "    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;\n    keepalive_requests 1000000;\n" +
      "    location / { echo_read_request_body; echo ok; }\n    location = /healthz { return 200 \"ok\\n\"; }\n  "
      "}\n}\n";
  COT_TRY(os::write_file_atomically(root + "/nginx.conf", as_bytes(config)));
  nginx->master_ = ::fork();
  if (nginx->master_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::execl(kProgram, "nginx", "-c", (root + "/nginx.conf").c_str(), "-p", root.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  HttpsClientSettings settings;
  settings.url = nginx->url_;
  settings.ca_pem = nginx->ca_pem_;
  const Instant until = os::monotonic_now() + Millis(10'000);
  while (os::monotonic_now() < until) {
    COT_ASSIGN(const auto client, HttpsClient::make(settings));
    const auto answer = client->send(
        {.method = "PUT", .target = "/", .headers = {}, .content_type = "text/plain", .body = as_bytes("x")},
        [](const TransportResponse&, ByteView) -> Status { return {}; });
    if (!answer) {
      std::this_thread::yield();
      continue;
    }
    nginx->worker_ = child_of(nginx->master_);
    return nginx;
  }
  return Error(ErrorCode::timed_out, "nginx did not start");
}

Nginx::~Nginx() {
  if (master_ <= 0) return;
  ::kill(master_, SIGTERM);
  ::waitpid(master_, nullptr, 0);
}

double Nginx::cpu_seconds() const {
  unsigned long user = 0, system = 0;
  if (std::FILE* file = std::fopen(("/proc/" + std::to_string(worker_) + "/stat").c_str(), "r")) {
    if (std::fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
      user = 0;
    std::fclose(file);
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace coterie
