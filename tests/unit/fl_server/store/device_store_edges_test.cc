// The conformance suite of DeviceStore, second part: edges, strangers' bytes, order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/store/sql_device_store.h"
#include "tests/support/memory_device_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;

WallTime wall(int64_t ms) { return wall_time_from_unix_ms(1'750'000'000'000 + ms); }

Digest digest(uint8_t value) {
  Digest digest;
  digest.bytes.fill(value);
  return digest;
}

TokenRecord token(uint8_t value, uint32_t uses = 1, const std::string& population = "phones") {
  return {.digest = digest(value),
          .population = Population(population),
          .label = "",
          .uses_left = uses,
          .expires = wall(1'000),
          .created = wall(0)};
}

DeviceRecord device(uint8_t value, uint8_t last = 0) {
  DeviceRecord device;
  device.id.bytes.fill(value);
  device.id.bytes.back() = last;
  device.public_key = Bytes(32, value);
  device.enrolled = wall(10);
  return device;
}

template <typename Backend>
class DeviceStoreEdges : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  DeviceStore& store() { return backend_.store(); }
  void reopen() { backend_.reopen(); }
  std::string ids(const DeviceQuery& query) {
    std::string text;
    const std::vector<DeviceRecord> devices = *store().list_devices(query);
    for (const DeviceRecord& found : devices) text += std::to_string(found.id.bytes[0]) + " ";
    return text;
  }
  Backend backend_;
};
using Backends = testing::Types<SqlBackend<SqlDeviceStore, SqliteDatabase>,
                                SqlBackend<SqlDeviceStore, PostgresDatabase>, MemoryStoreBackend<MemoryDeviceStore>>;
TYPED_TEST_SUITE(DeviceStoreEdges, Backends, BackendNames);

TYPED_TEST(DeviceStoreEdges, AnEmptyStoreKnowsNobody) {
  EXPECT_EQ(this->ids({}), "");
  EXPECT_EQ(*this->store().count_devices({}), 0u);
  EXPECT_EQ(*this->store().count_devices({.population = "phones", .revoked = false, .tenant = "default"}), 0u);
  EXPECT_ERROR(this->store().get_device(DeviceId()), ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().remove_token(digest(1)), ErrorCode::not_found, "");
}

TYPED_TEST(DeviceStoreEdges, ATokenWithoutUsesLetsNobodyIn) {
  ASSERT_OK(this->store().create_token(token(1, 0)));
  EXPECT_ERROR(this->store().enroll(digest(1), device(1), wall(0)), ErrorCode::unauthenticated, "");
  EXPECT_EQ(this->store().list_tokens()->at(0).uses_left, 0u) << "and does not wrap round";
}

TYPED_TEST(DeviceStoreEdges, ATokenMayHaveAsManyUsesAsANumberHolds) {
  ASSERT_OK(this->store().create_token(token(1, UINT32_MAX)));
  ASSERT_OK(this->store().enroll(digest(1), device(1), wall(0)));
  this->reopen();
  EXPECT_EQ(this->store().list_tokens()->at(0).uses_left, UINT32_MAX - 1);
}

TYPED_TEST(DeviceStoreEdges, ATokenThatWasRemovedLetsNobodyElseIn) {
  ASSERT_OK(this->store().create_token(token(1, 5)));
  ASSERT_OK(this->store().enroll(digest(1), device(1), wall(0)));
  ASSERT_OK(this->store().remove_token(digest(1)));
  this->reopen();
  EXPECT_ERROR(this->store().enroll(digest(1), device(2), wall(0)), ErrorCode::unauthenticated, "");
  EXPECT_OK(this->store().get_device(device(1).id)) << "who is in stays in";
  ASSERT_OK(this->store().create_token(token(1, 1)));
  EXPECT_OK(this->store().enroll(digest(1), device(2), wall(0))) << "the same digest may be made again";
}

TYPED_TEST(DeviceStoreEdges, TokensOfTheSameMomentAreInTheOrderOfTheirDigests) {
  for (const uint8_t value : {200, 3, 127, 128}) ASSERT_OK(this->store().create_token(token(value)));
  std::string order;
  const std::vector<TokenRecord> tokens = *this->store().list_tokens();
  for (const TokenRecord& listed : tokens) order += std::to_string(listed.digest.bytes[0]) + " ";
  EXPECT_EQ(order, "3 127 128 200 ") << "as unsigned bytes";
}

TYPED_TEST(DeviceStoreEdges, DevicesAreInTheOrderOfTheirUnsignedBytes) {
  ASSERT_OK(this->store().create_token(token(1, 9)));
  for (const uint8_t value : {255, 127, 1, 128}) ASSERT_OK(this->store().enroll(digest(1), device(value), wall(0)));
  EXPECT_EQ(this->ids({}), "1 127 128 255 ");
  EXPECT_EQ(this->ids({.after = device(127).id}), "128 255 ");
  EXPECT_EQ(this->ids({.after = device(127, 1).id}), "128 255 ") << "behind one that is not there";
  DeviceId last;
  last.bytes.fill(255);
  EXPECT_EQ(this->ids({.after = last}), "");
}

TYPED_TEST(DeviceStoreEdges, TheDeviceOfAllZerosIsNotListedAsItIsTheStart) {
  ASSERT_OK(this->store().create_token(token(1, 9)));
  DeviceRecord zero = device(0);
  ASSERT_OK(this->store().enroll(digest(1), zero, wall(0)));
  EXPECT_OK(this->store().get_device(zero.id));
  EXPECT_EQ(this->ids({}), "") << "no key has that digest";
  EXPECT_EQ(*this->store().count_devices({}), 1u);
}

TYPED_TEST(DeviceStoreEdges, APageMayBeEmptyOrLargerThanAll) {
  ASSERT_OK(this->store().create_token(token(1, 9)));
  for (const uint8_t value : {1, 2, 3}) ASSERT_OK(this->store().enroll(digest(1), device(value), wall(0)));
  EXPECT_EQ(this->ids({.limit = 0}), "");
  EXPECT_EQ(this->ids({.limit = 1}), "1 ");
  EXPECT_EQ(this->ids({.limit = 1'000'000}), "1 2 3 ");
}

TYPED_TEST(DeviceStoreEdges, DevicesThatDifferInTheirLastByteAreTwo) {
  ASSERT_OK(this->store().create_token(token(1, 9)));
  ASSERT_OK(this->store().enroll(digest(1), device(7, 1), wall(0)));
  ASSERT_OK(this->store().enroll(digest(1), device(7, 2), wall(0)));
  ASSERT_OK(this->store().revoke_device(device(7, 1).id, wall(5)));
  EXPECT_TRUE(this->store().get_device(device(7, 1).id)->revoked.has_value());
  EXPECT_FALSE(this->store().get_device(device(7, 2).id)->revoked.has_value());
}

TYPED_TEST(DeviceStoreEdges, KeepsKeysAndNamesOfAnySizeByteForByte) {
  const std::string name = "it's \xc3\xa4\xf0\x9f\x94\x91 ?1 $1 \\ %_\n\"--";
  TokenRecord of = token(1, 9, name);
  of.label = std::string(10'000, 'l') + name;
  ASSERT_OK(this->store().create_token(of));
  DeviceRecord stored = device(1);
  stored.sdk_version = std::string(10'000, 'v');
  stored.public_key.clear();
  for (int i = 0; i < 1'000; ++i) stored.public_key.push_back(static_cast<uint8_t>(i));
  ASSERT_OK(this->store().enroll(digest(1), stored, wall(0)));
  DeviceRecord without = device(2);
  without.public_key.clear();
  ASSERT_OK(this->store().enroll(digest(1), without, wall(0)));
  this->reopen();
  EXPECT_EQ(this->store().list_tokens()->at(0).label, of.label);
  EXPECT_EQ(this->store().get_device(stored.id)->public_key, stored.public_key);
  EXPECT_EQ(this->store().get_device(stored.id)->sdk_version, stored.sdk_version);
  EXPECT_EQ(this->store().get_device(stored.id)->population, Population(name));
  EXPECT_EQ(this->store().get_device(without.id)->public_key, Bytes());
  EXPECT_EQ(*this->store().count_devices({.population = name}), 2u);
}

TYPED_TEST(DeviceStoreEdges, AnEnrollmentThatIsRepeatedChangesNothing) {
  ASSERT_OK(this->store().create_token(token(1, 9, "phones")));
  ASSERT_OK(this->store().create_token(token(2, 9, "cars")));
  ASSERT_OK(this->store().enroll(digest(1), device(1), wall(0)));
  DeviceRecord again = device(1);
  again.sdk_version = "newer";
  again.enrolled = wall(500);
  EXPECT_EQ(this->store().enroll(digest(2), again, wall(500))->population, Population("phones"))
      << "it stays where it is";
  const DeviceRecord row = *this->store().get_device(device(1).id);
  EXPECT_EQ(row.sdk_version, "");
  EXPECT_EQ(row.enrolled, wall(10));
  const std::vector<TokenRecord> tokens = *this->store().list_tokens();
  for (const TokenRecord& listed : tokens) {
    EXPECT_EQ(listed.uses_left, listed.digest == digest(1) ? 8u : 9u);
  }
}

TYPED_TEST(DeviceStoreEdges, KeepsTimesBeforeAndFarBehindToday) {
  TokenRecord early = token(1, 9), late = token(2, 9);
  early.created = wall_time_from_unix_ms(-5);
  early.expires = wall_time_from_unix_ms(0);
  late.created = late.expires = wall_time_from_unix_ms(253'402'300'799'000);
  ASSERT_OK(this->store().create_token(late));
  ASSERT_OK(this->store().create_token(early));
  this->reopen();
  const std::vector<TokenRecord> tokens = *this->store().list_tokens();
  EXPECT_EQ(tokens.at(0).created, early.created);
  EXPECT_EQ(tokens.at(1).expires, late.expires);
  EXPECT_ERROR(this->store().enroll(digest(1), device(1), wall_time_from_unix_ms(0)), ErrorCode::unauthenticated, "");
  EXPECT_OK(this->store().enroll(digest(1), device(1), wall_time_from_unix_ms(-1)));
}

}  // namespace
}  // namespace coterie
