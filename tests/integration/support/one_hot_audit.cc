#include "tests/integration/support/one_hot_audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/integration/support/masked_device.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

constexpr Millis kReceiptsMax{3'000};
constexpr Millis kDoorMax{60'000};
constexpr const char* kLedger = "/admin/v1/ledger?limit=1000";

// Who is in the sum of the round that made this version, read off the models around it.
std::set<uint32_t> counted_in(Admin& admin, const std::string& job, uint64_t version, uint64_t updates,
                              uint32_t devices) {
  constexpr double kTolerance = 1e-3;
  const auto before = admin.download_weights(job, version - 1);
  const auto after = admin.download_weights(job, version);
  std::set<uint32_t> counted;
  if (!before || !after) return counted;
  for (uint32_t i = 0; i < devices; ++i) {
    const double times = static_cast<double>((*after)[i] - (*before)[i]) * static_cast<double>(updates);
    EXPECT_NEAR(times, std::round(times), kTolerance);
    EXPECT_LT(times, 1.5) << "device " << i << " is counted more than once in version " << version;
    if (times > 0.5) counted.insert(i);
  }
  return counted;
}

}  // namespace

void OneHotAudit::acknowledged(const RoundKey& key, uint32_t device) {
  const std::lock_guard lock(mutex_);
  receipts_[key].insert(device);
  ++count_;
  changed_.notify_all();
}

void OneHotAudit::wait_for_receipts(uint64_t more) {
  std::unique_lock lock(mutex_);
  const uint64_t goal = count_ + more;
  changed_.wait_for(lock, kReceiptsMax, [&] { return count_ >= goal || finished_; });
}

void OneHotAudit::set_open(bool open) {
  const std::lock_guard lock(mutex_);
  open_ = open;
  changed_.notify_all();
}

bool OneHotAudit::wait_until_open() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kDoorMax, [&] { return open_ || finished_; });
  return !finished_;
}

void OneHotAudit::hold_from(ModelVersion version) {
  const std::lock_guard lock(mutex_);
  held_ = version;
}

void OneHotAudit::release() {
  const std::lock_guard lock(mutex_);
  held_.reset();
  changed_.notify_all();
}

void OneHotAudit::wait_until_released(ModelVersion version) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !held_ || version < *held_ || finished_; });
}

void OneHotAudit::rest(Millis pause) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, pause, [&] { return finished_; });
}

void OneHotAudit::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

uint64_t OneHotAudit::receipts() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void OneHotAudit::check(Admin& admin, const std::string& job, uint64_t rounds, uint32_t devices) const {
  EXPECT_EQ(check_done(admin, job, devices), rounds);
  const auto shown = admin.rounds(job);
  ASSERT_TRUE(test::is_ok(shown));
  EXPECT_EQ((*shown)["state"], "completed");
}

uint64_t OneHotAudit::check_done(Admin& admin, const std::string& job, uint32_t devices) const {
  const auto shown = admin.rounds(job);
  EXPECT_TRUE(test::is_ok(shown));
  if (!shown) return 0;
  std::map<RoundKey, std::set<uint32_t>> counted;
  std::set<RoundKey> under_way;
  for (const auto& round : (*shown)["rounds"]) {
    const RoundKey key{RoundId(round["round"].get<uint64_t>()), Attempt(round["attempt"].get<uint32_t>())};
    const std::string state = round["state"];
    if (state != "done" && state != "failed") under_way.insert(key);
    if (state != "done") continue;
    const uint64_t accepted = round["accepted"];
    counted[key] = counted_in(admin, job, round["number"].get<uint64_t>(), accepted, devices);
    EXPECT_EQ(counted[key].size(), accepted) << "round " << round["number"];
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [key, told] : receipts_) {
    if (under_way.contains(key)) continue;
    for (const uint32_t device : told) {
      EXPECT_TRUE(counted[key].contains(device)) << "device " << device << " holds a receipt of round "
                                                 << key.round.value() << " attempt " << key.attempt.value();
    }
  }
  return static_cast<uint64_t>(std::ranges::count_if(counted, [](const auto& round) { return !round.second.empty(); }));
}

uint64_t OneHotAudit::check_masked(Admin& admin, const std::string& job, uint32_t devices) const {
  constexpr double kTolerance = 1e-3;
  const auto shown = admin.rounds(job);
  EXPECT_TRUE(test::is_ok(shown));
  if (!shown) return 0;
  const std::lock_guard lock(mutex_);
  uint64_t done = 0;
  for (const auto& round : (*shown)["rounds"]) {
    if (round["state"] != "done") continue;
    const RoundKey key{RoundId(round["round"].get<uint64_t>()), Attempt(round["attempt"].get<uint32_t>())};
    SCOPED_TRACE("round " + std::to_string(key.round.value()) + " attempt " + std::to_string(key.attempt.value()));
    ++done;
    const uint64_t version = round["number"], accepted = round["accepted"];
    const auto before = admin.download_weights(job, version - 1), after = admin.download_weights(job, version);
    EXPECT_TRUE(test::is_ok(before));
    EXPECT_TRUE(test::is_ok(after));
    if (!before || !after) continue;
    std::set<uint32_t> counted;
    for (uint32_t lane = 0; lane < after->size(); ++lane) {
      const double sum = static_cast<double>((*after)[lane] - (*before)[lane]) * static_cast<double>(accepted);
      const bool is_there = lane < devices && sum > 0.25;
      if (is_there) counted.insert(lane);
      EXPECT_NEAR(sum, is_there ? static_cast<double>(value_in(key, lane)) : 0.0, kTolerance) << "lane " << lane;
    }
    EXPECT_EQ(counted.size(), accepted);
    const auto told = receipts_.find(key);
    if (told == receipts_.end()) continue;
    for (const uint32_t device : told->second) {
      EXPECT_TRUE(counted.contains(device)) << "device " << device << " holds a receipt";
    }
  }
  return done;
}

uint64_t OneHotAudit::check_ledger(Admin& admin, const std::string& job) const {
  Result<nlohmann::json> shown = nlohmann::json(), ledger = admin.ask("GET", kLedger);
  for (bool goes_on = true; goes_on;) {  // the last round may be released between the two
    shown = admin.rounds(job);
    const auto after = admin.ask("GET", kLedger);
    EXPECT_TRUE(test::is_ok(shown));
    EXPECT_TRUE(test::is_ok(after));
    if (!shown || !ledger || !after) return 0;
    goes_on = (*ledger)["head"] != (*after)["head"];
    ledger = after;
  }
  std::map<RoundKey, uint64_t> reserves, contributors;
  for (const auto& record : (*ledger)["records"]) {
    const RoundKey key{RoundId(record["round"].get<uint64_t>()), Attempt(record["attempt"].get<uint32_t>())};
    if (record["kind"] == "reserve")
      EXPECT_EQ(++reserves[key], 1u) << "round " << key.round.value() << " is reserved twice";
    if (record["kind"] != "commit") continue;
    EXPECT_FALSE(contributors.contains(key)) << "round " << key.round.value() << " is released twice";
    contributors[key] = record["contributors"].get<uint64_t>();
  }
  const std::lock_guard lock(mutex_);
  uint64_t done = 0;
  for (const auto& round : (*shown)["rounds"]) {
    const RoundKey key{RoundId(round["round"].get<uint64_t>()), Attempt(round["attempt"].get<uint32_t>())};
    const auto told = receipts_.find(key);
    const uint64_t receipts = told == receipts_.end() ? 0 : told->second.size();
    if (round["state"] == "failed") EXPECT_EQ(receipts, 0u) << "round " << round["number"] << " failed";
    EXPECT_EQ(contributors.contains(key), round["state"] == "done") << "round " << round["number"];
    if (round["state"] != "done") continue;
    ++done;
    EXPECT_GE(round["accepted"].get<uint64_t>(), receipts) << "round " << round["number"];
    EXPECT_EQ(round["accepted"], contributors[key]) << "round " << round["number"];
    EXPECT_EQ(reserves[key], 1u) << "round " << round["number"];
  }
  EXPECT_EQ(contributors.size(), done);
  return done;
}

uint64_t OneHotAudit::check_tree(Admin& admin, const std::string& job, uint64_t separation) const {
  const auto ledger = admin.ask("GET", kLedger);
  const auto shown = admin.rounds(job);
  EXPECT_TRUE(test::is_ok(ledger));
  EXPECT_TRUE(test::is_ok(shown));
  if (!ledger || !shown) return 0;
  uint64_t commits = 0;
  for (const auto& record : (*ledger)["records"]) {
    EXPECT_NE(record["kind"], "voided") << "no attempt failed for what is stored";
    EXPECT_EQ(record["mechanism"], "tree");
    commits += record["kind"] == "commit";
  }
  EXPECT_EQ(commits, 1u);
  EXPECT_EQ((*ledger)["records"].size(), 2u) << ledger->dump();
  const std::lock_guard lock(mutex_);
  uint64_t done = 0;
  std::map<uint64_t, RoundKey> by_number;
  for (const auto& round : (*shown)["rounds"]) {
    const RoundKey key{RoundId(round["round"].get<uint64_t>()), Attempt(round["attempt"].get<uint32_t>())};
    if (round["state"] == "failed") EXPECT_FALSE(receipts_.contains(key)) << "round " << round["number"] << " failed";
    if (round["state"] != "done") continue;
    ++done;
    by_number.emplace(round["number"].get<uint64_t>(), key);
  }
  std::map<uint32_t, uint64_t> last;  // round of each device
  for (const auto& [number, key] : by_number) {
    const auto told = receipts_.find(key);
    if (told == receipts_.end()) continue;
    for (const uint32_t device : told->second) {
      const auto [before, is_first] = last.try_emplace(device, number);
      if (!is_first) EXPECT_GE(number - before->second, separation) << "device " << device << ", round " << number;
      before->second = number;
    }
  }
  return done;
}

void take_part(RawDevice& device, uint32_t index, size_t value_count, OneHotAudit& audit) {
  std::vector<float> values(value_count);
  values[index] = 1.0f;
  while (audit.wait_until_open()) {
    const auto answer = device.api().check_in(device.id(), {Population("default"), "test", 1'000});
    const auto* assignment = std::get_if<Assignment>(&answer);
    if (assignment == nullptr) continue;
    audit.wait_until_released(assignment->model_version);
    const auto outcome = device.upload_until_decided(*assignment, values);
    if (std::holds_alternative<Receipt>(outcome)) audit.acknowledged(assignment->round, index);
  }
}

// Exact in the fixed point of a plan.
float value_in(const RoundKey& key, uint32_t index) {
  constexpr uint64_t kDifferent = 61;  // prime
  const uint64_t drawn = (key.round.value() * 7 + key.attempt.value() * 13 + index) % kDifferent;
  return 1.0f - static_cast<float>(drawn) / 128.0f;
}

void take_masked_parts(RawDevice& device, uint32_t index, size_t value_count, OneHotAudit& audit) {
  std::vector<float> values(value_count);
  while (audit.wait_until_open()) {
    const auto answer = device.api().check_in(device.id(), {Population("default"), "test", 1'000});
    const auto* assignment = std::get_if<Assignment>(&answer);
    if (assignment == nullptr) {
      if (std::holds_alternative<Failure>(answer)) audit.rest(Millis(50 + 10 * (index % 20)));
      continue;
    }
    values[index] = value_in(assignment->round, index);
    (void)take_masked_part(device, *assignment, {.values = values, .asks_apart = index % 3 == 0, .accepted = [&] {
                                                   audit.acknowledged(assignment->round, index);
                                                 }});
  }
}

}  // namespace coterie::integration
