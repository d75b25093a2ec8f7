// Agent: the shell around the participant machine: performs what it decides with a transport, the trainer and a state
// directory, one small step a call, on the caller's thread.
//
// The state directory holds everything, so that an app may be killed at any moment and go on:
//   identity.key                   the device's key (unless the app brings a signer)
//   session.state, round.state     ParticipantState (session_files.h)
//   model-<digest>.cotf            the present round's model (.part while it is being fetched)
//   kept-<job>-<digest>.cotf       instead, of a job whose models come as deltas: the last one stays (kept_models.h)
//   delta-<digest>.cotf            what leads from there to the present one, while that is made
//   control-<digest>.cotf          what is handed out with it, if the plan has a control part; likewise
//   train-<round>-<attempt>.ckpt   training under way, sealed; .seed what its randomness comes from (training_seed.h)
//   train-<round>-<attempt>.own    what a first training of the device's own came to, sealed (own_training.h)
//   update.cotf                    the encoded update, sealed, until it is accepted
//   round.key                      what they and the session's seed are sealed with (round_vault.h)
//   state-<content>.cotf, .key     what is kept of a job from round to round, sealed, and its key (state_files.h)
//   certificate, revocations       of the authority (certificate_store.h)
//   day.spent                      what the device has spent today, where it may not spend all (work_meter.h)
//   secagg.log                     a session of secure aggregation under way (session_log.h)
// One agent at a time may use a directory. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/os/file.h"
#include "device_sdk/agent/aggregation_session.h"
#include "device_sdk/agent/certificate_store.h"
#include "device_sdk/agent/device_api.h"
#include "device_sdk/agent/kept_models.h"
#include "device_sdk/agent/metered_transport.h"
#include "device_sdk/agent/round_vault.h"
#include "device_sdk/agent/session_files.h"
#include "device_sdk/agent/state_files.h"
#include "device_sdk/agent/width_limits.h"
#include "device_sdk/agent/work_meter.h"
#include "device_sdk/client/participant_machine.h"
#include "device_sdk/client/transport.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/plan_features.h"

namespace coterie {

class GivenPass;
class PlanWatch;
class UpdateLayout;
struct GivenFacts;
struct TrainedUpdate;

struct AgentSettings {
  std::string state_dir;
  std::string enrollment_token;  // needed until the device is enrolled
  std::string sdk_version;
  KeyAlgorithm key_algorithm = KeyAlgorithm::ed25519;  // of a new identity
  std::shared_ptr<const Signer> signer;                // the app's own key; null: one in the state directory
  // For shuffling and jitter, the same in each training of a model version: for tests, as the server can then have one
  // training twice. 0: drawn, for shuffling anew in each training.
  uint64_t seed = 0;
  Millis train_slice{1'000};       // how long one step() may train
  uint32_t checkpoint_steps = 50;  // training steps between two checkpoints; 0: none
  ParticipantPolicy policy;
  DailyLimits limits;
  WidthLimits widths;  // of jobs that have some
  // What the device is like now: asked before each step, and between two steps of training. Empty: nobody knows.
  std::function<DeviceConditions()> conditions;
  PlanFeatures features = kKnownFeatures;  // what it says that it knows of plans; less only in tests
  uint32_t group = 0;  // that this device is in, from 1 to kGroupsMax (proto/messages/group_weights.h); 0: in none, and
                       // it says that it does not know plans with groups
  // For secure aggregation: the Ed25519 key of an authority whose certificates other devices must have
  // (secure/identity/device_certificate.h), and the certificate of this one, without which, or when it has ended, it
  // refuses plans of level active and above. Without an authority nobody must have one, and whoever can enroll devices
  // can be all the others.
  Bytes authority_key;
  Bytes certificate;
};

class ExampleReader;
struct MetGate;

// What one step did, and what is due next.
struct AgentProgress {
  enum class Activity : uint8_t {
    waiting = 1,
    enrolled,
    checked_in,
    fetched_plan,
    fetched_model,
    trained,
    uploaded,
    stopped,
    aggregated,  // one exchange of secure aggregation
    held         // back, by what `error` has as its reason: one of refusal_reason::kHolds
  };
  Activity activity = Activity::waiting;
  Millis wait{0};  // nothing to do before this long
  uint64_t rounds_done = 0;
  std::optional<Error> error;               // of this step; the session goes on unless activity is `stopped`
  std::optional<RefusedPlan> refused_plan;  // in this step, or as the agent was opened
  TrainingSummary training;                 // of the round under way
  ValidationSummary validation;             // likewise
};

class Agent {
 public:
  // `transport` and `examples` outlive the agent. invalid_argument if the policy is out of range, or authority and
  // certificate are not what they must be (certificate_store.h), or there is no such group; conflict if the directory
  // was enrolled with another key than settings.signer, or if another agent uses the directory; data_loss if its state
  // is damaged.
  static Result<std::unique_ptr<Agent>> open(const AgentSettings& settings, Transport& transport,
                                             ExampleSource& examples);

  // Keeps what was not spent of what was charged.
  ~Agent();

  // One action: a request, or a slice of training or of counting. An error is the device's own (its disk), not the
  // server's.
  Result<AgentProgress> step();
  const ParticipantState& state() const { return machine_.state(); }
  // personal_model.h.
  Result<Model> personal_model(const JobId& job, const Model& published) const;
  // The device's identity: an authority certifies its public key.
  const Signer& identity() const { return *signer_; }
  // Whether to ask the authority for the next certificate (CertificateStore::is_due); not before the device is
  // enrolled.
  bool certificate_is_due() const;
  // What the app carries to the authority for a certificate, the first or the next (certificate_request.h), and what
  // comes back (CertificateStore::take). conflict: the device is not enrolled, so that it has no population yet.
  Result<Bytes> certificate_request(Attestation attestation) const;
  Status take_certificate(Bytes certificate);
  // attestation_hash() of this device. conflict: as above.
  Result<Digest> attestation_hash(ByteView nonce) const;

 private:
  Agent(AgentSettings settings, os::File lock, std::shared_ptr<const Signer> signer, CertificateStore certificates,
        WorkMeter meter, SessionFiles files, ParticipantState state, Transport& transport, ExampleSource& examples);

  struct Training {  // of the round under way
    std::shared_ptr<const UpdateLayout> layout;
    Trainer trainer;
    uint64_t seed = 0;
    std::vector<float> state;    // that it goes on from; empty: zeros, or what the model has
    std::vector<float> control;  // the server's; likewise
    uint64_t checkpointed = 0;
    Millis spent{0};
    bool is_own = false;                    // it comes before that of the update (own_training.h)
    std::vector<float> own;                 // else: what is the device's own as it begins
    std::shared_ptr<PlanWatch> watch = {};  // null: nobody asks, or it is_own
  };

  struct GivenModel {  // as a plan has it trained
    Model model;
    std::shared_ptr<const UpdateLayout> layout;
    std::optional<Model> clusters = {};  // of a plan that has some, the file that holds them all
  };
  struct Given {  // what a plan asks of it before the training
    std::shared_ptr<const UpdateLayout> layout;
    std::unique_ptr<GivenPass> pass;          // under way
    std::shared_ptr<const GivenFacts> facts;  // null: not known yet
    Millis spent{0};
  };

  // HeldBack in the place of `action`, where conditions or budgets say so.
  Result<std::optional<ParticipantEvent>> work(const ParticipantAction& action, AgentProgress& progress);
  // What is reserved of CPU time for one action, in microseconds. refused, or the disk's own.
  Result<uint64_t> begin_work(bool is_training);
  Result<std::optional<ParticipantEvent>> perform_any(const ParticipantAction& action, AgentProgress& progress);
  bool may_train_on(uint64_t step_us_max) const;
  Result<ParticipantEvent> perform(const DoEnroll& action);
  Result<ParticipantEvent> perform(const DoCheckIn& action);
  Result<ParticipantEvent> perform(const DoFetchPlan& action);
  Result<ParticipantEvent> perform(const DoFetchLogProof& action);
  Result<ParticipantEvent> perform(const DoFetchModel& action);
  Result<std::optional<ParticipantEvent>> train(const DoTrain& action);
  Result<ParticipantEvent> perform(const DoUpload& action);
  Result<ParticipantEvent> perform(const DoAggregate& action);
  Result<std::optional<Failure>> update_list(const Plan& plan);
  Result<GivenModel> load_given(const DoTrain& action) const;
  Result<std::optional<ParticipantEvent>> look_at_given(const DoTrain& action);
  Result<Training> begin_training(const DoTrain& action);
  Result<std::optional<ParticipantEvent>> count(const DoTrain& action);
  Result<std::unique_ptr<ExampleReader>> begin_counting(const DoTrain& action) const;
  Result<ParticipantEvent> fetch_further(const DoFetchModel& action);
  Result<uint64_t> seed_of(const Assignment& assignment) const;
  Result<std::vector<float>> kept_state(const DoTrain& action, uint64_t value_count) const;
  Result<std::optional<Digest>> store_state(const DoTrain& action, TrainedUpdate& update) const;
  Result<std::vector<float>> own_before(const DoTrain& action, const UpdateLayout& layout,
                                        const std::vector<float>& state, bool& is_own) const;
  Status store_own(const DoTrain& action) const;
  void clean_up();
  DeviceClocks clocks() const;
  bool is_enrolled() const { return machine_.state().phase != ParticipantPhase::unenrolled; }
  DeviceConditions conditions() const { return settings_.conditions ? settings_.conditions() : DeviceConditions{}; }
  ParticipantPolicy policy_for(const Population& population);
  Status keep_clock();
  void keep_gate(const ParticipantEvent& event, const RoundKey& before);
  std::string path(const std::string& name) const { return settings_.state_dir + "/" + name; }
  static constexpr char kGateFile[] = "gate";  // a MetGate
  static constexpr char kUpdateFile[] = "update.cotf";
  // Where the round's model lies.
  std::string model_path(const JobId& job, const DownloadRules& download, const Digest& model) const {
    return download.has_deltas() ? kept_.path(job, model) : path("model-" + model.hex() + ".cotf");
  }
  std::string control_path(const Digest& digest) const { return path("control-" + digest.hex() + ".cotf"); }
  static std::string training_file(const RoundKey& key, const char* what);
  std::string training_path(const RoundKey& key, const char* what) const { return path(training_file(key, what)); }

  AgentSettings settings_;
  os::File lock_;
  SessionFiles files_;
  std::shared_ptr<const Signer> signer_;
  CertificateStore certificates_;
  RoundVault vault_;
  StateFiles states_;
  KeptModels kept_;
  WorkMeter meter_;
  MeteredTransport transport_;
  DeviceApi api_;
  Millis ahead_saved_{0};  // what DeviceApi::server_ahead was when it was kept
  ExampleSource& examples_;
  ParticipantMachine machine_;
  std::unique_ptr<MetGate> gate_;                        // as it was kept last, in this life
  std::optional<std::pair<Digest, Bytes>> newest_plan_;  // as it was fetched last, at most a plan's size
  uint64_t margin_us_;                 // of CPU time: what one action takes at most, as far as is known
  const CpuCharge* charge_ = nullptr;  // of the action under way, if its time is limited
  Given given_;                        // of the round under way
  std::optional<Training> training_;
  std::unique_ptr<ExampleReader> counting_;  // in its place, of a plan with analytics
  std::unique_ptr<AggregationSession> aggregation_;
};

}  // namespace coterie
