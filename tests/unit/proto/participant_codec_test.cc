#include <cmath>

#include "proto/codec/limits.h"
#include "tests/support/golden.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::expect_accepted;
using test::expect_rejected;
using M = ParticipantState;

TEST(ParticipantStateCodec, NamesTheFieldItRejects) {
  expect_rejected<M>("phase", [](M& m) { m.phase = static_cast<ParticipantPhase>(0); });
  expect_rejected<M>("phase", [](M& m) { m.phase = static_cast<ParticipantPhase>(8); });
  expect_rejected<M>("population must have 0 to 256", [](M& m) { m.population = Population(std::string(257, 'p')); });
  expect_rejected<M>("signing_key must have 0 to 128", [](M& m) { m.keys.newest.resize(129); });
  expect_rejected<M>("retiring_keys.key must have 1 to 128", [](M& m) { m.keys.retiring = {{{}, WallTime()}}; });
  expect_rejected<M>("retiring_keys has more than 8", [](M& m) {
    m.keys.retiring.resize(9, {Bytes(32, 1), WallTime()});
  });
  expect_rejected<M>("wait_until", [](M& m) { m.wait_until = wall_time_from_unix_ms(-1); });
  expect_rejected<M>("wait_until", [](M& m) { m.wait_until = WallTime::max(); });
  expect_rejected<M>("job must have 1 to 64", [](M& m) { m.newest_models[JobId("")] = ModelVersion(1); });
  expect_rejected<M>("job must have 1 to 64",
                     [](M& m) { m.newest_models[JobId(std::string(65, 'j'))] = ModelVersion(1); });
}

TEST(ParticipantStateCodec, ChecksTheAssignmentItKeeps) {
  expect_rejected<M>("ticket", [](M& m) { m.assignment->ticket.clear(); });
  expect_rejected<M>("model_bytes", [](M& m) { m.assignment->model_bytes = ~uint64_t{0}; });
}

TEST(ParticipantStateCodec, HasAnAssignmentFromAssignedOn) {
  for (const auto phase : {ParticipantPhase::assigned, ParticipantPhase::planned, ParticipantPhase::training,
                           ParticipantPhase::trained, ParticipantPhase::aggregating}) {
    expect_rejected<M>("assignment is missing", [phase](M& m) {
      m.phase = phase;
      m.assignment.reset();
    });
    expect_accepted<M>([phase](M& m) { m.phase = phase; });
  }
  for (const auto phase : {ParticipantPhase::unenrolled, ParticipantPhase::idle}) {
    expect_accepted<M>([phase](M& m) {
      m.phase = phase;
      m.assignment.reset();
    });
  }
}

TEST(ParticipantStateCodec, RemembersAsManyJobsAsTheLimitSays) {
  const auto with_jobs = [](size_t count) {
    return [count](M& m) {
      m.newest_models.clear();
      for (size_t i = 0; i < count; ++i) m.newest_models[JobId(std::to_string(i))] = ModelVersion(i);
    };
  };
  expect_accepted<M>(with_jobs(0));
  expect_accepted<M>(with_jobs(limits::kJobsRememberedMax));
  expect_rejected<M>("newest_models", with_jobs(limits::kJobsRememberedMax + 1));
}

TEST(ParticipantStateCodec, KnowsWhatCannotHaveBeenSpent) {
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL}) {
    expect_rejected<M>("spent.epsilon", [wrong](M& m) { m.spent.epsilon = wrong; });
    expect_rejected<M>("spent.delta", [wrong](M& m) { m.spent.delta = wrong; });
  }
  expect_accepted<M>([](M& m) { m.spent = {1.5, 0, {}}; });
  expect_rejected<M>("took_part_version must be at most", [](M& m) { m.took_part[JobId("k")] = ModelVersion(3); });
  expect_accepted<M>([](M& m) {
    m.took_part[JobId("k")] = ModelVersion(2);
    m.attempts[JobId("k")] = UINT32_MAX;
  });
  expect_rejected<M>("ledger must have records", [](M& m) { m.ledgers[JobId("k")] = {3, {}}; });
  expect_rejected<M>("ledger must have records", [](M& m) { m.ledgers[JobId("k")].head.bytes[0] = 1; });
  expect_accepted<M>([](M& m) {
    m.ledgers[JobId("k")].records = 3;
    m.ledgers[JobId("k")].head.bytes[0] = 1;
  });
  expect_rejected<M>("level is unknown", [](M& m) { m.levels[JobId("k")] = static_cast<SecurityLevel>(4); });
  expect_accepted<M>([](M& m) { m.levels[JobId("k")] = SecurityLevel::active_dp; });
  expect_rejected<M>("refusal.reason", [](M& m) { m.refusal = Refusal{}; });
}

TEST(ParticipantStateCodec, KeepsOpeningsByModel) {
  expect_accepted<M>([](M& m) {
    m.openings = {{Digest{{1}}, 1, false}, {Digest{{2}}, 0, true}, {Digest{}, UINT32_MAX, true}};
    m.has_opened = true;
    m.has_masked = true;
    m.joined_weight = 0.5f;
  });
  expect_rejected<M>("openings must have been opened", [](M& m) { m.openings = {{Digest{{1}}, 0, false}}; });
  expect_rejected<M>("openings must be of different models", [](M& m) {
    m.openings = {{Digest{{1}}, 1, false}, {Digest{{1}}, 2, false}};
  });
  const auto with_models = [](size_t count) {
    return [count](M& m) {
      m.openings.resize(count);
      for (size_t i = 0; i < count; ++i) {
        m.openings[i].model.bytes[0] = static_cast<uint8_t>(i);
        m.openings[i].model.bytes[1] = static_cast<uint8_t>(i >> 8);
        m.openings[i].sums = 1;
      }
    };
  };
  expect_accepted<M>(with_models(kOpeningsRememberedMax));
  expect_rejected<M>("openings has more than", with_models(kOpeningsRememberedMax + 1));
}

TEST(ParticipantStateCodec, KeepsStatesByJob) {
  const StateSlot slot{StateKind::feddyn, ModelVersion(7), Digest{{1}}, Digest{{2}}, Digest{{3}}};
  const StateSlot older{StateKind::feddyn, ModelVersion(6), Digest{{4}}, {}, Digest{{5}}};
  const WallTime used = wall_time_from_unix_ms(1'700'000'000'000);
  expect_accepted<M>([&](M& m) {
    m.states = {{JobId("a"), {slot, older, used}}, {JobId("b"), {slot, {}, used}}};
    m.staged = slot;
  });
  for (const uint8_t kind : {0, 4, 5, 127, 255}) {
    expect_rejected<M>("state.kind", [&](M& m) {
      m.staged = slot;
      m.staged->kind = static_cast<StateKind>(kind);
    });
  }
  expect_rejected<M>("state.previous must be of an older", [&](M& m) { m.states[JobId("a")] = {slot, slot, used}; });
  expect_rejected<M>("state.job must have 1 to 64", [&](M& m) { m.states[JobId("")] = {slot, {}, used}; });
  expect_rejected<M>("state.used", [&](M& m) { m.states[JobId("a")] = {slot, {}, WallTime::max()}; });
  const auto with_jobs = [&](size_t count) {
    return [&, count](M& m) {
      for (size_t i = 0; i < count; ++i) m.states[JobId(std::to_string(i))] = {slot, {}, used};
    };
  };
  expect_accepted<M>(with_jobs(kStatesKeptMax));
  expect_rejected<M>("states has more than", with_jobs(kStatesKeptMax + 1));
}

TEST(ParticipantStateCodec, KeepsWhichValuesArePersonal) {
  const StateSlot part{StateKind::personal_part, ModelVersion(7), Digest{{1}}, Digest{{2}}, Digest{{3}}};
  const StateSlot plain{StateKind::scaffold, ModelVersion(7), Digest{{1}}, {}, Digest{{3}}};
  const WallTime used = wall_time_from_unix_ms(1'700'000'000'000);
  const PersonalSettings settings{.parameters = {"head.*", "b"}, .norms = true, .first_epochs = 2};
  expect_accepted<M>([&](M& m) { m.states[JobId("a")] = {part, {}, used, settings}; });
  expect_accepted<M>([&](M& m) {
    StateSlot whole = part;
    whole.kind = StateKind::personal_model;
    m.states[JobId("a")] = {whole, {}, used, PersonalSettings{.kind = PersonalKind::model, .lambda = 0.5f}};
  });
  expect_accepted<M>([&](M& m) {
    StateSlot cluster = part;
    cluster.kind = StateKind::personal_cluster;
    m.states[JobId("a")] = {cluster, {}, used, PersonalSettings{.kind = PersonalKind::clusters, .count = 2}};
  });
  expect_rejected<M>("state.personal must be there", [&](M& m) { m.states[JobId("a")] = {part, {}, used}; });
  expect_rejected<M>("state.personal must be there", [&](M& m) { m.states[JobId("a")] = {plain, {}, used, settings}; });
  expect_rejected<M>("state.personal is of no known kind", [&](M& m) {
    m.states[JobId("a")] = {part, {}, used, PersonalSettings{.kind = static_cast<PersonalKind>(4)}};
  });
}

// Written before devices counted what they spend: nothing is spent, all else is as it was.
TEST(ParticipantStateCodec, ReadsStatesOfOlderBuilds) {
  const Result<Bytes> older = test::read_golden_bytes("wire/participant_state.older.hex");
  ASSERT_OK(older);
  const Result<ParticipantState> state = decode_participant_state(*older);
  ASSERT_OK(state);
  ParticipantState expected = test::MessageTraits<M>::samples().extreme;
  expected.spent = {};
  expected.took_part.clear();
  expected.refusal.reset();
  expected.ledgers.clear();
  expected.log.reset();
  expected.attempts.clear();
  expected.keys.retiring.clear();
  expected.states.clear();
  expected.staged.reset();
  EXPECT_EQ(*state, expected);
  EXPECT_EQ(encode(*state), *older) << "and an older build reads what was spent on nothing";
}

}  // namespace
}  // namespace coterie
