#include "tests/support/s3_double.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/assert.h"
#include "base/os/clock.h"
#include "fl_server/store/s3/https_pool.h"
#include "secure/crypto/dev_ca.h"
#include "tests/support/paths.h"

namespace coterie::test {
namespace {

constexpr const char* kRegion = "eu-test-1";

}  // namespace

S3Double::S3Double() {
  const std::string buckets_host = std::string(kBucket) + ".localhost";
  const PemPair ca = *make_dev_ca(os::wall_now(), 2);
  const PemPair leaf = *make_server_certificate(ca, {"localhost", buckets_host}, os::wall_now(), 1);
  const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; };
  write("ca.pem", ca.certificate);
  write("other-ca.pem", make_dev_ca(os::wall_now(), 2)->certificate);
  write("certificate.pem", leaf.certificate);
  write("key.pem", leaf.private_key);
  write("access-key-id", std::string(kAccessKeyId) + "\n");
  write("secret-key", std::string(kSecretKey) + "\n");
  start();
}

S3Double::~S3Double() {
  ::close(to_child_);  // the end of its standard input ends it
  ::waitpid(pid_, nullptr, 0);
}

void S3Double::start() {
  int in[2], out[2];
  COT_ASSERT(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
  std::vector<std::string> words = {"python3",
                                    "-B",
                                    source_dir() + "/tests/doubles/s3_server.py",
                                    folder_ / "certificate.pem",
                                    folder_ / "key.pem",
                                    kAccessKeyId,
                                    kSecretKey,
                                    kRegion,
                                    kBucket};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  COT_ASSERT(::posix_spawnp(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_child_ = in[1];
  char c = 0;
  while (::read(out[0], &c, 1) == 1 && c != '\n') port_ += c;
  ::close(out[0]);
  COT_ASSERT(!port_.empty());  // else s3_server.py did not start; it says why on standard error
}

S3Settings S3Double::settings() const {
  S3Settings settings;
  settings.endpoint = "https://localhost:" + port_;
  settings.region = kRegion;
  settings.bucket = kBucket;
  settings.ca_file = ca_file();
  settings.path_style = true;
  settings.backoff_base = Millis(1);
  settings.backoff_max = Millis(4);
  return settings;
}

s3::Credentials S3Double::credentials() const { return std::move(*s3::Credentials::make(kAccessKeyId, kSecretKey)); }

std::string S3Double::tell(const std::string& route, const std::string& json) {
  s3::HttpsPool pool(ca_file(), Millis(20'000));
  const Result<s3::HttpsReply> reply = pool.send({.method = "POST",
                                                  .url = "https://localhost:" + port_ + "/_double/" + route,
                                                  .headers = {},
                                                  .body = as_bytes(json),
                                                  .answer_bytes_max = 1 << 20});
  COT_ASSERT(reply && reply->status == 200);
  return std::string(as_text(reply->body));
}

}  // namespace coterie::test
