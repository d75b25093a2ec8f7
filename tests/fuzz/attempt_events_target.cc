// Any order of what a leader, a store and devices may bring the attempts whose updates are added up behind masks: each
// attempt's machine and its cohorts state their invariants after each step. Devices are real ones that go on, repeat
// themselves, take another's words for theirs and vanish. Each call has one answer, a sum is opened of survivors that
// the store has named, and behind the end each claim has come to a sum or to an attempt that is lost.
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "fl_server/core/attempt_terms.h"
#include "fl_server/core/live_attempts.h"
#include "tests/fuzz/event_bytes.h"
#include "tests/unit/fl_server/core/cohort_device.h"

namespace {

using namespace coterie;

constexpr uint32_t kDevices = 4;
constexpr size_t kBytesMax = 512;  // a session has keys to agree on

struct Device {
  test::CohortDevice real;
  uint32_t told = 0;  // messages that were taken: the advert, the shares, the masked update, what opens the sum
  std::optional<CohortMessage> says;
  std::optional<MaskedInput> input;
  bool is_counted = false;  // durably
  bool has_left = false;
};

struct Call {
  RoundKey key;
  size_t device;
  std::optional<uint32_t> tells;  // which of the device's own messages this is; none: a question, or a lie
};

ServePublished served(const RoundKey& key, uint32_t cohorts) {
  ServePublished served{.round = {}, .begins = true, .has_accepted = false};
  HorizontalSettings settings;
  settings.privacy.level = SecurityLevel::masked;
  RoundNotice& notice = served.round.notice;
  notice.job = JobId("j");
  notice.key = key;
  notice.state = RoundState::collecting;
  notice.goal_count = kDevices;
  notice.plan = plan_of(settings, notice.job, 4);
  served.round.rules = {.cohort_count = cohorts,
                        .adverts_goal = kDevices,
                        .cohort_phase_max = Millis(1'000),
                        .deadline = Instant(Millis(20'000))};
  return served;
}

class Driver {
 public:
  explicit Driver(test::EventBytes bytes)
      : bytes_(bytes), cohorts_(1 + bytes_.below(2)), they_go_on_(bytes_.one_in(2)) {}

  void run() {
    serve();
    // How far the session has come undisturbed.
    for (uint32_t turn = bytes_.below(10); turn > 0; --turn) {
      for (size_t i = 0; i < devices_.size(); ++i) go_on(i);
    }
    while (!bytes_.is_over()) choose();
    // Behind the end the store answers, and devices go on or are silent.
    settle();
    if (!is_frozen_) freeze();
    settle();
    finalize();
    settle();
    COT_ASSERT(claims_.empty());
    step(StopServing{key_, RoundState::finalizing, {}});
    COT_ASSERT(calls_.empty() && !attempts_.is_aggregating(key_) && attempts_.next_deadline() == std::nullopt);
  }

 private:
  void choose() {
    switch (bytes_.below(16)) {
      case 0: return pass(Millis(int64_t{bytes_.next()} * (bytes_.one_in(8) ? 10 : 1)));
      case 1: return bytes_.one_in(16) ? freeze() : serve();
      case 2: return bytes_.one_in(16) ? finalize() : answer_store();
      case 3: return lie();
      case 4: return ask(some_device(), static_cast<CohortQuestion>(bytes_.below(4)));
      case 5:
        if (bytes_.one_in(8)) step(StopHolding{});
        else if (bytes_.one_in(8)) begin_anew();
        else if (bytes_.one_in(4)) devices_[some_device()].has_left = true;
        return;
      case 6: return step(RowsMayBeThere{key_});
      case 7: return answer_store();
      default: return go_on(some_device());
    }
  }

  size_t some_device() { return bytes_.below(devices_.size()); }
  CohortCall new_call(size_t device, std::optional<uint32_t> tells = {}) {
    const CohortCall call(++last_call_);
    calls_.emplace(call, Call{key_, device, tells});
    return call;
  }

  // ---- The round

  void serve() {
    const ServePublished published = served(key_, cohorts_);
    if (devices_.empty()) {
      const secagg::SessionParameters session = *terms_of(published.round.notice).session;
      for (uint32_t i = 0; i < kDevices; ++i) devices_.push_back({.real = test::cohort_device(session, i)});
    }
    if (is_frozen_) return;
    step(AttemptServed{published, std::vector<uint64_t>(cohorts_, bytes_.next()), test::accept_all});
  }
  void freeze() {
    is_frozen_ = true;
    PublishRound round = served(key_, cohorts_).round;
    round.notice.state = RoundState::frozen;
    step(round);
  }
  // A round machine that asks again has heard, or gives the older claim up.
  void finalize() {
    is_frozen_ = true;
    FinalizeRound request;
    request.job.id = JobId("j");
    request.job.spec.horizontal().privacy.level = SecurityLevel::masked;
    request.round.key = key_;
    claims_ = {++last_serial_};
    step(FinalizeWanted{last_serial_, request});
  }
  // The attempt is lost, and made again with fresh keys.
  void begin_anew() {
    step(StopServing{key_, RoundState::failed, {}});
    key_.attempt = Attempt(key_.attempt.value() + 1);
    devices_.clear();
    claims_.clear();
    is_frozen_ = false;
    serve();
  }

  // ---- Devices

  // The next thing that a device does in a session that goes well.
  void go_on(size_t index) {
    Device& device = devices_[index];
    if (device.has_left) return;
    switch (device.told) {
      case 0: return say(index, device.real.client->advert(), 0);
      case 1: return device.says ? say(index, *device.says, 1) : ask(index, CohortQuestion::roster);
      case 2: return device.input ? send(index, *device.input, 2) : ask(index, CohortQuestion::share_inbox);
      case 3: return count(index);
      case 4: return device.says ? say(index, *device.says, 4) : ask(index, CohortQuestion::unmask_request);
      default: return;
    }
  }
  void say(size_t index, const CohortMessage& message, std::optional<uint32_t> tells = {}) {
    const test::CohortDevice& real = devices_[index].real;
    step(DeviceCalled{key_, CohortMessageCame{new_call(index, tells), real.id, real.signer->public_key(), message}});
  }
  void ask(size_t index, CohortQuestion question) {
    const Millis hold(int64_t{bytes_.next()} * 20);
    step(DeviceCalled{key_, CohortAsked{new_call(index), devices_[index].real.id, question, hold}});
  }
  void send(size_t index, const MaskedInput& input, std::optional<uint32_t> tells = {}) {
    step(DeviceCalled{key_, MaskedInputCame{new_call(index, tells), devices_[index].real.id, input}});
  }
  // Its lanes are durable; the machine hears, or finds them in the store.
  void count(size_t index) {
    Device& device = devices_[index];
    if (is_frozen_ && !device.is_counted) return;  // the store takes no more rows
    device.is_counted = true;
    device.told = 4;
    if (!bytes_.one_in(4)) step(InputAccepted{key_, device.real.id});
  }
  void lie() {
    const size_t index = some_device(), other = some_device();
    if (devices_[other].says && bytes_.one_in(2)) return say(index, *devices_[other].says);
    if (bytes_.one_in(4)) {  // by a key of its own, which is not the device's
      const secagg::SessionParameters session = *terms_of(served(key_, cohorts_).round.notice).session;
      const test::CohortDevice stranger = test::cohort_device(session, static_cast<uint32_t>(kDevices + index));
      return step(DeviceCalled{key_, CohortMessageCame{new_call(index), devices_[index].real.id,
                                                       stranger.signer->public_key(), stranger.client->advert()}});
    }
    if (devices_[other].input) {
      MaskedInput input = *devices_[other].input;
      input.lanes.bytes[0] ^= 1;
      return send(index, input);
    }
    say(index, devices_[other].real.client->advert());
  }

  // What a device makes of an answer. A client that refuses has left.
  void take(Device& device, const CohortReply& reply) {
    secagg::Client& client = *device.real.client;
    if (const auto* view = std::get_if<RosterView>(&reply); view != nullptr && device.told == 1 && !device.says) {
      if (const auto shares = client.share(*view)) device.says = *shares;
      else device.has_left = true;
    }
    if (const auto* inbox = std::get_if<ShareInbox>(&reply); inbox != nullptr && device.told == 2 && !device.input) {
      if (const auto masking = client.mask(*inbox)) device.input = masking->head();
      else device.has_left = true;
    }
    if (const auto* asked = std::get_if<UnmaskRequest>(&reply); asked != nullptr && device.told == 4 && !device.says) {
      if (const auto unmasking = client.unmask(*asked)) device.says = *unmasking;
      else device.has_left = true;
    }
  }

  // ---- The store and the pool

  void answer_store() {
    if (!lists_.empty()) {
      const ListForSum list = lists_.front();
      lists_.erase(lists_.begin());
      const bool fails = !bytes_.is_over() && bytes_.one_in(4);
      SurvivorsListed listed{list.serial, Error(ErrorCode::unavailable, "the store is away")};
      if (!fails) listed.accepted = rows();
      if (!fails && list.serial) listed_.insert(*list.serial);
      return step(SurvivorsOf{list.key, std::move(listed)});
    }
    if (!openings_.empty()) {
      const FinalizeNow asked = openings_.front();
      openings_.erase(openings_.begin());
      Result<FinalizedRound> round = FinalizedRound{};
      if (!bytes_.is_over() && bytes_.one_in(3)) {
        round = Error(bytes_.one_in(2) ? ErrorCode::data_loss : ErrorCode::unavailable, "not finalized");
      }
      step(FinalizeDone{asked.serial, JobId("j"), asked.request.round.key, asked.sum.has_value(), round});
    }
  }
  std::vector<DeviceId> rows() const {
    std::vector<DeviceId> counted;
    for (const Device& device : devices_) {
      if (device.is_counted) counted.push_back(device.real.id);
    }
    return counted;
  }

  void pass(Millis time) {
    now_ += time;
    step(AttemptTime{});
  }
  void settle() {
    for (int turn = 0; turn < 60; ++turn) {
      while (!lists_.empty() || !openings_.empty()) answer_store();
      const bool they_speak = they_go_on_ && turn < 20;
      for (size_t i = 0; they_speak && i < devices_.size(); ++i) go_on(i);
      if (they_speak) continue;
      if (const auto wake = attempts_.next_deadline()) pass(std::max(Millis(0), *wake - now_));
    }
    COT_ASSERT(lists_.empty() && openings_.empty());
  }

  // ---- What the attempts do

  void step(const LiveEvent& event) {
    const LiveEffects effects = attempts_.step(event, now_);
    attempts_.check();
    for (const LiveEffect& effect : effects) std::visit([this](const auto& e) { perform(e); }, effect);
  }

  Call answered(CohortCall call) {
    const auto asked = calls_.extract(call);
    COT_ASSERT(!asked.empty());  // once
    return asked.mapped();
  }
  void perform(const AnswerTaken& e) {
    const Call call = answered(e.call);
    if (call.key != key_ || !e.taken || call.tells != devices_[call.device].told) return;
    ++devices_[call.device].told;
    devices_[call.device].says.reset();
  }
  void perform(const AnswerAsked& e) {
    const Call call = answered(e.call);
    if (call.key == key_ && e.reply) take(devices_[call.device], *e.reply);
  }
  void perform(const TellNodesDue& e) { COT_ASSERT(e.total <= kDevices); }
  void perform(const TellJob& e) {
    if (const auto* done = std::get_if<RoundFinalized>(&e.event)) claims_.erase(done->serial);
    if (std::holds_alternative<AttemptLost>(e.event)) claims_.clear();
  }
  void perform(const ListRows& e) {
    if (e.key == key_) step(RowsListed{e.key, rows()});
  }
  void perform(const ListForSum& e) {
    if (e.key == key_) lists_.push_back(e);
  }
  void perform(const FinalizeNow& e) {
    COT_ASSERT(e.sum.has_value() && listed_.contains(e.serial) && e.sum->cohorts->is_ready());
    openings_.push_back(e);
  }
  void perform(const NoteNotBegun&) { COT_ASSERT(false); }
  void perform(const NoteFailed&) {}
  void perform(const NoteUnknownInput&) {}

  test::EventBytes bytes_;
  const uint32_t cohorts_;
  const bool they_go_on_;
  LiveAttempts attempts_;
  Instant now_{};
  RoundKey key_{RoundId(7), Attempt(1)};
  std::vector<Device> devices_;
  bool is_frozen_ = false;
  std::map<CohortCall, Call> calls_;  // that wait for their answer
  uint64_t last_call_ = 0, last_serial_ = 0;
  std::set<uint64_t> claims_, listed_;
  std::vector<ListForSum> lists_;
  std::vector<FinalizeNow> openings_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= kBytesMax) Driver(test::EventBytes(data, size)).run();
  return 0;
}
