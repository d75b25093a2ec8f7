#include "vertical/coordinator/coordinator_wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/matchers.h"

namespace coterie::vertical {
namespace {

std::span<const uint8_t, kCoordinatorHeaderBytes> header_of(const Bytes& bytes) {
  return std::span<const uint8_t, kCoordinatorHeaderBytes>(bytes.data(), kCoordinatorHeaderBytes);
}
ByteView payload_of(const Bytes& bytes) { return ByteView(bytes).subspan(kCoordinatorHeaderBytes); }

Result<Request> again(const Request& request) {
  const Bytes bytes = write_request(request);
  COT_ASSIGN(const RequestHeader header, read_request_header(header_of(bytes)));
  EXPECT_EQ(header.length, payload_of(bytes).size());
  return read_request(header.kind, payload_of(bytes));
}

TEST(CoordinatorWire, CarriesEachRequest) {
  Digest digest;
  digest.bytes[31] = 9;
  const Result<Request> submit = again({.kind = RequestKind::submit, .manifest = "{}"});
  ASSERT_OK(submit);
  EXPECT_EQ(submit->manifest, "{}");
  const Result<Request> approve =
      again({.kind = RequestKind::approve, .job = {1, 2}, .digest = digest, .signature = {7, 8}});
  ASSERT_OK(approve);
  EXPECT_EQ(approve->job, (VerticalJobId{1, 2}));
  EXPECT_EQ(approve->digest, digest);
  EXPECT_EQ(approve->signature, (Bytes{7, 8}));
  const Result<Request> join = again({.kind = RequestKind::join, .job = {3}, .digest = digest});
  ASSERT_OK(join);
  EXPECT_EQ(join->digest, digest);
  EXPECT_FALSE(join->peer) << "there is one other party";
  const Result<Request> link = again({.kind = RequestKind::join, .job = {3}, .digest = digest, .peer = kMatcher});
  ASSERT_OK(link);
  EXPECT_EQ(link->peer, kMatcher);
  const Result<Request> report = again({.kind = RequestKind::report, .job = {3}, .reason = "peer_silent"});
  ASSERT_OK(report);
  EXPECT_EQ(report->reason, "peer_silent");
  EXPECT_FALSE(report->is_done);
  const RegressionShape shape{.rows = 1000, .label_columns = 2, .feature_columns = 300, .batch = 64, .epochs = 7};
  Digest session;
  session.bytes[7] = 7;
  const Result<Request> deal = again(
      {.kind = RequestKind::deal, .job = {3}, .digest = digest, .shape = shape, .session = session, .first_step = 111});
  ASSERT_OK(deal);
  EXPECT_EQ(deal->digest, digest);
  EXPECT_EQ(deal->shape, shape);
  EXPECT_EQ(deal->session, session);
  EXPECT_EQ(deal->first_step, 111u);
  EXPECT_FALSE(again({.kind = RequestKind::deal, .job = {3}, .shape = shape, .first_step = 112})) << "it has 112 steps";
  Request product{.kind = RequestKind::deal, .job = {3}, .digest = digest, .shape = shape, .is_product = true};
  const Result<Request> read_product = again(product);
  ASSERT_OK(read_product);
  EXPECT_TRUE(read_product->is_product);
  EXPECT_FALSE(deal->is_product);
  product.first_step = 1;
  EXPECT_FALSE(again(product)) << "it has no steps";
  product.first_step = 0;
  product.shape.feature_columns = 1024;
  EXPECT_FALSE(again(product)) << "too many columns for a product";
  ASSERT_OK(again({.kind = RequestKind::status, .job = {3}}));
  for (const RequestKind kind : {RequestKind::cancel, RequestKind::pause, RequestKind::resume}) {
    const Result<Request> request = again({.kind = kind, .job = {3}});
    ASSERT_OK(request);
    EXPECT_EQ(request->kind, kind);
  }
}

TEST(CoordinatorWire, RefusesALengthBeforeAnybodyReadsOn) {
  Bytes bytes = write_request({.kind = RequestKind::status, .job = {}});
  bytes[8] = 17;
  EXPECT_ERROR(read_request_header(header_of(bytes)), ErrorCode::malformed, "17 bytes");
  bytes = write_request({.kind = RequestKind::submit, .manifest = std::string(kManifestBytesMax + 1, ' ')});
  EXPECT_ERROR(read_request_header(header_of(bytes)), ErrorCode::malformed, "65537");
  bytes = write_refusal(Refusal::not_approved);
  bytes[11] = 1;
  EXPECT_ERROR(read_answer_header(header_of(bytes)), ErrorCode::malformed, "16777217");
}

TEST(CoordinatorWire, RefusesWhatIsNoRequest) {
  Bytes bytes = write_request({.kind = RequestKind::join, .job = {}});
  for (const auto& [at, value] : {std::pair(0, 'X'), {4, 0}, {4, 12}, {5, 1}, {7, 1}}) {
    Bytes other = bytes;
    other[static_cast<size_t>(at)] = static_cast<uint8_t>(value);
    EXPECT_ERROR(read_request_header(header_of(other)), ErrorCode::malformed, "coordinator");
  }
  bytes[3] = 1;
  EXPECT_ERROR(read_request_header(header_of(bytes)), ErrorCode::unsupported_version, "version 1");
  for (size_t size = 0; size < 48; ++size) {
    EXPECT_ERROR(read_request(RequestKind::join, Bytes(size)), ErrorCode::malformed, "");
  }
  EXPECT_ERROR(read_request(RequestKind::status, Bytes(17)), ErrorCode::malformed, "");
  for (size_t size = 0; size < 104; ++size) {
    EXPECT_ERROR(read_request(RequestKind::deal, Bytes(size)), ErrorCode::malformed, "");
  }
  EXPECT_ERROR(read_request(RequestKind::deal, Bytes(104, 0xFF)), ErrorCode::malformed, "out of range");
  // A failure has a reason, an end that is well has none, and a reason is a word.
  EXPECT_FALSE(again({.kind = RequestKind::report, .job = {}}));
  EXPECT_FALSE(again({.kind = RequestKind::report, .job = {}, .is_done = true, .reason = "x"}));
  EXPECT_FALSE(again({.kind = RequestKind::report, .job = {}, .reason = "two words"}));
}

TEST(CoordinatorWire, CarriesAJobAndEachRefusal) {
  JobView view{.job = {5}, .manifest = {}, .state = JobState::failed, .reason = "party_lost"};
  view.parties[0] = {.name = "a", .is_approved = true, .is_done = false, .relayed_bytes = uint64_t{1} << 40};
  view.parties[1] = {.name = "b", .is_approved = true, .is_done = true, .is_paused = true, .relayed_bytes = 3};
  const Bytes bytes = write_answer(view);
  const Result<JobView> read = read_answer(header_of(bytes), payload_of(bytes));
  ASSERT_OK(read);
  EXPECT_EQ(*read, view);
  for (size_t size = 0; size < payload_of(bytes).size(); ++size) {
    EXPECT_ERROR(read_answer(header_of(bytes), payload_of(bytes).first(size)), ErrorCode::malformed, "");
  }
  // More than two parties, of which a reader that knows two alone makes no job.
  JobView ring = view;
  ring.parties.push_back({.name = "c", .relayed_bytes = 7});
  const Bytes three = write_answer(ring);
  const Result<JobView> read_ring = read_answer(header_of(three), payload_of(three));
  ASSERT_OK(read_ring);
  EXPECT_EQ(*read_ring, ring);
  constexpr size_t kState = 16 + 32;
  EXPECT_EQ(payload_of(bytes)[kState], static_cast<uint8_t>(JobState::failed)) << "as it was before there were more";
  EXPECT_GT(payload_of(three)[kState], static_cast<uint8_t>(JobState::paused));
  Bytes many = three;
  many[kCoordinatorHeaderBytes + kState] = 0x70 | static_cast<uint8_t>(JobState::failed);
  EXPECT_FALSE(read_answer(header_of(many), payload_of(many))) << "nine parties";
  // A terminal sees these texts: a name or a reason that could steer it is no answer.
  JobView steering = view;
  steering.parties[0].name = "\x1b[2J";
  const Bytes steers = write_answer(steering);
  EXPECT_FALSE(read_answer(header_of(steers), payload_of(steers)));

  std::set<std::string_view> names;
  for (size_t i = 0; i < all_refusals().size(); ++i) {
    const RefusalTraits& row = all_refusals()[i];
    EXPECT_EQ(static_cast<size_t>(row.refusal), i + 1);
    EXPECT_TRUE(names.insert(row.name).second);
    const Bytes refused = write_refusal(row.refusal);
    const Result<JobView> heard = read_answer(header_of(refused), payload_of(refused));
    EXPECT_ERROR(heard, row.code, "refuses");
    EXPECT_EQ(heard.error().reason(), row.name);
  }
  const Bytes unknown = write_refusal(static_cast<Refusal>(200));
  EXPECT_ERROR(read_answer(header_of(unknown), payload_of(unknown)), ErrorCode::malformed, "does not know");
}

}  // namespace
}  // namespace coterie::vertical
