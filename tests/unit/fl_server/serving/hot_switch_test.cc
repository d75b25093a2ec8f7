// Versions change under load, between float32 and int8, too: every answer is that of one version, the one it names, to
// the bit.
#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/support/int8_parts.h"
#include "tests/unit/fl_server/serving/serving_world.h"

namespace coterie {
namespace {

class HotSwitch : public test::ServingWorld {
 protected:
  static constexpr uint64_t kModels = 4;  // by turns, so that a version that is gone comes again under another number
  static constexpr uint64_t kSwitches = 1'000;
  static constexpr uint64_t kClients = 3;
  static constexpr uint64_t kExamples = 5;
};

TEST_F(HotSwitch, AThousandOfThemGiveNoWrongAnswer) {
  // Workers compute the first of each version, network threads what comes behind it while no worker has anything to do.
  serve({.workers = 2,
         .batch_max = 4,
         .versions_kept = 1,
         .service = {.router = {.at_once_max = std::chrono::hours(1)}}});
  std::vector<Bytes> files;
  std::vector<float> input;
  for (uint64_t i = 0; i < kExamples; ++i) {
    const std::vector<float> one = example(i);
    input.insert(input.end(), one.begin(), one.end());
  }
  std::vector<std::vector<float>> right;  // by model
  for (uint64_t model = 0; model < kModels; ++model) {
    files.push_back(*make_model(ModelKind::logistic, {8, 8, 1}, 10, model));
    if (model % 2 == 1) files.back() = test::int8_file(*Model::load(files.back()));
    const auto version = ServedVersion::load(files.back(), 1, {});
    ASSERT_OK(version);
    right.emplace_back(kExamples * 10);
    ASSERT_OK((*version)->run(0, {{std::span<const float>(input)}}, kExamples, right.back()));
  }
  ASSERT_OK(server_->publish("digits", files[0], 0));

  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> answers{0}, wrong{0}, refused{0};
  std::vector<std::thread> threads;
  for (uint64_t c = 0; c < kClients; ++c) {
    threads.emplace_back([&, c] {
      auto client = this->client();
      // Each client has rows of its own number, so that they share batches.
      const std::span<const float> own = std::span<const float>(input).first((c + 2) * 64);
      const std::string request = post_of("/v2/models/digits/infer", json_request(own));
      while (!is_over) {
        const Answer answer = ask(client, request);
        if (answer.status != 200) {
          ++refused;
          continue;
        }
        const nlohmann::json json = answer.json();
        const uint64_t version = std::stoull(json["model_version"].get<std::string>());
        const std::vector<float> seen = json["outputs"][0]["data"];
        const std::vector<float>& expected = right[version % kModels];
        wrong += !std::equal(seen.begin(), seen.end(), expected.begin(),
                             expected.begin() + static_cast<ptrdiff_t>(own.size() / 64 * 10));
        ++answers;
      }
    });
  }
  for (uint64_t number = 1; number <= kSwitches; ++number) {
    const uint64_t before = answers;
    ASSERT_OK(server_->publish("digits", files[number % kModels], number));
    // Somebody is answered between any two.
    ASSERT_TRUE(comes_true([&] { return answers > before; }));
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(refused, 0u);
  EXPECT_GE(answers, kSwitches);
  EXPECT_EQ(server_->metrics().exposition().find("coterie_serving_at_once_total 0\n"), std::string::npos);
}

}  // namespace
}  // namespace coterie
