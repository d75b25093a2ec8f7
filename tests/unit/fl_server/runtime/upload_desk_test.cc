// One node's uploads from their offer to their receipts, over a store in memory and real threads: what is decided when
// is ingest_machine_test's; here it is who hears of it.
#include "fl_server/runtime/upload_desk.h"

#include <gmock/gmock.h>

#include "tests/unit/fl_server/runtime/shell_world.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct HeardNode final : NodeEvents {
  void pool_changed(const Population&, uint64_t) override {}
  void tickets_issued(const RoundKey&, uint32_t) override {}
  void tickets_lacking(const RoundKey&, uint64_t) override {}
  void updates_accepted(const RoundKey&, uint64_t total) override { totals.push_back(total); }
  void update_accepted(const RoundKey&, const DeviceId& device) override { accepted.push_back(device); }
  std::vector<uint64_t> totals;
  std::vector<DeviceId> accepted;
};

// A connection's side of one upload, which stops at each step so that a test can say what comes next.
struct Connection {
  Connection()
      : slot(std::make_shared<UploadSlot>([this](UploadAdmission told) { admission.emplace(std::move(told)); })) {}
  bool is_admitted() const { return admission && std::holds_alternative<UploadAdmitted>(*admission); }
  const UploadDecision* decision() const {
    if (decided) return &*decided;
    return admission ? std::get_if<UploadDecision>(&*admission) : nullptr;
  }
  bool has_receipt() const { return decision() != nullptr && std::holds_alternative<UploadAccepted>(*decision()); }
  std::optional<UploadAdmission> admission;
  std::optional<UploadDecision> decided;
  std::shared_ptr<UploadSlot> slot;
};

class UploadDeskTest : public testing::Test {
 protected:
  void SetUp() override {
    notice_.job = job_.id;
    notice_.key = world_.open_round(job_).key;
    notice_.state = RoundState::collecting;
    notice_.goal_count = 2;
    notice_.plan = plan_of(job_.spec.horizontal(), job_.id, job_.values());
    world_.move(notice_.key, RoundState::selecting, RoundState::collecting);
    world_.at_core([this] {
      desk_->start(events_);
      desk_->publish(notice_, {});
    });
  }
  void TearDown() override {
    world_.at_core([this] { desk_.reset(); });
  }

  void offer(uint64_t upload, uint8_t who, Connection& connection) {
    const DeviceId device = test::device(who);
    world_.at_core([&] {
      desk_->enter(UploadId(upload), {.key = notice_.key, .device = device, .bytes = 100, .slot = connection.slot});
      desk_->step(UploadOffered{UploadId(upload), notice_.key, device, 100});
    });
    world_.settle();
  }
  void deliver(uint64_t upload, Connection& connection, std::vector<float> values = {1, 2, 3}) {
    ASSERT_TRUE(connection.slot->deliver([&](UploadDecision told) { connection.decided.emplace(std::move(told)); }));
    world_.at_core([&] {
      UploadBody body;
      body.decoded = std::move(values);
      body.values = body.decoded;
      body.weight = 1;
      desk_->received(UploadId(upload), std::move(body), {.updates = 1, .weight = 1});
    });
    for (int hop = 0; hop < 3; ++hop) world_.settle();
  }

  test::ShellWorld world_;
  JobRecord job_ = world_.create_job();
  RoundNotice notice_;
  MacKey key_;
  HeardNode events_;
  std::vector<DeviceId> noted_;
  std::optional<UploadDesk> desk_{
      std::in_place,
      IngestLimits{},
      "node/life",
      key_,
      BatchSums::Parts{world_.store, world_.partials, world_.metrics, world_.loops},
      UploadDesk::Calls{[this](const NoteAccepted& accepted) { noted_.push_back(accepted.device); }}};
};

TEST_F(UploadDeskTest, AnUploadGoesFromItsOfferToAReceiptOfWhatIsDurable) {
  Connection one, two;
  offer(1, 1, one);
  ASSERT_TRUE(one.is_admitted());
  EXPECT_EQ(std::get<UploadAdmitted>(*one.admission).rules, notice_.plan.update);
  EXPECT_GT(desk_->bytes_in_flight(), 0u);
  offer(2, 2, two);
  deliver(1, one);
  deliver(2, two);
  ASSERT_TRUE(one.has_receipt() && two.has_receipt());
  const Digest receipt = receipt_for(notice_.key, test::device(1), key_);
  EXPECT_EQ(std::get<UploadAccepted>(*one.decision()).receipt.receipt,
            Bytes(receipt.bytes.begin(), receipt.bytes.end()));
  EXPECT_EQ(*world_.store.count_accepted(notice_.key), 2u);
  EXPECT_THAT(noted_, testing::UnorderedElementsAre(test::device(1), test::device(2)));
  EXPECT_EQ(events_.accepted, noted_) << "the leader hears of each";
  EXPECT_EQ(events_.totals.back(), 2u);
  EXPECT_EQ(desk_->bytes_in_flight(), 0u);
  desk_->wait_until_idle(Millis(0));
}

TEST_F(UploadDeskTest, WhoIsCountedAlreadyGetsTheSameReceiptWithoutABody) {
  Connection one, again;
  world_.accept(notice_.key, test::device(1));
  world_.at_core([this] { desk_->publish(notice_, {test::device(1)}); });
  offer(1, 1, one);
  EXPECT_TRUE(one.has_receipt());
  offer(2, 1, again);
  ASSERT_TRUE(again.has_receipt());
  EXPECT_EQ(std::get<UploadAccepted>(*one.decision()).receipt.receipt,
            std::get<UploadAccepted>(*again.decision()).receipt.receipt);
}

TEST_F(UploadDeskTest, AnUpdateThatIsNoNumberIsRefusedAndNobodyCounts) {
  Connection bad;
  offer(1, 1, bad);
  deliver(1, bad, {1, std::numeric_limits<float>::quiet_NaN(), 3});
  ASSERT_NE(bad.decision(), nullptr);
  EXPECT_EQ(std::get<UploadRefused>(*bad.decision()).error.code(), ErrorCode::malformed);
  EXPECT_EQ(*world_.store.count_accepted(notice_.key), 0u);
  EXPECT_THAT(noted_, IsEmpty());
}

TEST_F(UploadDeskTest, AConnectionThatIsLostLeavesNothing) {
  Connection lost;
  offer(1, 1, lost);
  world_.at_core([this] {
    desk_->lost(UploadId(1));
    desk_->lost(UploadId(1));  // said again, it changes nothing
    desk_->received(UploadId(1), {}, {.updates = 1, .weight = 1});
  });
  EXPECT_EQ(desk_->bytes_in_flight(), 0u);
  EXPECT_EQ(lost.decision(), nullptr);
  Connection next;
  offer(2, 1, next);
  EXPECT_TRUE(next.is_admitted()) << "its device may send again";
}

TEST_F(UploadDeskTest, AnUploadForARoundThatIsOverIsRefusedAndSentElsewhere) {
  Connection late;
  world_.at_core([this] { desk_->withdraw(notice_.key); });
  offer(1, 1, late);
  ASSERT_NE(late.decision(), nullptr);
  EXPECT_EQ(std::get<UploadRefused>(*late.decision()).error.code(), ErrorCode::round_closed);
}

TEST_F(UploadDeskTest, ConnectionsThatOutliveItAreToldNothingMore) {
  Connection open;
  offer(1, 1, open);
  world_.at_core([this] { desk_.reset(); });
  EXPECT_EQ(open.slot->state(), UploadSlot::State::decided);
  EXPECT_EQ(open.decision(), nullptr);
}

}  // namespace
}  // namespace coterie
