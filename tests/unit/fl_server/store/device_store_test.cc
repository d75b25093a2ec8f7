#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "fl_server/store/device_directory.h"
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "tests/support/memory_device_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;
using testing::IsEmpty;

WallTime wall(int64_t ms) { return wall_time_from_unix_ms(1'750'000'000'000 + ms); }

Digest digest(uint8_t value) {
  Digest digest;
  digest.bytes.fill(value);
  return digest;
}

TokenRecord token(uint8_t value, uint32_t uses = 1, const std::string& population = "phones") {
  return {.digest = digest(value),
          .population = Population(population),
          .label = "label",
          .uses_left = uses,
          .expires = wall(1'000),
          .created = wall(value)};
}

DeviceRecord device(uint8_t value) {
  DeviceRecord device;
  device.id.bytes.fill(value);
  device.algorithm = KeyAlgorithm::p256;
  device.public_key = Bytes(65, value);
  device.sdk_version = "0.1.0 \xff";  // a stranger's bytes
  device.enrolled = wall(10);
  return device;
}

template <typename OnDatabase>
void claim_population(SqlBackend<SqlDeviceStore, OnDatabase>& backend, const std::string& name,
                      const std::string& tenant) {
  const auto admin = SqlAdminStore::open(backend.open_database());
  ASSERT_OK(admin);
  ASSERT_OK((*admin)->claim_for_tenant(Owned::population, name, tenant));
}
void claim_population(MemoryStoreBackend<MemoryDeviceStore>& backend, const std::string& name,
                      const std::string& tenant) {
  backend.store().claim(name, tenant);
}

template <typename Backend>
class DeviceStoreConformance : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  DeviceStore& store() { return backend_.store(); }
  void reopen() { backend_.reopen(); }
  Backend backend_;
};
using Backends = testing::Types<SqlBackend<SqlDeviceStore, SqliteDatabase>,
                                SqlBackend<SqlDeviceStore, PostgresDatabase>, MemoryStoreBackend<MemoryDeviceStore>>;
TYPED_TEST_SUITE(DeviceStoreConformance, Backends, BackendNames);

TYPED_TEST(DeviceStoreConformance, KeepsTokensByTheirDigest) {
  EXPECT_THAT(*this->store().list_tokens(), IsEmpty());
  ASSERT_OK(this->store().create_token(token(2, 5)));
  ASSERT_OK(this->store().create_token(token(1)));
  EXPECT_ERROR(this->store().create_token(token(1)), ErrorCode::conflict, "");
  this->reopen();
  const std::vector<TokenRecord> tokens = *this->store().list_tokens();
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].digest, digest(1)) << "by creation";
  EXPECT_EQ(tokens[1].digest, digest(2));
  EXPECT_EQ(tokens[1].uses_left, 5u);
  EXPECT_EQ(tokens[1].population, Population("phones"));
  EXPECT_EQ(tokens[1].label, "label");
  EXPECT_EQ(tokens[1].expires, wall(1'000));
  ASSERT_OK(this->store().remove_token(digest(1)));
  EXPECT_ERROR(this->store().remove_token(digest(1)), ErrorCode::not_found, "no such token");
}

TYPED_TEST(DeviceStoreConformance, EnrollsADeviceIntoTheTokensPopulation) {
  ASSERT_OK(this->store().create_token(token(1, 1, "tablets")));
  DeviceRecord wish = device(9);
  wish.population = Population("administrators");
  const Result<DeviceRecord> enrolled = this->store().enroll(digest(1), wish, wall(20));
  ASSERT_OK(enrolled);
  EXPECT_EQ(enrolled->population, Population("tablets")) << "the token says where, not the device";
  this->reopen();
  const Result<DeviceRecord> stored = this->store().get_device(device(9).id);
  ASSERT_OK(stored);
  EXPECT_EQ(stored->population, Population("tablets"));
  EXPECT_EQ(stored->algorithm, KeyAlgorithm::p256);
  EXPECT_EQ(stored->public_key, device(9).public_key);
  EXPECT_EQ(stored->sdk_version, device(9).sdk_version);
  EXPECT_EQ(stored->enrolled, wall(10));
  EXPECT_FALSE(stored->revoked.has_value());
}

TYPED_TEST(DeviceStoreConformance, CountsTheUsesOfAToken) {
  ASSERT_OK(this->store().create_token(token(1, 2)));
  EXPECT_OK(this->store().enroll(digest(1), device(1), wall(0)));
  EXPECT_EQ(this->store().list_tokens()->at(0).uses_left, 1u);
  EXPECT_OK(this->store().enroll(digest(1), device(2), wall(0)));
  EXPECT_ERROR(this->store().enroll(digest(1), device(3), wall(0)), ErrorCode::unauthenticated, "used up");
  EXPECT_ERROR(this->store().get_device(device(3).id), ErrorCode::not_found, "no such device");
}

TYPED_TEST(DeviceStoreConformance, EnrollsADeviceAgainWithoutAnotherUse) {
  ASSERT_OK(this->store().create_token(token(1, 1)));
  ASSERT_OK(this->store().enroll(digest(1), device(1), wall(0)));
  // Its reply was lost, and perhaps the token has expired or was removed since.
  EXPECT_OK(this->store().enroll(digest(1), device(1), wall(5'000)));
  EXPECT_OK(this->store().enroll(digest(77), device(1), wall(0)));
  EXPECT_EQ(*this->store().count_devices(), 1u);
}

TYPED_TEST(DeviceStoreConformance, EnrollsNobodyWithABadToken) {
  ASSERT_OK(this->store().create_token(token(1)));
  EXPECT_ERROR(this->store().enroll(digest(2), device(1), wall(0)), ErrorCode::unauthenticated, "unknown");
  EXPECT_ERROR(this->store().enroll(digest(1), device(1), wall(1'000)), ErrorCode::unauthenticated, "expired");
  EXPECT_EQ(this->store().list_tokens()->at(0).uses_left, 1u) << "a refusal costs no use";
  EXPECT_OK(this->store().enroll(digest(1), device(1), wall(999)));
}

TYPED_TEST(DeviceStoreConformance, LetsARevokedDeviceNotComeBack) {
  ASSERT_OK(this->store().create_token(token(1, 9)));
  ASSERT_OK(this->store().enroll(digest(1), device(1), wall(0)));
  ASSERT_OK(this->store().revoke_device(device(1).id, wall(100)));
  EXPECT_ERROR(this->store().enroll(digest(1), device(1), wall(200)), ErrorCode::permission_denied, "revoked");
  ASSERT_OK(this->store().revoke_device(device(1).id, wall(300)));
  EXPECT_EQ(this->store().get_device(device(1).id)->revoked, wall(100)) << "the first time stands";
  EXPECT_ERROR(this->store().revoke_device(device(2).id, wall(0)), ErrorCode::not_found, "no such device");
}

TYPED_TEST(DeviceStoreConformance, ListsDevicesByIdInPages) {
  ASSERT_OK(this->store().create_token(token(1, 9)));
  for (const uint8_t i : {5, 1, 4, 2, 3}) ASSERT_OK(this->store().enroll(digest(1), device(i), wall(0)));
  EXPECT_EQ(*this->store().count_devices(), 5u);
  std::vector<DeviceRecord> page = *this->store().list_devices({.limit = 2});
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].id, device(1).id);
  page = *this->store().list_devices({.after = page[1].id});
  ASSERT_EQ(page.size(), 3u);
  EXPECT_EQ(page[0].id, device(3).id);
  EXPECT_THAT(*this->store().list_devices({.after = device(5).id}), IsEmpty());
}

TYPED_TEST(DeviceStoreConformance, ListsDevicesByPopulationAndWhetherTheyAreRevoked) {
  ASSERT_OK(this->store().create_token(token(1, 9, "phones")));
  ASSERT_OK(this->store().create_token(token(2, 9, "cars")));
  for (const uint8_t i : {1, 2, 3, 4, 5})
    ASSERT_OK(this->store().enroll(digest(i % 2 == 0 ? 2 : 1), device(i), wall(0)));
  ASSERT_OK(this->store().revoke_device(device(3).id, wall(7)));
  ASSERT_OK(this->store().revoke_device(device(4).id, wall(7)));
  const auto ids = [&](const DeviceQuery& query) {
    std::string text;
    const std::vector<DeviceRecord> devices = *this->store().list_devices(query);
    for (const DeviceRecord& found : devices) text += std::to_string(found.id.bytes[0]);
    return text + "/" + std::to_string(*this->store().count_devices(query));
  };
  EXPECT_EQ(ids({.population = "phones"}), "135/3");
  EXPECT_EQ(ids({.after = device(1).id, .limit = 1, .population = "phones"}), "3/3");
  EXPECT_EQ(ids({.revoked = true}), "34/2");
  EXPECT_EQ(ids({.revoked = false}), "125/3");
  EXPECT_EQ(ids({.population = "cars", .revoked = false}), "2/1");
  EXPECT_EQ(ids({.population = "Phones"}), "/0");
  EXPECT_EQ(ids({.population = "' OR 1=1 --"}), "/0");
  claim_population(this->backend_, "cars", "acme");
  EXPECT_EQ(ids({.tenant = "acme"}), "24/2");
  EXPECT_EQ(ids({.tenant = "default"}), "135/3") << "what nobody has claimed";
  EXPECT_EQ(ids({.population = "phones", .tenant = "acme"}), "/0");
  EXPECT_EQ(ids({.tenant = "other"}), "/0");
}

// ---- Devices that are not seen any more

constexpr Millis kDay{86'400'000};

template <typename OnDatabase>
void accept_update_of(SqlBackend<SqlDeviceStore, OnDatabase>& backend, const DeviceId& id) {
  auto database = backend.open_database();
  ASSERT_OK(database);
  Statement insert = database->prepare("INSERT INTO accept(round, attempt, device, partial) VALUES(1, 1, ?, 'p')");
  insert << id;
  ASSERT_OK(insert.run());
}
void accept_update_of(MemoryStoreBackend<MemoryDeviceStore>& backend, const DeviceId& id) {
  backend.store().accept(id);
}

TYPED_TEST(DeviceStoreConformance, TakesADevicesCheckInsInTheOrderInWhichTheyWereSigned) {
  DeviceStore& store = this->store();
  ASSERT_OK(store.create_token(token(1, 9)));
  for (const uint8_t i : {1, 2}) ASSERT_OK(store.enroll(digest(1), device(i), wall(0)));
  const DeviceId one = device(1).id, two = device(2).id, unknown = device(3).id;
  const auto take = [&](const std::vector<CheckinClaim>& claims) {
    return *this->store().take_checkins(claims, wall(100));
  };
  EXPECT_EQ(take({}), std::vector<bool>());
  EXPECT_EQ(take({{two, wall(5)}, {one, wall(7)}, {unknown, wall(7)}}), (std::vector{true, true, false}));
  EXPECT_EQ(take({{one, wall(7)}, {two, wall(5)}}), (std::vector{false, false})) << "sent again";
  EXPECT_EQ(take({{one, wall(6)}, {two, wall(6)}}), (std::vector{false, true})) << "an older one";
  EXPECT_EQ(take({{one, wall(8)}, {one, wall(8)}, {one, wall(9)}}), (std::vector{true, false, true}));
  this->reopen();
  EXPECT_EQ(take({{one, wall(9)}, {one, wall(10)}}), (std::vector{false, true}));
}

TYPED_TEST(DeviceStoreConformance, AServersClockThatWasAheadKeepsNoDeviceAway) {
  DeviceStore& store = this->store();
  ASSERT_OK(store.create_token(token(1, 9)));
  ASSERT_OK(store.enroll(digest(1), device(1), wall(0)));
  const DeviceId one = device(1).id;
  EXPECT_EQ(*store.take_checkins({{one, wall(900)}}, wall(1'000)), std::vector{true});
  EXPECT_EQ(*store.take_checkins({{one, wall(7)}}, wall(900)), std::vector{false}) << "just not ahead";
  EXPECT_EQ(*store.take_checkins({{one, wall(7)}, {one, wall(7)}}, wall(899)), (std::vector{true, false}));
}

std::string ids_of(DeviceStore& store) {
  std::string text;
  const std::vector<DeviceRecord> devices = *store.list_devices({});
  for (const DeviceRecord& found : devices) text += std::to_string(found.id.bytes[0]);
  return text;
}

TYPED_TEST(DeviceStoreConformance, ForgetsWhoWasNotSeenForDaysOnWhichTheServerWasThere) {
  DeviceStore& store = this->store();
  ASSERT_OK(store.create_token(token(1, 9)));
  for (const uint8_t i : {1, 2, 3}) ASSERT_OK(store.enroll(digest(1), device(i), wall(0)));
  for (int64_t day = 0; day <= 3; ++day) {
    EXPECT_EQ(*store.forget_devices(3, wall(0) + day * kDay, 10), 0u) << "day " << day;
    EXPECT_THAT(*store.mark_seen({device(2).id}), IsEmpty());
  }
  EXPECT_EQ(ids_of(store), "123") << "three days are not more than three";
  EXPECT_EQ(*store.forget_devices(3, wall(0) + 4 * kDay, 1), 1u) << "no more than it is told";
  EXPECT_EQ(*store.forget_devices(3, wall(0) + 4 * kDay, 10), 1u);
  this->reopen();
  EXPECT_EQ(ids_of(this->store()), "2");
}

TYPED_TEST(DeviceStoreConformance, AClockThatJumpsMakesOneDayOfItAndOneThatIsPutBackNone) {
  DeviceStore& store = this->store();
  ASSERT_OK(store.create_token(token(1, 9)));
  ASSERT_OK(store.enroll(digest(1), device(1), wall(0)));
  EXPECT_EQ(*store.forget_devices(1, wall(0), 10), 0u);
  EXPECT_EQ(*store.forget_devices(1, wall(0) + 400 * kDay, 10), 0u) << "the first day after it, whatever the date";
  EXPECT_EQ(*store.forget_devices(1, wall(0), 10), 0u) << "put right again";
  EXPECT_EQ(*store.forget_devices(1, wall(0) + kDay - Millis(1), 10), 0u) << "that day begins anew";
  EXPECT_EQ(*store.forget_devices(1, wall(0) + kDay, 10), 1u) << "the second day on which nobody saw it";
}

TYPED_TEST(DeviceStoreConformance, KeepsWhoIsRevokedOrCountedHoweverLongItIsAway) {
  DeviceStore& store = this->store();
  ASSERT_OK(store.create_token(token(1, 9)));
  for (const uint8_t i : {1, 2, 3}) ASSERT_OK(store.enroll(digest(1), device(i), wall(0)));
  ASSERT_OK(store.revoke_device(device(1).id, wall(0)));
  accept_update_of(this->backend_, device(2).id);
  for (int64_t day = 0; day < 9; ++day) ASSERT_OK(store.forget_devices(1, wall(0) + day * kDay, 10));
  EXPECT_EQ(ids_of(store), "12");
  EXPECT_ERROR(store.enroll(digest(1), device(1), wall(0)), ErrorCode::permission_denied, "revoked");
}

TYPED_TEST(DeviceStoreConformance, WhoIsForgottenEnrollsAgainAndIsNewThen) {
  DeviceStore& store = this->store();
  ASSERT_OK(store.create_token(token(1, 2)));
  ASSERT_OK(store.enroll(digest(1), device(1), wall(0)));
  for (int64_t day = 0; day < 3; ++day) ASSERT_OK(store.forget_devices(1, wall(0) + day * kDay, 10));
  EXPECT_ERROR(store.get_device(device(1).id), ErrorCode::not_found, "no such device");
  const Result<std::vector<DeviceId>> unknown = store.mark_seen({device(1).id});
  ASSERT_OK(unknown);
  EXPECT_EQ(*unknown, std::vector{device(1).id});
  ASSERT_OK(store.enroll(digest(1), device(1), wall(0)));
  EXPECT_EQ(store.list_tokens()->at(0).uses_left, 0u) << "with a use of a token, as anybody new";
  EXPECT_EQ(*store.forget_devices(1, wall(0) + 3 * kDay, 10), 0u);
  EXPECT_EQ(*store.forget_devices(1, wall(0) + 4 * kDay, 10), 0u);
  EXPECT_EQ(ids_of(store), "1");
}

// ---- The directory: a cache that must not know better than the store

class CountingStore : public DeviceStore {
 public:
  Status create_token(const TokenRecord&, const std::optional<QuotaClaim>&) override { return {}; }
  Result<std::vector<TokenRecord>> list_tokens() override { return std::vector<TokenRecord>(); }
  Status remove_token(const Digest&) override { return {}; }
  Result<DeviceRecord> enroll(const Digest&, DeviceRecord device, WallTime) override { return device; }
  Result<std::vector<DeviceRecord>> list_devices(const DeviceQuery&) override { return std::vector<DeviceRecord>(); }
  Result<uint64_t> count_devices(const DeviceQuery&) override { return devices.size(); }
  Status revoke_device(const DeviceId& id, WallTime now) override {
    devices[id].revoked = now;
    return {};
  }
  Result<std::vector<bool>> take_checkins(const std::vector<CheckinClaim>& claims, WallTime) override {
    return std::vector<bool>(claims.size(), true);
  }
  Result<std::vector<DeviceId>> mark_seen(const std::vector<DeviceId>& ids) override {
    if (broken) return Error(ErrorCode::unavailable, "the disk is away");
    marked.insert(marked.end(), ids.begin(), ids.end());
    std::vector<DeviceId> unknown;
    std::ranges::copy_if(ids, std::back_inserter(unknown), [&](const DeviceId& id) { return !devices.contains(id); });
    return unknown;
  }
  Result<uint64_t> forget_devices(uint32_t, WallTime, size_t) override { return 0; }
  Result<DeviceRecord> get_device(const DeviceId& id) override {
    ++lookups;
    if (broken) return Error(ErrorCode::unavailable, "the disk is away");
    const auto found = devices.find(id);
    Result<DeviceRecord> answer =
        found == devices.end() ? Result<DeviceRecord>(Error(ErrorCode::not_found, "no such device")) : found->second;
    if (meanwhile) std::exchange(meanwhile, {})();
    return answer;
  }

  std::map<DeviceId, DeviceRecord> devices;
  std::vector<DeviceId> marked;
  int lookups = 0;
  bool broken = false;
  std::function<void()> meanwhile;  // happens after the row is read, before the caller has it
};

class DeviceDirectoryTest : public testing::Test {
 protected:
  DeviceDirectoryTest() {
    for (uint8_t i = 1; i <= 5; ++i) store_.devices[device(i).id] = device(i);
  }
  CountingStore store_;
  DeviceDirectory directory_{store_, 3};
};

TEST_F(DeviceDirectoryTest, AsksTheStoreOnceForADevice) {
  for (int i = 0; i < 3; ++i) {
    const Result<DeviceRecord> found = directory_.find(device(1).id);
    ASSERT_OK(found);
    EXPECT_EQ(found->public_key, device(1).public_key);
  }
  EXPECT_EQ(store_.lookups, 1);
}

TEST_F(DeviceDirectoryTest, RemembersNoStrangersAndNoErrors) {
  for (int i = 1; i <= 2; ++i) {
    EXPECT_ERROR(directory_.find(device(9).id), ErrorCode::unauthenticated, "not enrolled here");
    EXPECT_EQ(store_.lookups, i);
  }
  store_.broken = true;
  EXPECT_ERROR(directory_.find(device(1).id), ErrorCode::unavailable, "disk is away");
  store_.broken = false;
  EXPECT_OK(directory_.find(device(1).id));
}

TEST_F(DeviceDirectoryTest, KnowsNoMoreThanItsBound) {
  for (uint8_t i = 1; i <= 5; ++i) ASSERT_OK(directory_.find(device(i).id));
  store_.lookups = 0;
  for (uint8_t i = 1; i <= 5; ++i) ASSERT_OK(directory_.find(device(i).id));
  EXPECT_GE(store_.lookups, 2) << "three of five are cached at most";
}

TEST_F(DeviceDirectoryTest, RefusesARevokedDeviceFromTheMomentItIsTold) {
  ASSERT_OK(directory_.find(device(1).id));
  ASSERT_OK(store_.revoke_device(device(1).id, wall(0)));
  directory_.forget(device(1).id);
  for (int i = 0; i < 2; ++i) {
    EXPECT_ERROR(directory_.find(device(1).id), ErrorCode::permission_denied, "revoked by the operator");
  }
}

// A request reads the row; the operator revokes the device; only then does the request put its row into the cache.
TEST_F(DeviceDirectoryTest, IsNotOutrunByALookupThatBeganBeforeTheRevocation) {
  store_.meanwhile = [this] {
    ASSERT_OK(store_.revoke_device(device(1).id, wall(0)));
    directory_.forget(device(1).id);
  };
  (void)directory_.find(device(1).id);
  EXPECT_ERROR(directory_.find(device(1).id), ErrorCode::permission_denied, "revoked by the operator");
}

TEST_F(DeviceDirectoryTest, SaysOnceADayWhoWasThere) {
  const Instant start = Instant() + kDay;
  const auto come = [&](uint8_t i, Millis after) {
    ASSERT_OK(directory_.find(device(i).id));
    directory_.note_seen(device(i).id, start + after);
  };
  come(1, Millis(0));
  come(2, Millis(0));
  come(1, Millis(5));
  EXPECT_TRUE(*directory_.write_seen(1)) << "there is one more";
  EXPECT_FALSE(*directory_.write_seen(1));
  EXPECT_EQ(store_.marked.size(), 2u);
  come(1, kDay - Millis(1));
  EXPECT_FALSE(*directory_.write_seen(9));
  EXPECT_EQ(store_.marked.size(), 2u);
  come(1, kDay);
  EXPECT_FALSE(*directory_.write_seen(9));
  EXPECT_EQ(store_.marked.size(), 3u) << "the next day";
  directory_.note_seen(device(5).id, start);
  EXPECT_FALSE(*directory_.write_seen(9));
  EXPECT_EQ(store_.marked.size(), 3u) << "nobody that find() has not found";
}

TEST_F(DeviceDirectoryTest, TriesAgainToSayWhoWasThereAndForgetsWhoIsNotEnrolledAnyMore) {
  ASSERT_OK(directory_.find(device(1).id));
  directory_.note_seen(device(1).id, Instant());
  store_.broken = true;
  EXPECT_ERROR(directory_.write_seen(9), ErrorCode::unavailable, "disk is away");
  store_.broken = false;
  store_.devices.erase(device(1).id);
  EXPECT_FALSE(*directory_.write_seen(9));
  EXPECT_EQ(store_.marked, std::vector{device(1).id});
  EXPECT_ERROR(directory_.find(device(1).id), ErrorCode::unauthenticated, "not enrolled here");
}

}  // namespace
}  // namespace coterie
