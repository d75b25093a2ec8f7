// The client for microcontrollers in rounds of a real server, over TLS: what the server makes of its update is, bit for
// bit, what it makes of an update that the reference kernels have trained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <iomanip>
#include <sstream>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "secure/identity/signing_key_file.h"
#include "tests/integration/support/fixture.h"
#include "tests/micro/reference_program.h"
#include "tests/micro/tiny_rig.h"
#include "tools/model/zoo.h"

namespace coterie::integration {
namespace {

using ::testing::HasSubstr;

constexpr size_t kExamples = 12, kBatch = 4, kEpochs = 2;
constexpr float kLearningRate = 0.125f;

class TinyRounds : public ServerTest {
 protected:
  void SetUp() override {
    start();
    model_ = *make_model(ModelKind::cnn, {8, 8, 1}, 10, 7);
    facts_ = test::digit_case(kExamples);
    const MicroProgram program = test::write_tiny_program(folder_.path(), model_, facts_);
    test::compile_tiny_program(
        folder_.path(), program, "device",
        {.sources = {"examples/microcontroller/host_board.c", "examples/microcontroller/device.c"},
         .options = {},
         .own_options = "-DSHOW_ORDER"});
    ASSERT_OK(os::write_file_atomically(folder_.path() + "/ca.pem", as_bytes(server_->ca_pem())));
  }

  std::string create_job() {
    nlohmann::json spec = spec_for(1, 1);
    spec["training"] = {{"loss", "softmax_cross_entropy"},
                        {"batch_size", kBatch},
                        {"local_epochs", kEpochs},
                        {"optimizer", {{"kind", "sgd"}, {"learning_rate", kLearningRate}}}};
    const auto job = admin_->create_job(model_, spec);
    EXPECT_OK(job);
    return *job;
  }

  std::string run_device(int rounds) {
    const std::string token = *admin_->create_token(1);
    const test::ShellOutcome outcome =
        test::shell("cd " + folder_.path() + "; ./device 127.0.0.1 " + std::to_string(server_->device_port()) +
                    " ca.pem state " + token + " " + std::to_string(rounds));
    EXPECT_EQ(outcome.code, 0) << outcome.out << server_->log();
    return outcome.out;
  }

  // The same examples in the order in which the device took them.
  test::RigCase in_order_of(const std::string& output) const {
    test::RigCase ordered{.inputs = {},
                          .labels = {},
                          .steps = kEpochs * kExamples / kBatch,
                          .batch = kBatch,
                          .learning_rate = kLearningRate};
    std::istringstream words(output);
    for (std::string word; words >> word;) {
      if (word != "example") continue;
      size_t index = 0;
      words >> index;
      ordered.inputs.push_back(facts_.inputs.at(index));
      ordered.labels.push_back(facts_.labels.at(index));
    }
    return ordered;
  }

  test::TemporaryDirectory folder_;
  Bytes model_;
  test::RigCase facts_;
};

TEST_F(TinyRounds, TrainTheReferencesBitsAndGetThePublishedModelAndTheNextKey) {
  const std::string job = create_job();
  const std::string output = run_device(1);
  ASSERT_TRUE(wait_for_job(job, "completed")) << output << server_->log();
  const auto published = admin_->download_weights(job, 1);
  ASSERT_OK(published);

  // A device of ours sends the reference's update in a job of the same model.
  const Model model = *Model::load(model_);
  const test::RigCase ordered = in_order_of(output);
  ASSERT_EQ(ordered.inputs.size(), kExamples * kEpochs);
  std::vector<float> update = test::reference_parameters(model, ordered);
  for (size_t i = 0; i < update.size(); ++i) update[i] -= model.parameters()[i];
  const std::string again = create_job();
  const auto device = enrolled_device();
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_OK(assignment);
  const auto receipt = device->upload(*assignment, update, kExamples);
  ASSERT_TRUE(std::holds_alternative<Receipt>(receipt)) << failure_of(receipt).message();
  ASSERT_TRUE(wait_for_job(again, "completed"));
  const auto expected = admin_->download_weights(again, 1);
  ASSERT_OK(expected);
  ASSERT_EQ(published->size(), expected->size());
  size_t moved = 0;
  for (size_t i = 0; i < expected->size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>((*published)[i]), std::bit_cast<uint32_t>((*expected)[i])) << i;
    moved += (*published)[i] != model.parameters()[i];
  }
  EXPECT_GT(moved, expected->size() / 2) << "the round moved the model";

  // What is published comes back to the device, which has restarted.
  ASSERT_OK(admin_->ask("POST", "/admin/v1/jobs/" + job + "/models/1:promote"));
  uint32_t hash = 2166136261u;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    for (size_t i = 0; i < *element_count(tensor.shape); ++i) {
      const auto word = std::bit_cast<uint32_t>((*published)[tensor.payload_offset / sizeof(float) + i]);
      for (unsigned shift = 0; shift < 32; shift += 8) hash = (hash ^ ((word >> shift) & 255u)) * 16777619u;
    }
  }
  std::ostringstream line;
  line << "release: version 1, parameters " << std::hex << std::setfill('0') << std::setw(8) << hash;
  EXPECT_THAT(run_device(0), HasSubstr(line.str()));

  // The server's key has a successor, which the device hears of when it comes again.
  const std::string keys = directory_ / "data/keys";
  ASSERT_OK(announce_next_key(keys, os::wall_now() + Millis(24 * 3'600'000)));
  ASSERT_OK(switch_to_next_key(keys));
  server_->kill();
  start();
  const std::string next = create_job();
  run_device(1);
  EXPECT_TRUE(wait_for_job(next, "completed"));
}

}  // namespace
}  // namespace coterie::integration
