// VerticalCoordinator: a small vertical job, as the operators of its parties and of its coordinator run it.
#pragma once

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "secure/crypto/dev_ca.h"
#include "tests/integration/demo/demo_process.h"
#include "tools/vertical/manifest.h"

namespace coterie::integration {

// Parties, two of them unless said, and a coordinator as their operators start them.
class VerticalCoordinator : public DemoTest {
 protected:
  void SetUp() override {
    const PemPair ca = *make_dev_ca(os::wall_now(), 1);
    write("ca.pem", ca.certificate);
    std::vector<std::string> names = parties();
    names.push_back("coordinator");
    for (const std::string& name : names) {
      const PemPair pair = *make_peer_certificate(ca, {name}, os::wall_now(), 1);
      write(name + ".pem", pair.certificate);
      write(name + ".key", pair.private_key);
    }
    std::string label = "id,label,x\n", feature = "id,y\n";
    for (int i = 0; i < 60; ++i) {
      const std::string id = "p" + std::to_string(i);
      label += id + "," + std::to_string(i % 2) + "," + std::to_string(i) + "\n";
      feature += id + "," + std::to_string(i % 7) + "\n";
    }
    write("label.csv", label);
    write("feature.csv", feature);
    for (size_t more = 2; more < parties().size(); ++more) {
      std::string table = "id,z" + std::to_string(more) + "\n";
      for (size_t i = 0; i < 60; ++i) table += "p" + std::to_string(i) + "," + std::to_string(i * more % 11) + "\n";
      write(parties()[more] + ".csv", table);
    }
    VerticalManifest manifest{.job = kJob, .matching = {}, .trees = {}, .bins = 4, .parties = parties()};
    manifest.matching.intersection_min = 10;
    manifest.matching.id_type = "id";
    manifest.trees.rounds = 1;
    manifest.trees.depth = 1;
    change(manifest);
    manifest_ = write_manifest(manifest);
    write("manifest.json", manifest_);
  }
  // Names of the parties, of their certificates and of their configurations; the label party's first.
  virtual std::vector<std::string> parties() const { return {"label", "feature"}; }
  // What the job is, unless a small tree.
  virtual void change(VerticalManifest&) const {}

  // What is in each party's configuration beside.
  virtual void change_config(nlohmann::json&) const {}

  static constexpr std::array<uint8_t, 16> kJob{9};
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  static nlohmann::json tls(const std::string& name) {
    return {{"ca", "ca.pem"}, {"certificate", name + ".pem"}, {"key", name + ".key"}};
  }

  // A fresh coordinator, which all parties' configurations then name.
  std::unique_ptr<DemoProcess> start_coordinator(const std::string& host = "127.0.0.1") {
    // One that is started again listens where the last one did: parties that run know no other place.
    write("coordinator.json",
          nlohmann::json{
              {"listen", host + ":" + port_}, {"port_file", "port"}, {"jobs", "jobs"}, {"tls", tls("coordinator")}}
              .dump());
    EXPECT_TRUE(os::remove_file(directory_ / "port"));
    auto coordinator = std::make_unique<DemoProcess>(
        directory_.path(), std::vector<std::string>{"vertical", "coordinator", "--config", "coordinator.json"});
    EXPECT_TRUE(coordinator->wait_for_path(directory_ / "port")) << coordinator->errors();
    const Result<Bytes> bytes = os::read_file(directory_ / "port", 16);
    const std::string text = bytes ? std::string(as_text(*bytes)) : "\n";
    port_ = text.substr(0, text.find('\n'));
    for (const std::string& self : parties()) {
      nlohmann::json config = {{"role", self == "label" ? "label" : "feature"},
                               {"manifest", "manifest.json"},
                               {"approved", manifest_digest(manifest_).hex()},
                               {"table", self + ".csv"},
                               {"out", self + "_results"},
                               {"coordinator", {{"address", host + ":" + port_}, {"name", "coordinator"}}},
                               {"tls", tls(self)}};
      if (parties().size() > 2) {
        config["name"] = self;
      } else {
        config["tls"]["peer_name"] = self == "label" ? "feature" : "label";
      }
      change_config(config);
      write(self + ".json", config.dump());
    }
    return coordinator;
  }
  void submit_and_approve() {
    ASSERT_EQ(vertical("submit", "label"), 0) << said_;
    for (const std::string& party : parties()) ASSERT_EQ(vertical("approve", party), 0) << said_;
  }
  // The exit status; what it printed is in said_.
  int vertical(const std::string& command, const std::string& party, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"vertical", command, "--config", party + ".json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    DemoProcess process(directory_.path(), arguments);
    const int status = process.wait();
    said_ = process.output() + process.errors();
    return status;
  }

  std::string manifest_, said_, port_ = "0";
};

}  // namespace coterie::integration
