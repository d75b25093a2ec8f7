#include "tools/attack/lying_device.h"

#include <csignal>
#include <memory>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "device_sdk/agent/device_api.h"
#include "device_sdk/agent/encode_update.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/agent/training_seed.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/trainer.h"
#include "device_sdk/transport/https_client.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "secure/identity/key_file.h"
#include "tools/attack/flipped_labels.h"
#include "tools/cli/interrupt.h"
#include "tools/data/load.h"
#include "tools/device/log_line.h"

namespace coterie {
namespace {

constexpr uint64_t kCertificatesBytesMax = 1 << 20;
constexpr uint64_t kModelBytesMax = 1ull << 34;
constexpr Millis kHoldMax{30'000};
constexpr Millis kAgain{200};

void say(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  write_line(to_json_line(level, event, std::span(fields.begin(), fields.size())));
}

class LyingDevice {
 public:
  LyingDevice(const DeviceOptions& options, const Lie& lie, DatasetSource data, std::unique_ptr<Signer> signer,
              std::unique_ptr<HttpsClient> client)
      : options_(options),
        lie_(lie),
        data_(std::move(data)),
        signer_(std::move(signer)),
        client_(std::move(client)),
        api_(*client_, *signer_) {}

  // Errors: cancelled, and what no further try would mend.
  Status run() {
    COT_TRY(enroll());
    for (uint64_t done = 0; options_.rounds == 0 || done < options_.rounds;) {
      COT_ASSIGN(const Assignment assignment, wait_for_assignment());
      const Status sent = take_part(assignment);
      if (Interrupt::requested()) return interrupted_error();
      if (!sent) say(LogLevel::warning, "round_lost", {{"error", sent.error().message()}});
      else say(LogLevel::info, "update_accepted", {{"rounds_done", ++done}});
    }
    return {};
  }

 private:
  Status enroll() {
    Outcome<EnrollReply> outcome = api_.enroll(options_.token, "drill");
    while (const auto* failure = std::get_if<Failure>(&outcome)) {
      if (traits(failure->error.code()).retry == RetryClass::never) return failure->error;
      COT_TRY(Interrupt::wait(kAgain));
      outcome = api_.enroll(options_.token, "drill");
    }
    const auto& reply = std::get<EnrollReply>(outcome);
    id_ = reply.device;
    population_ = reply.population;
    api_.trust({.newest = reply.signing_key});
    return {};
  }

  Result<Assignment> wait_for_assignment() {
    for (;;) {
      auto answer = api_.check_in(id_, {population_, "drill", static_cast<uint32_t>(kHoldMax.count())});
      if (auto* assignment = std::get_if<Assignment>(&answer)) return std::move(*assignment);
      Millis pause = kAgain;
      if (const auto* window = std::get_if<RetryWindow>(&answer)) pause = Millis(window->min_ms);
      COT_TRY(Interrupt::wait(pause));
    }
  }

  Status take_part(const Assignment& assignment) {
    COT_ASSIGN(const Plan plan, fetch_plan(assignment));
    if (plan.privacy.level != SecurityLevel::none) {
      return Error(ErrorCode::refused, "drills are for rounds at privacy.level none");
    }
    if (plan.update.has_clip_bit()) {
      return Error(ErrorCode::refused, "drills are for updates that are clipped by what the job says");
    }
    if (!plan.update.is_float32()) {
      return Error(ErrorCode::refused, "drills are for updates that are not compressed");
    }
    if (GivenPass::is_asked_by(plan)) {
      return Error(ErrorCode::refused, "drills are for plans that ask nothing of the given model");
    }
    COT_ASSIGN(Bytes file, fetch_model(assignment));
    COT_ASSIGN(const Model given, Model::load(std::move(file)));
    COT_ASSIGN(const Model model, model_to_train(given, plan.training));
    COT_ASSIGN(const UpdateLayout layout, UpdateLayout::of(model, given.value_count(), plan));
    FlippedLabels flipped(data_);
    ExampleSource& examples = flips_labels(lie_.kind) ? static_cast<ExampleSource&>(flipped) : data_;
    const uint64_t seed = repeated_seed(options_.seed, assignment.model_version);
    COT_ASSIGN(Trainer trainer, Trainer::create(model, plan.training, examples, seed));
    while (!trainer.finished()) {
      if (Interrupt::requested()) return interrupted_error();
      COT_TRY(trainer.step());
    }
    COT_ASSIGN(TrainedUpdate update,
               make_update(layout, trainer, data_.size(), plan.training, plan.update, {assignment.model, seed}));
    forge(lie_.kind, {}, lie_.updates, seed, update.delta);
    COT_TRY(limit_update(update.delta, plan.update, {}));
    update.header.round = assignment.round;
    update.header.model = assignment.model;
    update.header.train_ms = 1;
    return send(assignment, encode_update(update.header, update.delta));
  }

  Result<Plan> fetch_plan(const Assignment& assignment) {
    const Outcome<Bytes> outcome = api_.fetch_plan(id_, assignment.plan, assignment.plan_bytes);
    if (const auto* failure = std::get_if<Failure>(&outcome)) return failure->error;
    return decode_plan(std::get<Bytes>(outcome));
  }

  Result<Bytes> fetch_model(const Assignment& assignment) {
    Bytes file;
    const auto collect = [&](const TransportResponse&, ByteView piece) -> Status {
      if (file.size() + piece.size() > kModelBytesMax) return Error(ErrorCode::too_large, "the model has no end");
      file.insert(file.end(), piece.begin(), piece.end());
      return {};
    };
    const Outcome<uint64_t> fetched = api_.fetch_model(id_, assignment.model, 0, collect);
    if (const auto* failure = std::get_if<Failure>(&fetched)) return failure->error;
    if (content_digest(file) != assignment.model) return Error(ErrorCode::refused, "the model has another digest");
    return file;
  }

  // Again and again until the server has decided.
  Status send(const Assignment& assignment, const Bytes& update) {
    for (;;) {
      const Outcome<Receipt> outcome = api_.upload(id_, assignment, update);
      const auto* failure = std::get_if<Failure>(&outcome);
      if (failure == nullptr) return {};
      const RetryClass retry = traits(failure->error.code()).retry;
      if (retry == RetryClass::never || retry == RetryClass::check_in) return failure->error;
      COT_TRY(Interrupt::wait(failure->window ? Millis(failure->window->min_ms) : kAgain));
    }
  }

  const DeviceOptions& options_;
  Lie lie_;
  DatasetSource data_;
  std::unique_ptr<Signer> signer_;
  std::unique_ptr<HttpsClient> client_;
  DeviceApi api_;
  DeviceId id_;
  Population population_;
};

Status run(const DeviceOptions& options, const Lie& lie) {
  std::vector<std::string> notes;
  COT_ASSIGN(DatasetSource data, open_examples(options.data, notes));
  COT_TRY(os::make_directories(options.state_dir));
  COT_ASSIGN(std::unique_ptr<Signer> signer,
             load_or_create_signer(options.state_dir + "/identity.key",
                                   options.use_p256 ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519));
  HttpsClientSettings settings;
  settings.url = options.server_url;
  if (!options.ca_file.empty()) {
    COT_ASSIGN(const Bytes pem, os::read_file(options.ca_file, kCertificatesBytesMax));
    settings.ca_pem = std::string(as_text(pem));
  }
  settings.cancelled = Interrupt::flag();
  COT_ASSIGN(std::unique_ptr<HttpsClient> client, HttpsClient::make(settings));
  say(LogLevel::warning, "device_lies", {{"kind", to_string(lie.kind)}, {"examples", data.size()}});
  return LyingDevice(options, lie, std::move(data), std::move(signer), std::move(client)).run();
}

}  // namespace

ExitCode run_lying_device(const DeviceOptions& options, const Lie& lie) {
  const Status ended = run(options, lie);
  if (ended) return ExitCode::ok;
  if (Interrupt::requested()) return Interrupt::signal_number() == SIGTERM ? ExitCode::ok : ExitCode::interrupted;
  say(LogLevel::error, "device_ended", {{"status", ended.error().name()}, {"error", ended.error().message()}});
  return exit_code_of(ended.error().code());
}

}  // namespace coterie
