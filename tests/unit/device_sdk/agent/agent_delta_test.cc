// A device whose models come as deltas: what it keeps, what it fetches, and what it does when something does not fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "secure/crypto/digest.h"
#include "tests/support/make_delta.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

constexpr uint32_t kBits = 8;

class AgentDelta : public AgentTest {
 protected:
  void SetUp() override {
    published_ = {mlp(1)};
    for (uint64_t seed = 2; seed <= 5; ++seed) {
      MadeDelta made = make_delta(published_.back(), mlp(seed), kBits);
      server_.deltas.push_back(made.file);
      published_.push_back(made.result);
    }
    begin_round(0);
    ASSERT_OK(open());
  }
  // The next round is of this version; its plan lists the deltas from `first` on.
  void begin_round(size_t version, size_t first = 0) {
    server_.plan.download = {.bits = kBits, .deltas = {}};
    for (size_t i = first; i < version; ++i) {
      server_.plan.download.deltas.push_back(
          {content_digest(published_[i]), content_digest(server_.deltas[i]), server_.deltas[i].size()});
    }
    server_.begin_round(published_[version]);
  }
  // Trains one round; how many bytes of whole models came.
  uint64_t whole_bytes_of_round(size_t version, size_t first = 0) {
    const uint64_t before = server_.model_bytes_sent();
    begin_round(version, first);
    step_until(Activity::uploaded);
    EXPECT_EQ(server_.uploads().back().values, expected_delta(published_[version])) << "version " << version;
    return server_.model_bytes_sent() - before;
  }
  std::vector<std::string> kept() const {
    std::vector<std::string> names = files();
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("kept-"); });
    return names;
  }
  bool keeps(size_t version) const {
    return kept().size() == 1 && kept()[0].ends_with(content_digest(published_[version]).hex() + ".cotf");
  }

  std::vector<Bytes> published_;
};

TEST_F(AgentDelta, FetchesOneModelWholeAndTheNextAsDeltas) {
  EXPECT_EQ(whole_bytes_of_round(0), published_[0].size());
  for (size_t version = 1; version < published_.size(); ++version) {
    const int before = server_.calls(Call::model);
    EXPECT_EQ(whole_bytes_of_round(version), 0u);
    EXPECT_EQ(server_.calls(Call::model), before + 1) << "the newest delta alone";
    EXPECT_TRUE(keeps(version));
  }
}

TEST_F(AgentDelta, FetchesAChainAfterRoundsWithoutIt) {
  whole_bytes_of_round(0);
  const int before = server_.calls(Call::model);
  EXPECT_EQ(whole_bytes_of_round(2), 0u);
  EXPECT_EQ(server_.calls(Call::model), before + 2);
}

TEST_F(AgentDelta, FetchesTheWholeModelWhereNoChainLeadsThere) {
  whole_bytes_of_round(0);
  EXPECT_EQ(whole_bytes_of_round(2, 1), published_[2].size()) << "the plan's chain begins later";
  EXPECT_EQ(whole_bytes_of_round(3, 3), published_[3].size()) << "a keyframe";
  EXPECT_EQ(whole_bytes_of_round(4), 0u) << "and goes on from it";
}

TEST_F(AgentDelta, FetchesTheWholeModelWhereAChainCostsAsMuch) {
  whole_bytes_of_round(0);
  begin_round(1);
  server_.plan.download.deltas[0].bytes = published_[1].size();
  server_.begin_round(published_[1]);
  const uint64_t before = server_.model_bytes_sent();
  step_until(Activity::uploaded);
  EXPECT_EQ(server_.model_bytes_sent() - before, published_[1].size());
}

// Whatever is wrong with a delta costs bytes, and never a training on another model.
TEST_F(AgentDelta, TrainsOnNothingButTheModelThatWasSigned) {
  whole_bytes_of_round(0);
  const Bytes good = server_.deltas[0], other = server_.deltas[1];
  Bytes flipped = good;
  flipped.back() ^= 1;
  size_t version = 1;
  for (const Bytes& bad : {flipped, other, Bytes(good.size(), 7), published_[0]}) {
    server_.deltas[0] = bad;  // and the plan names it
    EXPECT_EQ(whole_bytes_of_round(version), published_[version].size());
    server_.deltas[0] = good;
    EXPECT_EQ(whole_bytes_of_round(0), published_[0].size()) << "no way leads back";
  }
  server_.fail_next(Call::model, ScriptedServer::answer(200, Bytes(good.size(), 7)));  // not what the plan names
  EXPECT_EQ(whole_bytes_of_round(1), published_[1].size());
}

TEST_F(AgentDelta, FetchesTheWholeModelWhereADeltaIsGone) {
  whole_bytes_of_round(0);
  server_.fail_next(Call::model, ScriptedServer::typed(ErrorCode::not_found));
  EXPECT_EQ(whole_bytes_of_round(1), published_[1].size());
  EXPECT_EQ(whole_bytes_of_round(2), 0u);
}

TEST_F(AgentDelta, AsksForTheDeltaAgainWhereTheServerWasAway) {
  whole_bytes_of_round(0);
  server_.fail_next(Call::model, ScriptedServer::lost());
  EXPECT_EQ(whole_bytes_of_round(1), 0u);
}

// The server says the same for ever: no answer to the delta may keep the device from the model.
TEST_F(AgentDelta, FetchesTheWholeModelWhereTheDeltaCannotBeHad) {
  whole_bytes_of_round(0);
  const Digest delta = content_digest(server_.deltas[0]);
  for (const auto& answer : {ScriptedServer::answer(403), ScriptedServer::answer(416), ScriptedServer::answer(500),
                             ScriptedServer::typed(ErrorCode::internal), ScriptedServer::lost()}) {
    server_.fail_always(delta, answer);
    EXPECT_EQ(whole_bytes_of_round(1), published_[1].size());
    server_.fail_always(delta, nullptr);
    EXPECT_EQ(whole_bytes_of_round(0), published_[0].size()) << "no way leads back";
  }
}

TEST_F(AgentDelta, FetchesTheWholeModelWhereTheDeltaIsShort) {
  whole_bytes_of_round(0);
  const Bytes& delta = server_.deltas[0];
  server_.fail_always(content_digest(delta), ScriptedServer::answer(200, Bytes(delta.begin(), delta.begin() + 40)));
  EXPECT_EQ(whole_bytes_of_round(1), published_[1].size());
}

// Asking for more bytes would be the wrong answer.
TEST_F(AgentDelta, AsksForTheDeltaAgainWhereTheServerIsBusy) {
  whole_bytes_of_round(0);
  for (int i = 0; i < 5; ++i) {
    server_.fail_next(Call::model, ScriptedServer::typed(ErrorCode::rate_limited));
    server_.fail_next(Call::model, ScriptedServer::typed(ErrorCode::overloaded));
  }
  EXPECT_EQ(whole_bytes_of_round(1), 0u);
}

TEST_F(AgentDelta, FetchesTheWholeModelWhereTheKeptOneIsDamaged) {
  whole_bytes_of_round(0);
  const std::string path = settings_.state_dir + "/" + kept().at(0);
  Bytes bytes = *os::read_file(path, 1 << 20);
  bytes.back() ^= 1;
  ASSERT_OK(os::write_file_atomically(path, bytes));
  EXPECT_EQ(whole_bytes_of_round(1), published_[1].size());
  EXPECT_TRUE(keeps(1));
}

TEST_F(AgentDelta, IsTheSameThroughADeathBeforeEveryStep) {
  for (size_t version = 0; version < published_.size(); ++version) {
    begin_round(version);
    for (int lives = 0; server_.uploads().size() <= version && lives < 200; ++lives) {
      ASSERT_OK(open());
      step();
    }
    ASSERT_EQ(server_.uploads().size(), version + 1);
    EXPECT_EQ(server_.uploads().back().values, expected_delta(published_[version]));
    EXPECT_TRUE(keeps(version));
  }
  EXPECT_EQ(server_.model_bytes_sent(), published_[0].size());
}

TEST_F(AgentDelta, KeepsModelsOfAFewJobsAlone) {
  for (int job = 0; job < 6; ++job) {
    server_.plan.job = JobId("job" + std::to_string(job));
    begin_round(0);
    step_until(Activity::uploaded);
    EXPECT_EQ(kept().size(), std::min<size_t>(kKeptModelsMax, static_cast<size_t>(job) + 1));
  }
}

TEST_F(AgentDelta, ForgetsTheModelThatWasWrittenFirst) {
  const KeptModels models(settings_.state_dir);
  std::vector<std::string> paths;
  for (int job = 0; job < 6; ++job) {
    paths.push_back(models.path(JobId("job" + std::to_string(job)), Digest{{9}}));
    ASSERT_OK(os::write_file_atomically(paths.back(), Bytes{1}));
    std::filesystem::last_write_time(paths.back(),
                                     std::filesystem::file_time_type(std::chrono::seconds(1'000'000 + 60 * job)));
  }
  models.keep_only(JobId("job1"), Digest{{9}});
  for (const int job : {1, 3, 4, 5}) EXPECT_TRUE(os::exists(paths[static_cast<size_t>(job)])) << job;
  for (const int job : {0, 2}) EXPECT_FALSE(os::exists(paths[static_cast<size_t>(job)])) << job;
}

TEST_F(AgentDelta, KeepsNoModelWithoutDeltas) {
  server_.plan.download = {};
  server_.begin_round(published_[0]);
  step_until(Activity::uploaded);
  EXPECT_TRUE(kept().empty());
}

}  // namespace
}  // namespace coterie::test
