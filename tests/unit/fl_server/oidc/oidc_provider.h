// A provider at which people sign in, in a process of its own: tests/doubles/oidc_provider.py with a certificate of a
// CA made for the test. The test plays the browser, and mints the ID tokens.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "fl_server/oidc/oidc_settings.h"
#include "secure/crypto/dev_ca.h"
#include "tests/support/python_double.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie::test {

struct Grant {
  std::string challenge, id_token;
  std::string redirect_uri = "https://fl.example/console/callback";
  std::string client_id = "coterie-console";
  std::string secret = {};  // empty: a public client
};

class OidcProvider {
 public:
  OidcProvider() {
    const PemPair ca = *make_dev_ca(os::wall_now(), 2);
    const PemPair leaf = *make_server_certificate(ca, {"localhost"}, os::wall_now(), 1);
    write("ca.pem", ca.certificate);
    write("other-ca.pem", make_dev_ca(os::wall_now(), 2)->certificate);
    write("certificate.pem", leaf.certificate);
    write("key.pem", leaf.private_key);
    write("keys.json", nlohmann::json{{"keys", {key_.jwk()}}}.dump());
    write("grants.json", "{}");
    process_.emplace("tests/doubles/oidc_provider.py",
                     std::vector<std::string>{folder_ / "certificate.pem", folder_ / "key.pem", folder_ / ""});
  }

  std::string url(const std::string& path) const { return "https://localhost:" + process_->port() + path; }
  std::string file(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  // The path of the next POST; waits for it.
  std::string line() { return process_->line(); }

  // From now on the code is worth this, once.
  void grant(const std::string& code, const Grant& of) {
    grants_[code] = {{"challenge", of.challenge},
                     {"id_token", of.id_token},
                     {"redirect_uri", of.redirect_uri},
                     {"client_id", of.client_id},
                     {"secret", of.secret}};
    write("grants.json", grants_.dump());
  }

  const MintKey& key() const { return key_; }
  CodeFlowSettings sign_in(const std::string& token_path = "/token") const {
    return {.name = "Example SSO",
            .authorization_url = "https://sso.example/authorize?tenant=fl",
            .token_url = url(token_path),
            .client_id = "coterie-console",
            .client_secret_file = {},
            .redirect_url = "https://fl.example/console/callback"};
  }
  OidcSettings settings() const {
    OidcSettings settings = oidc_settings();
    settings.jwks_url = url("/keys");
    settings.ca_file = file("ca.pem");
    settings.sign_in = sign_in();
    return settings;
  }

 private:
  const MintKey key_{KeyAlgorithm::ed25519, "one"};
  nlohmann::json grants_ = nlohmann::json::object();
  TemporaryDirectory folder_;
  std::optional<PythonDouble> process_;  // ends before its folder goes
};

}  // namespace coterie::test
