// TLS inside of another connection: what carries it sees nothing, and changes nothing unseen.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "tests/support/matchers.h"
#include "tests/unit/vertical_coordinator/party_files.h"
#include "tests/unit/vertical_link/socket_pair.h"
#include "vertical/link/link.h"

namespace coterie::vertical {
namespace {

using test::SocketStream;
using test::StreamPair;

// Says or hears one message of 5,000 equal bytes.
class Speaker : public Stage {
 public:
  explicit Speaker(bool speaks) : speaks_(speaks) {}
  std::optional<Message> next() override {
    if (!std::exchange(speaks_, false)) return std::nullopt;
    done_ = true;
    return Message{.peer = 1, .kind = 3, .payload = payload()};
  }
  Status receive(const Message& message) override {
    EXPECT_EQ(message.payload, payload());
    done_ = true;
    return {};
  }
  bool done() const override { return done_; }
  static Bytes payload() { return Bytes(5000, 0xAB); }

 private:
  bool speaks_, done_ = false;
};

class CarriedTls : public ::testing::Test {
 protected:
  // Copies what comes of `from`, block by block as `change` leaves it. Ends both when either ends.
  void carry(SocketStream& from, SocketStream& to, const std::function<void(Bytes&)>& change) {
    Bytes block(1 << 16);
    for (;;) {
      const Result<size_t> count = from.read_some(block);
      if (!count) break;
      Bytes bytes(block.begin(), block.begin() + static_cast<ptrdiff_t>(*count));
      change(bytes);
      if (!to.write_all(bytes) || is_cut_.load()) break;
    }
    from.shut();
    to.shut();
  }

  // A label party that speaks and a feature party that hears, with a relay between them that sees and may change what
  // the label party sends.
  void meet(const std::function<void(Bytes&)>& change) {
    StreamPair left, right;
    SocketStream &label_end = *left.right, &feature_end = *right.left;
    std::thread there([&] { carry(label_end, feature_end, change); });
    std::thread back([&] { carry(feature_end, label_end, [](Bytes&) {}); });
    std::thread feature([&] { feature_ = run(std::move(right.right), false); });
    label_ = run(std::move(left.left), true);
    for (std::thread* thread : {&feature, &there, &back}) thread->join();
  }

  Status run(std::unique_ptr<SocketStream> carrier, bool is_label) {
    const TlsIdentity& identity = is_label ? label_files_ : feature_files_;
    auto stream = secure_inside(std::move(carrier), identity, is_label);
    // As at a coordinator, whose own TLS is around the parties'.
    if (stream && is_nested_) stream = secure_inside(std::move(*stream), identity, is_label);
    if (!stream) return stream.error();
    Link link(std::move(*stream));
    COT_TRY(link.agree({.job = {7}, .manifest = {}, .party = is_label ? 0u : 1u}, is_label ? 1 : 0));
    Speaker speaker(is_label);
    return link.run(speaker, StageId::matching, 1);
  }

  test::PartyFiles files_;
  TlsIdentity label_files_ = files_.identity("label", "feature"), feature_files_ = files_.identity("feature", "label");
  Status label_, feature_;
  bool is_nested_ = false;
  std::atomic<bool> is_cut_{false};  // the relay ends behind the block that it carries
};

TEST_F(CarriedTls, ShowsNoByteOfAFrame) {
  Bytes seen;
  meet([&seen](Bytes& bytes) { seen.insert(seen.end(), bytes.begin(), bytes.end()); });
  EXPECT_OK(label_);
  EXPECT_OK(feature_);
  EXPECT_GT(seen.size(), Speaker::payload().size());
  const auto passes = [&seen](ByteView what) { return !std::ranges::search(seen, what).empty(); };
  EXPECT_FALSE(passes(Bytes(4, 0xAB))) << "of the message";
  EXPECT_FALSE(passes(as_bytes("CTV"))) << "of the hello";
  EXPECT_FALSE(passes(write_frame_header({.stage = StageId::matching, .kind = 3, .length = 5000, .sequence = 1})));
}

TEST_F(CarriedTls, SeesAChangedByte) {
  size_t blocks = 0;
  meet([&blocks](Bytes& bytes) {
    if (++blocks > 1) bytes[bytes.size() / 2] ^= 1;  // behind the handshake's first flight
  });
  EXPECT_FALSE(feature_);
}

TEST_F(CarriedTls, SeesAChangedMessage) {
  // Only the last, large block: both parties had agreed by then.
  meet([](Bytes& bytes) {
    if (bytes.size() > 4000) std::swap(bytes[100], bytes[bytes.size() - 100]);
    if (bytes.size() > 4000) bytes[200] ^= 0x40;
  });
  EXPECT_ERROR(feature_, ErrorCode::data_loss, "changed on its way");
}

TEST_F(CarriedTls, SeesAnAddedByteAndAMissingOne) {
  meet([](Bytes& bytes) {
    if (bytes.size() > 4000) bytes.insert(bytes.begin(), {23, 3, 3, 0, 1, 0});  // a record of one byte
  });
  EXPECT_ERROR(feature_, ErrorCode::data_loss, "changed on its way");
  meet([](Bytes& bytes) {
    if (bytes.size() > 4000) bytes.resize(bytes.size() - 1000);
  });
  EXPECT_FALSE(feature_) << "the rest never comes";
}

// A party takes what was changed for an attack, and ends the job; from what was cut off it goes on.
TEST_F(CarriedTls, KnowsACutFromAChangeInsideOfAnotherTls) {
  is_nested_ = true;
  meet([](Bytes&) {});
  EXPECT_OK(label_);
  EXPECT_OK(feature_);
  for (const bool in_the_middle : {false, true}) {
    is_cut_ = false;
    meet([&](Bytes& bytes) {
      if (bytes.size() <= 4000) return;
      if (in_the_middle) bytes.resize(bytes.size() / 2);
      if (!in_the_middle) bytes.clear();
      is_cut_ = true;
    });
    EXPECT_ERROR(feature_, ErrorCode::unavailable, "");
  }
  is_cut_ = false;
  meet([](Bytes& bytes) {
    if (bytes.size() > 4000) bytes[200] ^= 0x40;
  });
  EXPECT_ERROR(feature_, ErrorCode::data_loss, "changed on its way");
}

TEST_F(CarriedTls, RefusesARelayThatAnswersItself) {
  feature_files_ = files_.identity("coordinator", "label");
  meet([](Bytes&) {});
  EXPECT_ERROR(label_, ErrorCode::unauthenticated, "feature");
  EXPECT_FALSE(feature_);
}

}  // namespace
}  // namespace coterie::vertical
