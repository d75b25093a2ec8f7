// The C interface: handles, translation, and the fence around every call. Meaning is in coterie.h.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/c_api/conditions.h"
#include "device_sdk/c_api/default_transport.h"
#include "device_sdk/c_api/handle.h"
#include "device_sdk/c_api/host_callbacks.h"
#include "device_sdk/c_api/model_handle.h"
#include "device_sdk/c_api/policy.h"
#include "device_sdk/c_api/sdk_version.h"
#include "proto/codec/limits.h"
#include "secure/identity/attestation.h"
#include "secure/identity/certificate_request.h"
#include "secure/identity/device_certificate.h"

namespace {

using namespace coterie;

static_assert(COTERIE_AUTHORITY_KEY_BYTES == kAuthorityKeyBytes &&
              COTERIE_CERTIFICATE_BYTES == kEndlessCertificateBytes &&
              COTERIE_CERTIFICATE_BYTES_MAX == limits::kCertificateBytesMax &&
              COTERIE_NONCE_BYTES == kAttestationNonceBytes && COTERIE_ATTESTATION_BYTES_MAX == kAttestationBytesMax &&
              COTERIE_CERTIFICATE_REQUEST_BYTES_MAX == kCertificateRequestBytesMax);

std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : std::string(text); }

Status check(const coterie_options& options) {
  const auto missing = [](const char* what) {
    return Error(ErrorCode::invalid_argument, std::string(what) + " is missing");
  };
  if (options.state_dir == nullptr || *options.state_dir == 0) return missing("options.state_dir");
  if (options.transport == nullptr && options.server_url == nullptr) return missing("options.server_url");
  if (options.certificate_size > COTERIE_CERTIFICATE_BYTES_MAX) {
    return Error(ErrorCode::invalid_argument,
                 "options.certificate_size must be at most " + std::to_string(COTERIE_CERTIFICATE_BYTES_MAX));
  }
  return {};
}

AgentSettings settings_of(const coterie_options& options) {
  AgentSettings settings;
  settings.state_dir = options.state_dir;
  settings.enrollment_token = text_or_empty(options.enrollment_token);
  settings.sdk_version = kSdkVersion;
  if (options.use_p256 != 0) settings.key_algorithm = KeyAlgorithm::p256;
  settings.seed = options.seed;
  settings.group = static_cast<uint32_t>(std::min<uint64_t>(options.group, UINT32_MAX));
  if (options.train_ms_max > 0) settings.train_slice = Millis(options.train_ms_max);
  if (options.checkin_ms_max > 0) {
    settings.policy.checkin_hold = Millis(std::min(options.checkin_ms_max, limits::kWaitMsMax));
  }
  if (options.checkpoint_steps > 0) settings.checkpoint_steps = options.checkpoint_steps;
  if (options.authority_key != nullptr) {
    settings.authority_key.assign(options.authority_key, options.authority_key + COTERIE_AUTHORITY_KEY_BYTES);
  }
  if (options.certificate != nullptr) {
    const size_t size = options.certificate_size > 0 ? options.certificate_size : COTERIE_CERTIFICATE_BYTES;
    settings.certificate.assign(options.certificate, options.certificate + size);
  }
  return settings;
}

Result<Attestation> attestation_of(const coterie_attestation* given) {
  if (given == nullptr) return Attestation{};
  COT_ASSIGN(const coterie_attestation known, known_part(given, "attestation"));
  if (known.nonce == nullptr || known.bytes == nullptr) return null_argument("attestation.nonce and attestation.bytes");
  const bool has_format = known.format > 0 && known.format <= static_cast<uint32_t>(AttestationFormat::opaque);
  if (!has_format || known.size > kAttestationBytesMax) {
    return Error(ErrorCode::invalid_argument,
                 "attestation: its format must be one of coterie_attestation_format, and it "
                 "has at most " +
                     std::to_string(kAttestationBytesMax) + " bytes");
  }
  return Attestation{.format = static_cast<AttestationFormat>(known.format),
                     .nonce = Bytes(known.nonce, known.nonce + COTERIE_NONCE_BYTES),
                     .blob = Bytes(known.bytes, known.bytes + known.size)};
}

std::atomic<void (*)(const char*)> g_write_log{nullptr};

void forward_log(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  if (const auto write = g_write_log.load()) write(to_json_line(level, event, fields).c_str());
}

}  // namespace

struct coterie_client : Handle {
  std::atomic<bool> cancelled{false};
  std::optional<HostDataset> dataset;
  SharedConditions conditions;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Agent> agent;
  RefusalCallback refused;

  Status open(const coterie_options* given_options, const coterie_dataset* given_dataset) {
    COT_ASSIGN(const coterie_options options, known_part(given_options, "options"));
    COT_TRY(check(options));
    COT_ASSIGN(dataset, HostDataset::make(given_dataset));
    if (options.transport != nullptr) {
      COT_ASSIGN(const coterie_transport host_transport, known_part(options.transport, "options.transport"));
      if (host_transport.send == nullptr)
        return Error(ErrorCode::invalid_argument, "options.transport->send is missing");
      transport = std::make_unique<HostTransport>(host_transport, cancelled);
    } else {
      COT_ASSIGN(transport, make_default_transport(options.server_url, text_or_empty(options.ca_file), cancelled));
    }
    AgentSettings settings = settings_of(options);
    if (options.signer != nullptr) {
      COT_ASSIGN(settings.signer, HostSigner::make(options.signer));
    }
    COT_ASSIGN(settings.policy.privacy, policy_of(options.policy));
    COT_ASSIGN(const AppRequirements app, requirements_of(options.requirements));
    settings.policy.required = app.required;
    settings.limits = app.limits;
    settings.widths = app.widths;
    settings.conditions = [this] { return conditions.get(); };
    refused = {options.on_refused, options.refused_context};
    COT_ASSIGN(agent, Agent::open(settings, *transport, *dataset));
    return {};
  }

  coterie_status step(coterie_progress& out) {
    out.struct_size = sizeof out;
    if (cancelled) return fail(Error(ErrorCode::cancelled, "cancelled by the app"));
    const Result<AgentProgress> progress = agent->step();
    if (!progress) return fail(progress.error());
    if (progress->error) last_error = progress->error->message();
    out.activity = static_cast<coterie_activity>(progress->activity);
    out.step_status = progress->error ? status_of(*progress->error) : COTERIE_OK;
    if (progress->activity == AgentProgress::Activity::held && progress->error) {
      out.hold = hold_of(progress->error->reason());
    }
    out.wait_ms = static_cast<uint32_t>(std::min<int64_t>(progress->wait.count(), UINT32_MAX));
    out.rounds_done = progress->rounds_done;
    out.training_steps = progress->training.steps;
    out.training_examples = progress->training.examples;
    if (out.training_examples > 0)
      out.training_loss = progress->training.loss_sum / static_cast<double>(out.training_examples);
    out.validation_examples = progress->validation.examples;
    out.validation_loss = progress->validation.best_loss;
    out.stopped_early = progress->validation.has_stopped ? 1 : 0;
    if (progress->refused_plan) refused(*progress->refused_plan);
    return COTERIE_OK;
  }

  // Waits, looking up now and then: cancel() has no other way to reach a thread that belongs to the host.
  // Nor has what the app says of the device, seen `changes` times before the step, in which it was held back or not.
  void wait(uint32_t ms, bool is_held, uint64_t changes) const {
    const Instant until = os::monotonic_now() + Millis(ms);
    while (!cancelled && os::monotonic_now() < until && !(is_held && conditions.changes() != changes)) {
      std::this_thread::sleep_for(std::min(Millis(50), until - os::monotonic_now()));
    }
  }
};

extern "C" {

const char* coterie_version(void) { return kSdkVersion; }

const char* coterie_status_name(coterie_status status) {
  if (status == COTERIE_OK) return "ok";
  for (const ErrorTraits& row : all_error_traits()) {
    if (row.c_status == static_cast<int>(status)) return row.name.data();
  }
  return "internal";
}

const char* coterie_activity_name(coterie_activity activity) {
  switch (activity) {
    case COTERIE_ACTIVITY_WAITING: return "waiting";
    case COTERIE_ACTIVITY_ENROLLED: return "enrolled";
    case COTERIE_ACTIVITY_CHECKED_IN: return "checked_in";
    case COTERIE_ACTIVITY_FETCHED_PLAN: return "fetched_plan";
    case COTERIE_ACTIVITY_FETCHED_MODEL: return "fetched_model";
    case COTERIE_ACTIVITY_TRAINED: return "trained";
    case COTERIE_ACTIVITY_UPLOADED: return "uploaded";
    case COTERIE_ACTIVITY_STOPPED: return "stopped";
    case COTERIE_ACTIVITY_AGGREGATED: return "aggregated";
    case COTERIE_ACTIVITY_HELD: return "held";
  }
  return "unknown";
}

const char* coterie_security_level_name(coterie_security_level level) {
  switch (level) {
    case COTERIE_SECURITY_NONE: return "none";
    case COTERIE_SECURITY_MASKED: return "masked";
    case COTERIE_SECURITY_ACTIVE: return "active";
    case COTERIE_SECURITY_ACTIVE_DP: return "active_dp";
  }
  return "unknown";
}

coterie_status coterie_client_open(const coterie_options* options, const coterie_dataset* dataset,
                                   coterie_client** client, char* error_text, size_t error_text_size) {
  const auto make = [&]() -> Result<std::unique_ptr<coterie_client>> {
    if (options == nullptr || dataset == nullptr) return null_argument("options and dataset");
    auto opened = std::make_unique<coterie_client>();
    COT_TRY(opened->open(options, dataset));
    return opened;
  };
  return open_handle(client, "client", make, error_text, error_text_size);
}

void coterie_client_close(coterie_client** client) { close_handle(client); }

coterie_status coterie_client_identity(coterie_client* client, coterie_identity* identity) {
  return with_status(client, [&]() -> coterie_status {
    if (identity == nullptr) return client->fail(null_argument("identity"));
    if (const Status whole = check_size(*identity, "identity"); !whole) return client->fail(whole.error());
    const Signer& signer = client->agent->identity();
    coterie_identity filled{};
    filled.key_algorithm = static_cast<uint32_t>(signer.algorithm());
    filled.public_key_size = static_cast<uint32_t>(signer.public_key().size());
    COT_ASSERT(filled.public_key_size <= sizeof filled.public_key);
    std::copy(signer.public_key().begin(), signer.public_key().end(), filled.public_key);
    fill_known_part(*identity, filled);
    return COTERIE_OK;
  });
}

int coterie_client_certificate_is_due(coterie_client* client) {
  int is_due = 0;
  (void)with_status(client, [&] {
    is_due = client->agent->certificate_is_due() ? 1 : 0;
    return COTERIE_OK;
  });
  return is_due;
}

coterie_status coterie_client_certificate_request(coterie_client* client, const coterie_attestation* attestation,
                                                  uint8_t* request, size_t* request_size) {
  return with(client, [&]() -> Status {
    if (request_size == nullptr || (request == nullptr && *request_size > 0)) return null_argument("request");
    COT_ASSIGN(Attestation given, attestation_of(attestation));
    COT_ASSIGN(const Bytes made, client->agent->certificate_request(std::move(given)));
    // The size is told where it does not fit, too: the app then knows how much room to come back with.
    const size_t room = std::exchange(*request_size, made.size());
    if (made.size() > room) {
      return Error(ErrorCode::too_large, "the request has " + std::to_string(made.size()) +
                                             " bytes, there is room for " + std::to_string(room));
    }
    std::copy(made.begin(), made.end(), request);
    return {};
  });
}

coterie_status coterie_client_take_certificate(coterie_client* client, const uint8_t* certificate,
                                               size_t certificate_size) {
  return with(client, [&]() -> Status {
    if (certificate == nullptr) return null_argument("certificate");
    if (certificate_size > COTERIE_CERTIFICATE_BYTES_MAX) {
      return Error(ErrorCode::invalid_argument, "a certificate has at most 1024 bytes");
    }
    return client->agent->take_certificate(Bytes(certificate, certificate + certificate_size));
  });
}

coterie_status coterie_client_attestation_hash(coterie_client* client, const uint8_t* nonce, uint8_t* hash) {
  return with(client, [&]() -> Status {
    if (nonce == nullptr || hash == nullptr) return null_argument("nonce and hash");
    COT_ASSIGN(const Digest digest, client->agent->attestation_hash(ByteView(nonce, COTERIE_NONCE_BYTES)));
    std::copy(digest.bytes.begin(), digest.bytes.end(), hash);
    return {};
  });
}

coterie_status coterie_client_personal_model(coterie_client* client, const char* job, const coterie_model* published,
                                             coterie_model** personal) {
  if (personal != nullptr) *personal = nullptr;
  return with(client, [&]() -> Status {
    if (job == nullptr || published == nullptr || personal == nullptr) {
      return null_argument("job, published and personal");
    }
    COT_ASSIGN(Model own, client->agent->personal_model(JobId(job), published->model));
    *personal = new coterie_model(std::move(own));
    return {};
  });
}

// Beside a step on another thread: it touches nothing of the client's but its conditions.
coterie_status coterie_client_set_conditions(coterie_client* client, const coterie_conditions* conditions) {
  if (client == nullptr || conditions == nullptr) return COTERIE_INVALID_ARGUMENT;
  const auto body = [&]() -> coterie_status {
    const Result<DeviceConditions> said = conditions_of(conditions);
    if (!said) return status_of(said.error());
    client->conditions.set(*said);
    return COTERIE_OK;
  };
  return fenced(body, [](const char*) {});
}

coterie_status coterie_client_step(coterie_client* client, coterie_progress* progress) {
  return with_status(client, [&]() -> coterie_status {
    if (progress != nullptr) {
      if (const Status whole = check_size(*progress, "progress"); !whole) return client->fail(whole.error());
    }
    coterie_progress filled{};
    const coterie_status status = client->step(filled);
    if (progress != nullptr) fill_known_part(*progress, filled);
    return status;
  });
}

coterie_status coterie_client_run(coterie_client* client, uint64_t rounds,
                                  int (*on_progress)(void* context, const coterie_progress* progress), void* context) {
  return with_status(client, [&]() -> coterie_status {
    const uint64_t done_before = client->agent->state().rounds_done;
    for (;;) {
      coterie_progress progress{};
      // Before the step: what the app says during it must not be slept through.
      const uint64_t changes = client->conditions.changes();
      if (const coterie_status status = client->step(progress); status != COTERIE_OK) return status;
      if (on_progress != nullptr && on_progress(context, &progress) != 0) return COTERIE_OK;
      if (progress.activity == COTERIE_ACTIVITY_STOPPED) return progress.step_status;
      if (rounds > 0 && progress.rounds_done - done_before >= rounds) return COTERIE_OK;
      client->wait(progress.wait_ms, progress.activity == COTERIE_ACTIVITY_HELD, changes);
    }
  });
}

void coterie_client_cancel(coterie_client* client) {
  if (client != nullptr) client->cancelled = true;
}

const char* coterie_client_last_error(const coterie_client* client) {
  return client == nullptr ? "the client is NULL: coterie_client_open failed, or it was closed"
                           : client->last_error.c_str();
}

void coterie_set_log(void (*write)(const char* line)) {
  g_write_log = write;
  set_log_sink(write == nullptr ? nullptr : &forward_log);
}

}  // extern "C"
