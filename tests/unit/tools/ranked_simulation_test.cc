// Simulations by several ranks, which are threads here: the model of one, and checkpoints that others go on from.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "proto/codec/codec.h"
#include "tests/unit/tools/simulated_ranks.h"
#include "tools/simulate/agreement.h"

namespace coterie::test {
namespace {

class RankedSimulation : public SimulatedRanks {};

// What `say` comes to on each of so many ranks.
std::vector<Status> on_ranks(uint32_t count, const std::function<Status(Ranks&)>& say) {
  Meeting meeting(count);
  std::vector<Status> ends(count);
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ThreadRank rank(meeting, i);
      ends[i] = say(rank);
      EXPECT_EQ(rank.is_error_shared(), count > 1 && !ends[i]);
    });
  }
  threads.clear();
  return ends;
}

TEST(Ranks, EndWithTheErrorOfTheLowestThatHasOne) {
  const auto fail_from = [](uint32_t first) {
    return [first](Ranks& ranks) {
      return agree(ranks, ranks.rank() < first ? Status() : Status(Error(ErrorCode::not_found, "no data")));
    };
  };
  for (const Status& end : on_ranks(3, fail_from(1))) EXPECT_ERROR(end, ErrorCode::not_found, "rank 1: no data");
  for (const Status& end : on_ranks(3, fail_from(3))) EXPECT_OK(end);
  EXPECT_EQ(on_ranks(1, fail_from(0))[0].error().message(), "no data");
}

TEST(Ranks, EndWhereOneHasAnotherDigest) {
  const auto other_at = [](uint32_t other) {
    return [other](Ranks& ranks) {
      return compare(ranks, content_digest(as_bytes(ranks.rank() == other ? "b" : "a")), "split");
    };
  };
  for (const uint32_t other : {1u, 2u}) {
    for (const Status& end : on_ranks(3, other_at(other))) {
      EXPECT_ERROR(end, ErrorCode::conflict, "rank " + std::to_string(other) + " has another split than rank 0");
    }
  }
  for (const Status& end : on_ranks(3, other_at(3))) EXPECT_OK(end);
  EXPECT_OK(on_ranks(1, other_at(0))[0]);
}

TEST_F(RankedSimulation, HasTheModelOfOneProcessWithAnyRanks) {
  for (const char* strategy : {"fedavg", "scaffold"}) {
    set_strategy(strategy);
    const RankEnd alone = simulate(1)[0];
    ASSERT_OK(alone.status);
    for (const uint32_t ranks : {2u, 4u}) {
      for (const RankEnd& end : simulate(ranks)) {
        ASSERT_OK(end.status);
        EXPECT_EQ(end.model, alone.model) << strategy << ", " << ranks << " ranks";
        EXPECT_EQ(end.losses, alone.losses) << strategy << ", " << ranks << " ranks";
      }
    }
  }
}

TEST_F(RankedSimulation, GoesOnFromACheckpointWithAnotherNumberOfRanks) {
  set_strategy("scaffold");
  const RankEnd whole = simulate(1)[0];
  ASSERT_OK(simulate(2, 2, true)[0].status);
  for (const RankEnd& end : simulate(3, kRoundsOfRanks, true)) {
    ASSERT_OK(end.status);
    EXPECT_EQ(end.model, whole.model);
    EXPECT_EQ(end.losses, whole.losses);
  }
}

// The second to go on must not bring back what devices of another rank kept before.
TEST_F(RankedSimulation, GoesOnTwice) {
  for (const char* strategy : {"scaffold", "feddyn"}) {
    set_strategy(strategy);
    const RankEnd whole = simulate(1)[0];
    ASSERT_OK(simulate(2, 2, true)[0].status);
    ASSERT_OK(simulate(2, 3, true)[0].status);
    for (const RankEnd& end : simulate(3, kRoundsOfRanks, true)) {
      ASSERT_OK(end.status);
      EXPECT_EQ(end.model, whole.model) << strategy;
    }
    std::filesystem::remove_all(kept());
  }
}

TEST_F(RankedSimulation, LeavesFilesOfOthersInTheFolderOfACheckpoint) {
  ASSERT_OK(os::make_directories(kept()));
  const std::string strange = kept() + "/" + std::string(64, 'a');
  const std::string own = kept() + "/state-" + std::string(64, 'a');
  for (const std::string& name : {strange, own, kept() + "/state-of-play"}) {
    ASSERT_OK(os::write_file_atomically(name, as_bytes("x")));
  }
  ASSERT_OK(simulate(1, 1, true)[0].status);
  EXPECT_TRUE(os::exists(strange));
  EXPECT_TRUE(os::exists(kept() + "/state-of-play"));
  EXPECT_FALSE(os::exists(own));
}

TEST_F(RankedSimulation, RefusesACheckpointWhoseKeysAreMissingOrOutOfRange) {
  ASSERT_OK(simulate(1, 1, true)[0].status);
  const nlohmann::json good = head();
  for (const auto& [key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    EXPECT_ERROR(going_on_from(bad), ErrorCode::malformed, "/" + key) << key;
  }
  const std::vector<std::pair<std::string, nlohmann::json>> wrong = {
      {"rounds_done", 99},      {"rounds_trained", {5'000'000'000}},
      {"rounds_trained", {-1}}, {"rounds_trained", 1},
      {"states", {"x"}},        {"virtual_seconds", -1},
      {"seconds", "1"},         {"drawn", -1},
      {"attempts", {1}},        {"deltas", {{{"bytes", -1}}}},
      {"shares", "abc"}};
  for (const auto& [key, value] : wrong) {
    nlohmann::json bad = good;
    bad[key] = value;
    EXPECT_ERROR(going_on_from(bad), ErrorCode::malformed, "/" + key) << value;
  }
  EXPECT_OK(going_on_from(good));
}

TEST_F(RankedSimulation, RefusesStatesThatAreNotOfItsDevicesOrItsModel) {
  set_strategy("scaffold");
  ASSERT_OK(simulate(1, 1, true)[0].status);
  const nlohmann::json good = head();
  const uint32_t values = static_cast<uint32_t>(model_values(data_, job_.training).value().step_count());
  const auto with_state = [&](uint32_t device, uint32_t count, int copies = 1) {
    Bytes states;
    for (int i = 0; i < copies; ++i) {
      const size_t at = states.size();
      states.resize(at + 8 + 4 * size_t{count});
      std::memcpy(&states[at], &device, 4);
      std::memcpy(&states[at + 4], &count, 4);
    }
    const std::string name = content_digest(states).hex();
    EXPECT_OK(os::write_file_atomically(kept() + "/state-" + name, states));
    nlohmann::json bad = good;
    bad["states"] = {name};
    return going_on_from(bad);
  };
  EXPECT_OK(with_state(kDevicesOfRanks - 1, values));
  EXPECT_ERROR(with_state(0, values - 1), ErrorCode::malformed, "values");
  EXPECT_ERROR(with_state(0, 2 * values), ErrorCode::malformed, "values");
  EXPECT_ERROR(with_state(0, 0), ErrorCode::malformed, "values");
  EXPECT_ERROR(with_state(kDevicesOfRanks, values), ErrorCode::malformed, "device 6");
  EXPECT_ERROR(with_state(0, values, 2), ErrorCode::malformed, "one state");
}

// The server's control is in a file of the checkpoint, too: here it is another job's, of a smaller model.
TEST_F(RankedSimulation, RefusesAControlOfAnotherLength) {
  set_strategy("scaffold");
  ASSERT_OK(simulate(1, 1, true)[0].status);
  nlohmann::json bad = head();
  const Result<Bytes> state = os::read_file(kept() + "/state-" + bad["optimizer_state"].get<std::string>(), 1 << 26);
  ASSERT_OK(state);
  const auto whole = decode_optimizer_state(*state);
  ASSERT_OK(whole);
  OptimizerStateHeader header = whole->header;
  header.value_count /= 2;
  Bytes less = encode_head(header);
  less.resize(less.size() + header.value_count * sizeof(float));
  const std::string name = content_digest(less).hex();
  ASSERT_OK(os::write_file_atomically(kept() + "/state-" + name, less));
  bad["optimizer_state"] = name;
  EXPECT_ERROR(going_on_from(bad, 2), ErrorCode::malformed, "control");
}

TEST_F(RankedSimulation, RefusesACheckpointOfAnotherSimulationAndADamagedOne) {
  ASSERT_OK(simulate(1, 1, true)[0].status);
  const Status other = simulate(1, 2, true, 'b')[0].status;
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::conflict);
  const Result<std::vector<std::string>> names = os::list_directory(kept());
  ASSERT_OK(names);
  EXPECT_EQ(names->size(), 3u) << "checkpoint.json, the model, and what devices keep: nothing";
  for (const std::string& name : *names) {
    const Result<Bytes> whole = os::read_file(kept() + "/" + name, 1 << 26);
    ASSERT_OK(whole);
    Bytes damaged = *whole;
    damaged.push_back('x');
    ASSERT_OK(os::write_file_atomically(kept() + "/" + name, damaged));
    EXPECT_FALSE(simulate(1, 2, true)[0].status) << name;
    ASSERT_OK(os::write_file_atomically(kept() + "/" + name, *whole));
  }
  EXPECT_OK(simulate(1, 2, true)[0].status);
}

TEST_F(RankedSimulation, EndsOnAllRanksWithTheErrorOfOne) {
  fleet_.dropout = 0;
  job_.rounds.goal_count = kDevicesOfRanks;
  ASSERT_OK(os::remove_file(shards_[3]));
  const std::vector<RankEnd> ends = simulate(2);
  for (const RankEnd& end : ends) {
    ASSERT_FALSE(end.status);
    EXPECT_EQ(end.status.error().message(), ends[0].status.error().message());
    EXPECT_NE(end.status.error().message().find("rank 1"), std::string::npos) << end.status.error().message();
    EXPECT_NE(end.status.error().message().find("device 4"), std::string::npos) << end.status.error().message();
  }
}

}  // namespace
}  // namespace coterie::test
