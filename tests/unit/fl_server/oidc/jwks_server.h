// An issuer in a process of its own: jwks_server.py with a certificate of a CA made for the test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "secure/crypto/dev_ca.h"
#include "tests/support/paths.h"
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
    start();
  }
  ~JwksServer() {
    ::close(to_child_);  // the end of its standard input ends it
    ::waitpid(pid_, nullptr, 0);
  }
  JwksServer(const JwksServer&) = delete;
  JwksServer& operator=(const JwksServer&) = delete;

  std::string url(const std::string& path) const { return "https://localhost:" + port_ + path; }
  const std::string& port() const { return port_; }
  std::string ca_file() const { return folder_ / "ca.pem"; }
  std::string other_ca_file() const { return folder_ / "other-ca.pem"; }

 private:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  void start() {
    int in[2];
    int out[2];
    ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
    std::vector<std::string> words = {"python3", source_dir() + "/tests/unit/fl_server/oidc/jwks_server.py",
                                      folder_ / "certificate.pem", folder_ / "key.pem", folder_ / "keys.json"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    ASSERT_EQ(::posix_spawnp(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_child_ = in[1];
    char c = 0;
    while (::read(out[0], &c, 1) == 1 && c != '\n') port_ += c;
    ::close(out[0]);
    ASSERT_FALSE(port_.empty()) << "jwks_server.py did not start";
  }

  TemporaryDirectory folder_;
  std::string port_;
  pid_t pid_ = -1;
  int to_child_ = -1;
};

}  // namespace coterie::test
