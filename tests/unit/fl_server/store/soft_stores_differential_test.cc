// Random operations on a database and on the obvious implementation in memory, as
// round_store_differential_test.cc does for rounds: devices and tokens, the admin plane, and a fleet's nodes,
// leases and board. Every answer must be the same.
#include <gtest/gtest.h>

#include "base/random.h"
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "fl_server/store/sql_fleet_store.h"
#include "fl_server/store/sql_lease_store.h"
#include "tests/support/memory_device_store.h"
#include "tests/support/memory_fleet_store.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;

constexpr uint64_t kSeeds = 15;
constexpr int kSteps = 200;
constexpr Millis kLong{3'600'000};

WallTime at(uint64_t ms) { return wall_time_from_unix_ms(static_cast<int64_t>(ms)); }
Digest digest_of(uint64_t value) {
  Digest digest;
  digest.bytes.fill(static_cast<uint8_t>(value * 50));
  return digest;
}
DeviceId device_of(uint64_t value) {
  DeviceId id;
  id.bytes.fill(static_cast<uint8_t>(value * 23));
  return id;
}

// Answers as text; errors by their code.
std::string text(const std::string& value) { return value; }
std::string text(uint64_t value) { return std::to_string(value); }
std::string text(const AuditHead& head) { return head.text(); }
std::string text(const AuditRecord& record) { return std::to_string(record.entry.seq) + ":" + record.digest.hex(); }
std::string text(const KeyClaim& claim) {
  return std::to_string(static_cast<int>(claim.state)) + " " + std::to_string(claim.answer.status) +
         claim.answer.location;
}
std::string text(const TokenRecord& token) {
  return token.digest.hex() + token.population.value() + token.label + std::to_string(token.uses_left);
}
std::string text(const DeviceRecord& device) {
  return device.id.hex() + device.population.value() + to_hex(device.public_key) +
         (device.revoked ? " revoked " + std::to_string(unix_ms(*device.revoked)) : "");
}
std::string text(const DeviceId& id) { return id.hex(); }
std::string text(const AdminTokenRecord& token) {
  return token.id + token.label + std::to_string(unix_ms(token.created));
}
std::string text(const FleetNodeRow& row) { return row.node + "/" + row.incarnation + "/" + row.report; }
std::string text(const std::optional<FleetBoard>& board) {
  return board ? std::to_string(board->revision) + board->text : "as known";
}
std::string text(const LeaseAnswer& answer) {
  return (answer.is_granted ? "granted " : "held ") + std::to_string(answer.epoch.value()) + " " + answer.holder;
}
std::string text(const std::map<std::string, std::string>& owners) {
  std::string lines;
  for (const auto& [name, tenant] : owners) lines += name + "=" + tenant + " ";
  return lines;
}
template <typename T>
std::string text(const std::vector<T>& items) {
  std::string lines;
  for (const T& item : items) lines += text(item) + "\n";
  return lines;
}
std::string text(const Status& status) { return status ? "ok" : "error: " + std::string(status.error().name()); }
template <typename T>
std::string text(const Result<T>& result) {
  return result ? text(*result) : "error: " + std::string(result.error().name());
}

struct Tally {
  int calls = 0;
  int errors = 0;
  template <typename Expected, typename Answer>
  void compare(const char* what, const Expected& expected, const Answer& answer) {
    const std::string line = text(expected);
    EXPECT_EQ(text(answer), line) << what;
    ++calls;
    if (line.starts_with("error")) ++errors;
  }
};

// `call` is written out twice: what it is asked with is drawn before.
#define COT_BOTH(call) tally.compare(#call, memory.call, database.call)

void step_devices(Prng& prng, DeviceStore& memory, DeviceStore& database, Tally& tally) {
  const Digest token = digest_of(prng.below(5));
  const DeviceId id = device_of(prng.below(12));
  const WallTime now = at(1'000 + prng.below(1'000));
  const std::string population = prng.chance(0.5) ? "phones" : "cars";
  switch (prng.below(11)) {
    case 0: {
      const TokenRecord record{.digest = token,
                               .population = Population(population),
                               .label = "l",
                               .uses_left = static_cast<uint32_t>(prng.below(4)),
                               .expires = at(1'200 + prng.below(900)),
                               .created = at(prng.below(3))};
      COT_BOTH(create_token(record));
      break;
    }
    case 1:
      if (prng.chance(0.4)) COT_BOTH(remove_token(token));
      break;
    case 2:
    case 3: {
      DeviceRecord device;
      device.id = id;
      device.public_key = Bytes(prng.below(40), id.bytes[0]);
      COT_BOTH(enroll(token, device, now));
      break;
    }
    case 4: COT_BOTH(get_device(id)); break;
    case 5:
      if (prng.chance(0.3)) COT_BOTH(revoke_device(id, now));
      break;
    case 6: COT_BOTH(list_tokens()); break;
    case 7: COT_BOTH(mark_seen({id})); break;
    case 9: {
      const CheckinClaim claim{id, at(1 + prng.below(9))};
      const std::vector<CheckinClaim> claims = {claim, {id, at(1 + prng.below(9))}, claim};
      const WallTime latest = at(5 + prng.below(9));
      COT_BOTH(take_checkins(claims, latest));
      break;
    }
    case 8: {
      const WallTime later = now + kDeviceDay * static_cast<int64_t>(prng.below(9));
      COT_BOTH(forget_devices(2, later, 100));
      break;
    }
    default: {
      DeviceQuery query{.after = prng.chance(0.5) ? id : DeviceId(), .limit = prng.below(6)};
      if (prng.chance(0.5)) query.population = population;
      if (prng.chance(0.5)) query.revoked = prng.chance(0.5);
      if (prng.chance(0.3)) query.tenant = prng.chance(0.5) ? "default" : "acme";
      COT_BOTH(list_devices(query));
      COT_BOTH(count_devices(query));
    }
  }
}

void step_admin(Prng& prng, AdminStore& memory, AdminStore& database, Tally& tally) {
  const std::string name = "n" + std::to_string(prng.below(6));
  const Owned kind = prng.chance(0.5) ? Owned::job : Owned::population;
  const WallTime now = at(prng.below(3) * 43'200'000);
  const IdempotencyKey key{digest_of(prng.below(5)), digest_of(prng.below(2))};
  const std::string tenant = prng.chance(0.5) ? "acme" : "beta", action = prng.chance(0.5) ? "x" : "y";
  const WallTime moment = at(prng.below(100));
  switch (prng.below(10)) {
    case 0: COT_BOTH(create_admin_token({name, "l", {Role::viewer}, "h", "c", now, at(9)})); break;
    case 1: COT_BOTH(remove_admin_token(name)); break;
    case 2:
      COT_BOTH(get_admin_token(name));
      COT_BOTH(list_admin_tokens());
      break;
    case 3: COT_BOTH(claim_for_tenant(kind, name, tenant)); break;
    case 4:
      COT_BOTH(owner_of(kind, name));
      COT_BOTH(list_owners(kind));
      break;
    case 5: COT_BOTH(append_audit({.time = moment, .who = name, .action = action})); break;
    case 6: {
      AuditQuery query{.after = prng.below(9), .limit = prng.below(9), .who = {}, .action = {}};
      if (prng.chance(0.3)) query.who = name;
      if (prng.chance(0.3)) query.action = "x";
      if (prng.chance(0.3)) query.since = at(prng.below(100));
      if (prng.chance(0.3)) query.until = at(prng.below(100));
      COT_BOTH(list_audit(query));
      COT_BOTH(audit_head());
      break;
    }
    case 7: COT_BOTH(claim_key(key, now)); break;
    case 8: COT_BOTH(keep_answer(key, {201, name, {1}})); break;
    default: COT_BOTH(release_key(key));
  }
}

// Leases and rows are over at once or last for an hour, so that a database's clock that runs makes no
// difference.
void step_fleet(Prng& prng, MemoryFleetStore& memory, FleetStore& database, LeaseStore& leases, Tally& tally) {
  const std::string node = "n" + std::to_string(prng.below(4)), incarnation = std::to_string(prng.below(3));
  const std::string holder = "h" + std::to_string(prng.below(3)), lease = prng.chance(0.8) ? "scheduler" : "cohort";
  const Millis either = prng.chance(0.5) ? Millis(0) : kLong;
  const FleetNodeRow row{
      .node = node, .incarnation = incarnation, .started = at(5), .report = "r" + std::to_string(prng.below(9))};
  const std::string former = std::to_string(prng.below(3));
  const uint64_t revision = prng.below(4);
  const LeaseEpoch epoch(memory.leases().epoch_of(lease).value() + prng.below(4) / 3);
  switch (prng.below(8)) {
    case 0:
    case 1: COT_BOTH(say(row, former, either)); break;
    case 2: COT_BOTH(leave(node, incarnation)); break;
    case 3:
      if (prng.chance(0.2)) COT_BOTH(forget_nodes(either));
      break;
    case 4:
      tally.compare("take_lease", memory.leases().take_lease(lease, holder, either),
                    leases.take_lease(lease, holder, either));
      break;
    case 5:
      tally.compare("give_lease", memory.leases().give_lease(lease, holder), leases.give_lease(lease, holder));
      break;
    case 6: COT_BOTH(write_board(lease, epoch, row.report)); break;
    default: COT_BOTH(read_board(revision)); COT_BOTH(nodes());
  }
}

template <typename OnDatabase>
class SoftStores : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(OnDatabase); }
  // Every seed with stores of its own; `step` once for each step, the database closed and opened now and
  // then.
  template <typename Memory, typename Sql, typename Step>
  void run(const char* what, Step step) {
    Tally tally;
    const uint64_t seeds = test::seeds_on<OnDatabase>(kSeeds);
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      Prng prng(seed);
      Memory memory;
      SqlBackend<Sql, OnDatabase> backend;
      for (int i = 0; i < kSteps && !testing::Test::HasFailure(); ++i) {
        step(prng, memory, backend, i == 0, tally);
        if (prng.chance(0.02)) backend.reopen();
      }
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
    EXPECT_LT(2 * tally.errors, tally.calls) << "most calls must do something, or the test shows little";
    std::printf("%s: %llu seeds, %d calls on %s and in memory, %d of them refused\n", what,
                static_cast<unsigned long long>(seeds), tally.calls, OnDatabase::kName, tally.errors);
  }
};
using Databases = testing::Types<SqliteDatabase, PostgresDatabase>;
TYPED_TEST_SUITE(SoftStores, Databases, BackendNames);

TYPED_TEST(SoftStores, OfDevicesGiveTheSameAnswersToTheSameRandomCalls) {
  this->template run<MemoryDeviceStore, SqlDeviceStore>(
      "devices", [](Prng& prng, auto& memory, auto& backend, bool, Tally& tally) {
        step_devices(prng, memory, backend.store(), tally);
      });
}

TYPED_TEST(SoftStores, OfTheAdminPlaneGiveTheSameAnswersToTheSameRandomCalls) {
  this->template run<MemoryAdminStore, SqlAdminStore>("admin plane",
                                                      [](Prng& prng, auto& memory, auto& backend, bool, Tally& tally) {
                                                        step_admin(prng, memory, backend.store(), tally);
                                                      });
}

TYPED_TEST(SoftStores, OfAFleetGiveTheSameAnswersToTheSameRandomCalls) {
  std::unique_ptr<SqlLeaseStore> leases;
  this->template run<MemoryFleetStore, SqlFleetStore>(
      "fleet", [&](Prng& prng, auto& memory, auto& backend, bool is_first, Tally& tally) {
        if (is_first || prng.chance(0.02)) {
          auto opened = SqlLeaseStore::open(backend.open_database());
          ASSERT_OK(opened);
          leases = std::move(*opened);
        }
        step_fleet(prng, memory, backend.store(), *leases, tally);
      });
}

}  // namespace
}  // namespace coterie
