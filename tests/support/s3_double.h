// A store that speaks S3, in a process of its own: tests/doubles/s3_server.py, with a certificate of a CA
// made for the test.
#pragma once

#include <optional>
#include <string>

#include "fl_server/settings/s3_settings.h"
#include "fl_server/store/s3/credentials.h"
#include "tests/support/python_double.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

class S3Double {
 public:
  static constexpr const char* kAccessKeyId = "AKIDOUBLE";
  static constexpr const char* kSecretKey = "double/secret+key";
  static constexpr const char* kBucket = "fl-blobs";

  S3Double();

  // A store to be patient with for milliseconds.
  S3Settings settings() const;
  s3::Credentials credentials() const;
  const std::string& port() const { return process_->port(); }
  std::string ca_file() const { return folder_ / "ca.pem"; }
  std::string other_ca_file() const { return folder_ / "other-ca.pem"; }
  std::string access_key_id_file() const { return folder_ / "access-key-id"; }
  std::string secret_key_file() const { return folder_ / "secret-key"; }

  // What shall go wrong from now on, as JSON (s3_server.py): R"([{"kind": "slow_down", "times": 2}])".
  void faults(const std::string& json) { tell("faults", json); }
  void set(const std::string& json) { tell("settings", json); }
  // JSON: requests by method, objects, uploads, connections.
  std::string state() { return tell("state", "{}"); }

 private:
  std::string tell(const std::string& route, const std::string& json);

  TemporaryDirectory folder_;
  std::optional<PythonDouble> process_;  // ends before its folder goes
};

}  // namespace coterie::test
