// Three parties and their coordinator as hosts of a network, in network namespaces where root may make them: the
// parties reach nobody but the coordinator, and one of them loses it in the middle of the training.
#include "tests/chaos/network_hosts.h"
#include "tests/integration/demo/vertical_job.h"
#include "tests/support/matchers.h"

namespace coterie::chaos {
namespace {

using integration::DemoProcess;

class VerticalHosts : public integration::VerticalCoordinator {
 protected:
  std::vector<std::string> parties() const override { return {"label", "feature", "third"}; }
  void change(VerticalManifest& manifest) const override { manifest.trees.rounds = 6; }
  void change_config(nlohmann::json& config) const override { config["patience_ms"] = 3000; }
};

TEST_F(VerticalHosts, PartiesThatReachTheirCoordinatorAloneGoOnWhenALinkIsMended) {
  const Result<std::unique_ptr<NetworkHosts>> hosts = NetworkHosts::make();
  if (!hosts) GTEST_SKIP() << hosts.error().message();
  const auto coordinator = start_coordinator("10.77.0.1");
  submit_and_approve();
  std::vector<std::unique_ptr<DemoProcess>> processes;
  for (const std::string& party : parties()) {
    const Result<NetworkHosts::Host> host = (*hosts)->host(party);
    ASSERT_OK(host);
  }
  ASSERT_OK((*hosts)->part({"label", "feature", "third"}));
  for (const std::string& party : parties()) {
    processes.push_back(std::make_unique<DemoProcess>(
        directory_.path(), std::vector<std::string>{"vertical", "party", "--config", party + ".json"},
        integration::DemoSurroundings{.network_namespace = (*hosts)->host(party)->network_namespace}));
  }
  ASSERT_TRUE(processes[2]->wait_for_path(directory_ / "third_results/journal/training.0")) << processes[2]->errors();
  ASSERT_OK((*hosts)->set_link("third", false));
  ASSERT_TRUE(processes[0]->wait_for("waiting to go on")) << processes[0]->errors();
  ASSERT_OK((*hosts)->set_link("third", true));
  for (const auto& process : processes) EXPECT_EQ(process->wait(), 0) << process->errors();
  EXPECT_EQ(vertical("status", "label", {"--json"}), 0) << said_;
  EXPECT_EQ(nlohmann::json::parse(said_, nullptr, false)["state"], "done");
  EXPECT_TRUE(os::exists(directory_ / "label_results/scores.csv"));
}

}  // namespace
}  // namespace coterie::chaos
