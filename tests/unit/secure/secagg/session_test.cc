// What a session's parameters lead to.
#include "secure/secagg/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "secure/secagg/client.h"
#include "secure/secagg/fault.h"
#include "secure/secagg/server.h"
#include "tests/support/matchers.h"

namespace coterie::secagg {
namespace {

SessionParameters good() {
  SessionParameters parameters;
  parameters.lane_count = 100;
  return parameters;
}

TEST(Session, ParametersOutOfRange) {
  EXPECT_OK(validate(good()));
  const auto refuses = [](auto change) {
    SessionParameters parameters = good();
    change(parameters);
    return !validate(parameters);
  };
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.level = SecurityLevel::none; }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.level = static_cast<SecurityLevel>(4); }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.survivors_min = 1; }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.survivors_min = 10'001; }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.corrupt_share = .34; }));  // active: a third at most
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.corrupt_share = -.1; }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.dropout_share = 1; }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.dropout_share = std::nan(""); }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.suite = static_cast<CipherSuite>(3); }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.ring_bits = 7; }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.ring_bits = 65; }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.lane_count = 0; }));
  EXPECT_TRUE(refuses([](SessionParameters& p) { p.lane_count = ~uint64_t{0}; }));
}

TEST(Session, ActiveIsCompleteUpTo255AndDrawnAbove) {
  SessionParameters parameters = good();
  EXPECT_EQ(shape_for(parameters, 255)->kind, GraphKind::complete);
  EXPECT_EQ(shape_for(parameters, 255)->threshold, 171u);
  parameters.corrupt_share = .1;
  parameters.dropout_share = .05;
  const auto drawn = shape_for(parameters, 1000);  // the document's table
  ASSERT_OK(drawn);
  EXPECT_EQ(drawn->kind, GraphKind::drawn);
  EXPECT_EQ(drawn->holders, 66u);
  EXPECT_EQ(drawn->threshold, 49u);
}

// Whoever writes plans writes their shares, too. With shares of nothing 1,000 devices would have two holders each, and
// two shares would open any update.
TEST(Session, NoPlanTakesThresholdsBelowTheFloor) {
  for (const auto level : {SecurityLevel::active, SecurityLevel::active_dp}) {
    for (const double share :
         {0.0, .05, std::nextafter(kCorruptShareMin, 0.0), std::nextafter(kCorruptShareMax, 1.0)}) {
      SessionParameters parameters = good();
      parameters.level = level;
      parameters.corrupt_share = share;
      parameters.dropout_share = 0;
      EXPECT_ERROR(validate(parameters), ErrorCode::invalid_argument, "corrupt_share must be in [0.1, 1/3]");
      EXPECT_ERROR(shape_for(parameters, 1000), ErrorCode::invalid_argument, "corrupt_share");
      EXPECT_ERROR(Server::make(parameters, 1, nullptr), ErrorCode::invalid_argument, "corrupt_share");
      EXPECT_ERROR(Client::make(parameters, Secret<32>(), {}, nullptr), ErrorCode::invalid_argument, "corrupt_share");
    }
  }
  // What is left to the plan's writer: the least that any roster is opened with.
  SessionParameters least = good();
  least.corrupt_share = kCorruptShareMin;
  least.dropout_share = 0;
  for (const uint32_t size : {256u, 300u, 500u, 1000u, 3000u, 10'000u}) {
    const auto shape = shape_for(least, size);
    ASSERT_OK(shape);
    EXPECT_EQ(shape->kind, GraphKind::drawn);
    EXPECT_GE(shape->threshold, 16u) << size;
    EXPECT_GT(2 * shape->threshold, shape->holders) << "no two halves of the holders open both kinds";
  }
}

TEST(Session, MaskedIsTheSparsestRing) {
  SessionParameters parameters = good();
  parameters.level = SecurityLevel::masked;
  parameters.corrupt_share = .1;
  parameters.dropout_share = .3;
  const auto ring = shape_for(parameters, 1000);
  ASSERT_OK(ring);
  EXPECT_EQ(ring->kind, GraphKind::ring);
  EXPECT_EQ(ring->holders, 88u);
  EXPECT_EQ(ring->threshold, 36u);
  EXPECT_EQ(shape_for(parameters, 3)->kind, GraphKind::complete);  // no sparse graph is private enough
}

TEST(Session, RostersOfNoSize) {
  SessionParameters parameters = good();
  parameters.survivors_min = 10;
  for (const uint32_t size : {0u, 1u, 9u, 10'001u, ~0u}) {
    EXPECT_EQ(fault_of(shape_for(parameters, size).error()), Fault::cohort_size) << size;
  }
  EXPECT_OK(shape_for(parameters, 10));
  // A third corrupt and many lost: no graph of 255 holders does.
  parameters.dropout_share = .3;
  EXPECT_EQ(fault_of(shape_for(parameters, 1000).error()), Fault::cohort_size);
}

TEST(Session, NameHoldsEveryParameter) {
  const SessionParameters parameters = good();
  const GraphShape shape{GraphKind::complete, 10, 7};
  std::set<Digest> names{session_of(parameters, shape, 10, Digest{})};
  const auto is_new = [&](auto change) {
    SessionParameters p = parameters;
    GraphShape s = shape;
    uint32_t size = 10;
    Digest root;
    change(p, s, size, root);
    return names.insert(session_of(p, s, size, root)).second;
  };
  EXPECT_TRUE(is_new([](auto& p, auto&, auto&, auto&) { p.context.bytes[0] = 1; }));
  EXPECT_TRUE(is_new([](auto& p, auto&, auto&, auto&) { p.level = SecurityLevel::masked; }));
  EXPECT_TRUE(is_new([](auto& p, auto&, auto&, auto&) { p.survivors_min = 3; }));
  EXPECT_TRUE(is_new([](auto& p, auto&, auto&, auto&) { p.suite = CipherSuite::chacha20; }));
  EXPECT_TRUE(is_new([](auto& p, auto&, auto&, auto&) { p.ring_bits = 31; }));
  EXPECT_TRUE(is_new([](auto& p, auto&, auto&, auto&) { p.lane_count = 101; }));
  EXPECT_TRUE(is_new([](auto&, auto& s, auto&, auto&) { s.kind = GraphKind::drawn; }));
  EXPECT_TRUE(is_new([](auto&, auto& s, auto&, auto&) { s.holders = 9; }));
  EXPECT_TRUE(is_new([](auto&, auto& s, auto&, auto&) { s.threshold = 6; }));
  EXPECT_TRUE(is_new([](auto&, auto&, auto& size, auto&) { size = 11; }));
  EXPECT_TRUE(is_new([](auto&, auto&, auto&, auto& root) { root.bytes[31] = 1; }));
}

}  // namespace
}  // namespace coterie::secagg
