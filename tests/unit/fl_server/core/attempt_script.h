// An attempt machine whose effects are lines of text, and the devices of its cohort, which are real ones: a test reads
// as a script.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fl_server/core/attempt_machine.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/core/attempt_replay.h"
#include "tests/unit/fl_server/core/cohort_device.h"

namespace coterie {

using Lines = std::vector<std::string>;

inline constexpr Millis kPhase{1'000}, kCollecting{20'000};

// Does what no event can do.
struct AttemptTamperer {
  static void forget_what_was_told(AttemptMachine& machine) { machine.told_due_.reset(); }
  static void hold_twice(AttemptMachine& machine) { machine.held_.push_back(machine.held_.front()); }
  static void sleep_on(AttemptMachine& machine) { machine.first_held_until_.reset(); }
  static void lose_an_input(AttemptMachine& machine) { machine.inputs_.clear(); }
  static void claim_unheard(AttemptMachine& machine) { machine.is_frozen_ = false; }
};

// Four devices, numbered from 0, in one cohort whose sum must be of three at least. When the script ends it is run
// again with a failure at each of its steps (attempt_replay.h).
class AttemptScript {
 public:
  static constexpr uint32_t kDevices = 4;

  AttemptScript() {
    session_.level = SecurityLevel::masked;
    session_.context.bytes.fill(3);
    session_.lane_count = 4;
    session_.ring_bits = 64;
    session_.survivors_min = 3;
    rules_ = {.cohort_count = 1, .adverts_goal = kDevices, .cohort_phase_max = kPhase, .deadline = now_ + kCollecting};
    for (uint32_t i = 0; i < kDevices; ++i) devices_.push_back(test::cohort_device(session_, i));
  }
  ~AttemptScript() { replay_with_failures(steps_); }
  AttemptScript(const AttemptScript&) = delete;
  AttemptScript& operator=(const AttemptScript&) = delete;

  // ---- The round
  Lines begin(bool has_accepted = false) {
    const std::vector<uint64_t> ring_seeds(rules_.cohort_count, 1);
    return step(BeginCohorts{session_, rules_, kDevices, has_accepted, ring_seeds, test::accept_all});
  }
  Lines freeze() { return step(AttemptFrozen{}); }
  Lines finalize(uint64_t serial) { return step(FinalizeAsked{serial}); }
  Lines listed(std::optional<uint64_t> serial = {}, uint32_t count = kDevices) {
    std::vector<DeviceId> ids;
    for (uint32_t i = 0; i < count; ++i) ids.push_back(devices_[i].id);
    return step(SurvivorsListed{serial, std::move(ids)});
  }
  Lines not_listed(std::optional<uint64_t> serial = {}) {
    return step(SurvivorsListed{serial, Error(ErrorCode::unavailable, "the store is away")});
  }
  Lines pass(Millis time) {
    now_ += time;
    return step(AttemptTime{});
  }

  // ---- Devices
  Lines advertise(uint32_t device) { return send(device, devices_[device].client->advert()); }
  Lines ask(uint32_t device, CohortQuestion question, Millis hold = Millis(15'000)) {
    return step(CohortAsked{call_of(device), devices_[device].id, question, hold});
  }
  Lines share(uint32_t device) {
    return send(device, *devices_[device].client->share(reply<RosterView>(device, CohortQuestion::roster)));
  }
  Lines mask(uint32_t device) {
    const auto masking = devices_[device].client->mask(reply<ShareInbox>(device, CohortQuestion::share_inbox));
    inputs_[device] = masking->head();
    return send_input(device, inputs_[device]);
  }
  Lines send_input(uint32_t device, const MaskedInput& input) {
    return step(MaskedInputCame{call_of(device), devices_[device].id, input});
  }
  Lines accept(uint32_t device) { return step(MaskedInputAccepted{devices_[device].id}); }
  Lines unmask(uint32_t device) {
    return send(device, *devices_[device].client->unmask(reply<UnmaskRequest>(device, CohortQuestion::unmask_request)));
  }
  Lines send(uint32_t device, const CohortMessage& message) {
    return step(
        CohortMessageCame{call_of(device), devices_[device].id, devices_[device].signer->public_key(), message});
  }

  // ---- All of them
  void advertise_all(uint32_t count = kDevices) {
    for (uint32_t i = 0; i < count; ++i) advertise(i);
  }
  void share_all(uint32_t count = kDevices) {
    for (uint32_t i = 0; i < count; ++i) share(i);
  }
  void mask_all(uint32_t count = kDevices) {
    for (uint32_t i = 0; i < count; ++i) mask(i);
  }
  void accept_all(uint32_t count = kDevices) {
    for (uint32_t i = 0; i < count; ++i) accept(i);
  }
  // Up to updates that are durable.
  void aggregate() {
    begin();
    advertise_all();
    share_all();
    mask_all();
    accept_all();
  }

  Lines step(const AttemptEvent& event) {
    steps_.push_back({event, now_});
    const AttemptEffects effects = machine_.step(event, now_);
    machine_.check();
    Lines lines;
    for (const AttemptEffect& effect : effects) {
      if (const auto* answer = std::get_if<AnswerAsked>(&effect); answer != nullptr && answer->reply) {
        replies_.insert_or_assign(callers_.at(answer->call), *answer->reply);
      }
      lines.push_back(text(effect));
    }
    return lines;
  }

  AttemptMachine& machine() { return machine_; }
  // From the script's begin.
  std::optional<int64_t> wake() const {
    const auto at = machine_.next_deadline();
    return at ? std::optional<int64_t>(std::chrono::duration_cast<Millis>(*at - kBegin).count()) : std::nullopt;
  }

  secagg::SessionParameters session_;
  AttemptRules rules_;
  std::map<uint32_t, MaskedInput> inputs_;

 private:
  static constexpr Instant kBegin{Millis(5'000)};

  CohortCall call_of(uint32_t device) {
    const CohortCall call(callers_.size() + 1);
    callers_[call] = device;
    return call;
  }
  template <typename Message>
  Message reply(uint32_t device, CohortQuestion question) {
    ask(device, question);
    EXPECT_TRUE(std::holds_alternative<Message>(replies_.at(device))) << "device " << device;
    return std::get<Message>(replies_.at(device));
  }

  std::string whom(CohortCall call) const { return std::to_string(callers_.at(call)); }
  static std::string name_of(const CohortReply& reply) {
    constexpr const char* kNames[] = {"not yet", "slot", "roster", "inbox", "confirm", "unmask"};
    return kNames[reply.index()];
  }
  static std::string claim(std::optional<uint64_t> serial) { return serial ? " for " + std::to_string(*serial) : ""; }

  std::string text(const AttemptEffect& effect) const {
    struct Visitor {
      const AttemptScript& self;
      std::string operator()(const AnswerTaken& e) {
        if (e.taken) return "take " + self.whom(e.call);
        return "refuse " + self.whom(e.call) + ": " + std::string(e.taken.error().name());
      }
      std::string operator()(const AnswerAsked& e) {
        if (e.reply) return "answer " + self.whom(e.call) + ": " + name_of(*e.reply);
        return "refuse " + self.whom(e.call) + ": " + std::string(e.reply.error().name());
      }
      std::string operator()(const AnnounceDue& e) { return "due " + std::to_string(e.total); }
      std::string operator()(const AnnounceExpected& e) { return "expected " + std::to_string(e.total); }
      std::string operator()(const ListSurvivors& e) { return "list" + claim(e.serial); }
      std::string operator()(const OpenSum& e) { return "open" + claim(e.serial); }
      std::string operator()(const TellNotFinalized& e) { return "not finalized" + claim(e.serial); }
      std::string operator()(const LoseAttempt& e) { return "lost: " + e.reason; }
      std::string operator()(const NoteRefused&) { return "note: refused"; }
      std::string operator()(const NoteFailed& e) { return "note: failed " + std::string(e.why.reason()); }
      std::string operator()(const NoteUnknownInput&) { return "note: unknown input"; }
    };
    return std::visit(Visitor{*this}, effect);
  }

  Instant now_ = kBegin;
  AttemptMachine machine_;
  std::vector<test::CohortDevice> devices_;
  std::map<CohortCall, uint32_t> callers_;
  std::map<uint32_t, CohortReply> replies_;
  std::vector<AttemptStep> steps_;
};

}  // namespace coterie
