// Any order of answers, failures, restarts and times that a server and an app may bring a device's session: its
// invariants hold after each step, what is saved is what is held, no round counts without a receipt, no model is older
// than one that was seen, and with a server that goes on well the device takes part again.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "device_sdk/client/participant_machine.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/signature.h"
#include "secure/identity/manifest.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

constexpr size_t kBytesMax = 1'024;  // assignments are signed and verified
constexpr uint64_t kValues = 16;

const Signer& server_key() {
  static const std::unique_ptr<Signer> signer = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 7));
  return *signer;
}

// What the server would give whoever checks in.
struct Offer {
  JobId job{"j"};
  uint64_t version = 4;
  RoundKey round{RoundId(5), Attempt(1)};
  SecurityLevel level = SecurityLevel::none;
  StalenessRules staleness = {};
  DriftCorrection correction = {};
  DeviceRequirements requirements = {};

  Plan plan() const {
    Plan plan;
    plan.job = job;
    plan.update.value_count = kValues;
    plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 1000);
    if (level != SecurityLevel::none) {
      plan.privacy = {.level = level, .cohort_min = 2, .roster_max = 19, .corrupt_share = 0.1, .cipher_suite = 1};
    }
    plan.staleness = staleness;
    plan.training.correction = correction;
    plan.device_requirements = requirements;
    return plan;
  }
};

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes) {
    ParticipantState fresh;
    fresh.random = Prng(bytes_.next()).state();
    machine_ = std::make_unique<ParticipantMachine>(ParticipantPolicy{}, fresh);
  }

  void run() {
    while (!bytes_.is_over()) choose();
    // Behind the end the server has a job that the device has not seen, and all goes well.
    machine_->set_means({}, {UINT64_MAX, UINT64_MAX, UINT64_MAX});
    offer_ = {.job = JobId("another")};
    const uint64_t before = machine_->state().rounds_done;
    for (int turn = 0; turn < 60 && machine_->state().rounds_done == before; ++turn) {
      now_ = std::max(now_, machine_->state().wait_until);
      const ParticipantAction action = machine_->next(now_);
      if (const auto* stop = std::get_if<DoStop>(&action)) {
        COT_ASSERT(machine_->last_error().has_value() && !stop->error.message().empty());
        return;
      }
      answer(action);
    }
    COT_ASSERT(machine_->state().rounds_done > before);
  }

 private:
  void choose() {
    switch (bytes_.below(16)) {
      case 0: now_ += Millis(int64_t{bytes_.next()} * (bytes_.one_in(4) ? 3'600'000 : 2'000)); return;
      case 1: return restart();
      case 2: return move_on();
      case 3: return set_means();
      case 4:
        if (bytes_.one_in(2)) return step(KeysStated{});
        return step(HeldBack{Error(ErrorCode::refused, "not now", refusal_reason::kCharging)});
      case 5:
      case 6: return fail(machine_->next(now_));
      case 7: return answer_what_was_not_asked();
      default: break;
    }
    now_ = std::max(now_, machine_->state().wait_until);
    answer(machine_->next(now_));
  }

  // ---- The server

  void move_on() {
    offer_.job = JobId(bytes_.one_in(3) ? "k" : "j");
    offer_.version = std::max<uint64_t>(1, offer_.version + bytes_.below(4)) - (bytes_.one_in(4) ? 1 : 0);
    offer_.round = {RoundId(offer_.version + 1), Attempt(1 + bytes_.below(3))};
    offer_.level = bytes_.one_in(2) ? SecurityLevel::masked : SecurityLevel::none;
    offer_.staleness = bytes_.one_in(2) ? StalenessRules{.versions_max = 3, .exponent = 0.5f} : StalenessRules{};
    offer_.correction = {};
    if (bytes_.one_in(3)) offer_.correction = {CorrectionKind::feddyn, 0.1f};
    offer_.requirements = {};
    if (bytes_.one_in(4)) offer_.requirements.charging = true;
  }

  Assignment assignment() {
    const Bytes plan = encode(offer_.plan());
    plans_.insert_or_assign(content_digest(plan), plan);
    Assignment assignment{.job = offer_.job,
                          .round = offer_.round,
                          .model_version = ModelVersion(offer_.version),
                          .plan = content_digest(plan),
                          .model = model_of(offer_.version),
                          .plan_bytes = static_cast<uint32_t>(plan.size()),
                          .model_bytes = 100,
                          .not_after = now_ + Millis(600'000),
                          .ticket = Bytes(40, static_cast<uint8_t>(offer_.version)),
                          .signature = {}};
    COT_ASSERT(sign_manifest(assignment, server_key()).has_value());
    if (bytes_.one_in(16)) assignment.signature[0] ^= 1;
    return assignment;
  }
  static Digest model_of(uint64_t version) {
    Digest digest;
    digest.bytes[0] = static_cast<uint8_t>(version);
    digest.bytes[1] = 1;
    return digest;
  }

  // The answer with which a session that goes well goes on.
  void answer(const ParticipantAction& action) {
    std::visit([this](const auto& asked) { answer(asked); }, action);
  }
  void answer(const DoEnroll&) {
    step(EnrollAnswered{EnrollReply{DeviceId{{1}}, Population("p"), server_key().public_key()}});
  }
  void answer(const DoCheckIn&) {
    if (bytes_.one_in(4)) return step(CheckInAnswered{RetryWindow{bytes_.next(), 1'000, "later"}});
    step(CheckInAnswered{assignment()});
  }
  void answer(const DoFetchPlan& e) {
    Bytes plan = must_find(plans_, e.plan, "a plan that is asked for was assigned");
    if (bytes_.one_in(16)) plan.back() ^= 1;
    step(PlanFetched{std::move(plan)});
  }
  void answer(const DoFetchLogProof&) { step(LogProofFetched{LogProof{}}); }
  void answer(const DoFetchModel& e) { step(ModelFetched{bytes_.one_in(16) ? model_of(0) : e.model, e.control}); }
  void answer(const DoTrain&) { step(TrainingEnded{{}, model_of(bytes_.next())}); }
  void answer(const DoUpload& e) { step(UploadAnswered{Receipt{e.assignment.round, Bytes(32, 1)}}); }
  void answer(const DoAggregate&) {
    if (bytes_.one_in(4)) return step(AggregationAnswered{RetryWindow{0, bytes_.next(), "not yet"}});
    constexpr AggregationStep kSteps[] = {AggregationStep::done, AggregationStep::went_on, AggregationStep::masks,
                                          AggregationStep::opens};
    step(AggregationAnswered{kSteps[bytes_.below(4)]});
  }
  void answer(const DoWait& e) { COT_ASSERT(e.until > now_); }
  void answer(const DoStop&) {}

  // ---- What goes wrong

  Failure failure() {
    const auto rows = all_error_traits();
    Failure failure{Error(rows[bytes_.below(rows.size())].code, "it failed"), {}};
    if (bytes_.one_in(3)) failure.window = RetryWindow{bytes_.next(), uint32_t{bytes_.next()} * 1'000, "later"};
    return failure;
  }
  void fail(const ParticipantAction& action) {
    const Failure why = failure();
    if (std::holds_alternative<DoEnroll>(action)) return step(EnrollAnswered{why});
    if (std::holds_alternative<DoCheckIn>(action)) return step(CheckInAnswered{why});
    if (std::holds_alternative<DoFetchPlan>(action)) return step(PlanFetched{why});
    if (std::holds_alternative<DoFetchModel>(action)) return step(ModelFetched{why});
    if (std::holds_alternative<DoTrain>(action)) return step(TrainingEnded{why.error});
    if (std::holds_alternative<DoUpload>(action)) return step(UploadAnswered{why});
    if (std::holds_alternative<DoAggregate>(action)) return step(AggregationAnswered{why, bytes_.one_in(2)});
  }
  // The request was made before, and is over.
  void answer_what_was_not_asked() {
    switch (bytes_.below(7)) {
      case 0: return answer(DoEnroll{});
      case 1: return step(CheckInAnswered{assignment()});
      case 2: return step(PlanFetched{Bytes(bytes_.next(), 1)});
      case 3: return step(ModelFetched{model_of(offer_.version)});
      case 4: return step(TrainingEnded{{}, model_of(9)});
      case 5: return step(AggregationAnswered{failure(), true});
      default: return step(UploadAnswered{failure()});
    }
  }

  void set_means() {
    DeviceConditions conditions;
    conditions.charging = static_cast<ConditionAnswer>(bytes_.below(3));
    const WorkAmount left{.upload_bytes = bytes_.one_in(4) ? 10 : UINT64_MAX, .download_bytes = UINT64_MAX};
    machine_->set_means(conditions, left);
  }

  // The app is killed and started again: nothing survives but what was saved.
  void restart() {
    const ParticipantState saved = machine_->state();
    auto read = decode_participant_state(encode(saved));
    COT_ASSERT(read.has_value() && *read == saved);
    machine_ = std::make_unique<ParticipantMachine>(ParticipantPolicy{}, *std::move(read));
    machine_->check();
    COT_ASSERT(machine_->state().rounds_done == saved.rounds_done);
  }

  // ---- The device

  void step(const ParticipantEvent& event) {
    const ParticipantState before = machine_->state();
    machine_->step(event, now_);
    machine_->check();
    const ParticipantState& after = machine_->state();
    if (after.rounds_done != before.rounds_done) {
      const auto* upload = std::get_if<UploadAnswered>(&event);
      const auto* session = std::get_if<AggregationAnswered>(&event);
      COT_ASSERT((upload != nullptr && std::holds_alternative<Receipt>(upload->outcome)) ||
                 (session != nullptr && std::holds_alternative<AggregationStep>(session->outcome)));
      COT_ASSERT(after.rounds_done == before.rounds_done + 1 && before.assignment.has_value());
    }
    for (const auto& [job, version] : before.newest_models) {
      COT_ASSERT(must_find(after.newest_models, job, "a model that was seen is remembered") >= version);
    }
    COT_ASSERT(after.wait_until <= now_ + Millis(24 * 3'600'000));
  }

  test::EventBytes bytes_;
  WallTime now_ = wall_time_from_unix_ms(1'700'000'000'000);
  std::unique_ptr<ParticipantMachine> machine_;
  Offer offer_;
  std::map<Digest, Bytes> plans_;  // that were assigned
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= kBytesMax) Driver(test::EventBytes(data, size)).run();
  return 0;
}
