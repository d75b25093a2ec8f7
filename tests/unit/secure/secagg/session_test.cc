// What a session's parameters lead to.
#include "secure/secagg/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "secure/secagg/fault.h"
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
  parameters.corrupt_share = .05;
  parameters.dropout_share = .05;
  const auto drawn = shape_for(parameters, 1000);  // the document's table
  ASSERT_OK(drawn);
  EXPECT_EQ(drawn->kind, GraphKind::drawn);
  EXPECT_EQ(drawn->holders, 52u);
  EXPECT_EQ(drawn->threshold, 37u);
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
