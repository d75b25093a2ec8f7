// A device that keeps something from round to round, whatever it is: what must be true of it when an update is counted,
// when one is lost, and when its process dies.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {

class KeptStateTest : public AgentTest {
 protected:
  // What this device must send in the server's present round, and moves `kept` as if it counted.
  virtual std::vector<float> expected(const Bytes& model_file, std::vector<float>& kept) = 0;

  std::vector<std::string> state_files() const {
    std::vector<std::string> names = files();
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("state-"); });
    return names;
  }
  const std::vector<float>& sent() const { return server_.uploads().back().values; }

  // One round for each model. `more` is asked behind each.
  void expect_to_go_on_from_round_to_round(const std::function<void()>& more = {});
  void expect_nothing_of_a_lost_update();
  void expect_the_same_through_a_death_before_every_step();

  const std::vector<Bytes> models_ = {mlp(1), mlp(2), mlp(3), mlp(4)};
};

}  // namespace coterie::test
