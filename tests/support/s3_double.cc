#include "tests/support/s3_double.h"

#include <fstream>

#include "base/assert.h"
#include "base/os/clock.h"
#include "fl_server/store/s3/https_pool.h"
#include "secure/crypto/dev_ca.h"

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
  process_.emplace("tests/doubles/s3_server.py",
                   std::vector<std::string>{folder_ / "certificate.pem", folder_ / "key.pem", kAccessKeyId, kSecretKey,
                                            kRegion, kBucket});
}

S3Settings S3Double::settings() const {
  S3Settings settings;
  settings.endpoint = "https://localhost:" + port();
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
                                                  .url = "https://localhost:" + port() + "/_double/" + route,
                                                  .headers = {},
                                                  .body = as_bytes(json),
                                                  .answer_bytes_max = 1 << 20});
  COT_ASSERT(reply && reply->status == 200);
  return std::string(as_text(reply->body));
}

}  // namespace coterie::test
