// An issuer in a process of its own: jwks_server.py with a certificate of a CA made for the test.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "secure/crypto/dev_ca.h"
#include "tests/support/python_double.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

class JwksServer {
 public:
  // Serves `jwks` at https://localhost:port()/keys; `names` are the certificate's.
  explicit JwksServer(const std::string& jwks, const std::vector<std::string>& names = {"localhost"}) {
    const PemPair ca = *make_dev_ca(os::wall_now(), 2);
    const PemPair leaf = *make_server_certificate(ca, names, os::wall_now(), 1);
    write("ca.pem", ca.certificate);
    write("other-ca.pem", make_dev_ca(os::wall_now(), 2)->certificate);
    write("certificate.pem", leaf.certificate);
    write("key.pem", leaf.private_key);
    write("keys.json", jwks);
    process_.emplace("tests/doubles/jwks_server.py",
                     std::vector<std::string>{folder_ / "certificate.pem", folder_ / "key.pem", folder_ / "keys.json"});
  }

  std::string url(const std::string& path) const { return "https://localhost:" + port() + path; }
  const std::string& port() const { return process_->port(); }
  std::string ca_file() const { return folder_ / "ca.pem"; }
  std::string other_ca_file() const { return folder_ / "other-ca.pem"; }

 private:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  TemporaryDirectory folder_;
  std::optional<PythonDouble> process_;  // ends before its folder goes
};

}  // namespace coterie::test
