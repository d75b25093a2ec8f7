#include "tools/device/device_agent.h"

#include <csignal>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/log.h"
#include "coterie.h"
#include "device_sdk/runtime/dataset_source.h"
#include "tools/cli/interrupt.h"
#include "tools/data/load.h"
#include "tools/device/certificate_renewal.h"
#include "tools/device/conditions_file.h"
#include "tools/device/log_line.h"

namespace coterie {
namespace {

std::atomic<coterie_client*> g_client{nullptr};

void cancel_client() { coterie_client_cancel(g_client.load()); }

void say(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  write_line(to_json_line(level, event, std::span(fields.begin(), fields.size())));
}

uint64_t dataset_size(void* context) { return static_cast<DatasetSource*>(context)->size(); }

int dataset_read(void* context, uint64_t index, const coterie_example* example) {
  std::vector<Example::Place> inputs;
  for (size_t i = 0; i < example->input_count; ++i) {
    inputs.emplace_back(example->inputs[i].floats, example->inputs[i].count);
  }
  const Example place(inputs, {example->target.floats, example->target.count});
  const Status read = static_cast<DatasetSource*>(context)->read(index, place);
  if (read) return 0;
  say(LogLevel::error, "example_not_read", {{"example", index}, {"error", read.error().message()}});
  return 1;
}

int on_progress(void* context, const coterie_progress* progress) {
  static_cast<CertificateRenewal*>(context)->look(g_client.load());
  if (progress->activity == COTERIE_ACTIVITY_WAITING) return 0;
  const std::string_view event = coterie_activity_name(progress->activity);
  if (progress->activity == COTERIE_ACTIVITY_HELD) {
    say(LogLevel::info, event,
        {{"reason", coterie_hold_name(progress->hold)}, {"text", coterie_client_last_error(g_client.load())}});
  } else if (progress->step_status != COTERIE_OK) {
    say(LogLevel::warning, event,
        {{"status", coterie_status_name(progress->step_status)},
         {"error", coterie_client_last_error(g_client.load())}});
  } else if (progress->activity == COTERIE_ACTIVITY_TRAINED) {
    say(LogLevel::info, event,
        {{"steps", progress->training_steps},
         {"examples", progress->training_examples},
         {"loss", progress->training_loss}});
    if (progress->stopped_early != 0) {
      say(LogLevel::info, "stopped_early",
          {{"held_out", progress->validation_examples}, {"loss", progress->validation_loss}});
    }
  } else {
    say(LogLevel::info, event, {{"rounds_done", progress->rounds_done}});
  }
  return 0;
}

void on_refused(void*, const coterie_refusal* refusal) {
  say(LogLevel::warning, "plan_refused",
      {{"reason", refusal->reason},
       {"job", refusal->job},
       {"round", refusal->round},
       {"level", coterie_security_level_name(refusal->security_level)},
       {"epsilon_round", refusal->epsilon_round},
       {"epsilon_spent", refusal->epsilon_spent},
       {"delta_spent", refusal->delta_spent},
       {"text", refusal->text}});
}

const uint8_t* bytes_or_null(const Bytes& bytes) { return bytes.empty() ? nullptr : bytes.data(); }

coterie_policy policy_of(const DeviceOptions& options) {
  coterie_policy policy{};
  policy.struct_size = sizeof policy;
  policy.security_level_min = static_cast<uint32_t>(options.security_level_min.value_or(SecurityLevel::none));
  policy.accepts_none = options.security_level_min == SecurityLevel::none;
  policy.cohort_min = options.cohort_min;
  policy.epsilon_round_max = options.epsilon_round_max;
  policy.epsilon_total_max = options.epsilon_total_max;
  policy.delta_max = options.delta_max;
  policy.separation_min = options.separation_min;
  policy.corrupt_share_min = options.corrupt_share_min;
  policy.attempts_max = options.attempts_max;
  policy.openings_max = options.openings_max;
  policy.accepts_analytics = options.accepts_analytics ? 1 : 0;
  return policy;
}

coterie_requirements requirements_of(const DeviceOptions& options) {
  coterie_requirements requirements{};
  requirements.struct_size = sizeof requirements;
  requirements.idle = options.required.idle;
  requirements.charging = options.required.charging;
  requirements.unmetered = options.required.unmetered;
  requirements.foreground = options.required.foreground;
  requirements.background = options.required.background;
  requirements.battery_percent_min = options.required.battery_percent_min;
  requirements.thermal_max = static_cast<uint32_t>(options.required.thermal_max);
  requirements.free_memory_bytes_min = options.required.free_memory_bytes_min;
  requirements.cpu_seconds_per_day = options.cpu_seconds_per_day;
  requirements.upload_bytes_per_day = options.upload_bytes_per_day;
  requirements.download_bytes_per_day = options.download_bytes_per_day;
  requirements.joules_per_day = options.joules_per_day;
  requirements.watts = options.watts;
  requirements.width_max = options.width_max;
  requirements.training_bytes_max = options.training_bytes_max;
  return requirements;
}

ExitCode exit_code_of_status(coterie_status status) {
  if (status == COTERIE_OK) return ExitCode::ok;
  if (status == COTERIE_CANCELLED) return Interrupt::signal_number() == SIGTERM ? ExitCode::ok : ExitCode::interrupted;
  return exit_code_of(error_code_from_name(coterie_status_name(status)));
}

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

// Opens a client over `data`; nothing after the reason was said.
coterie_client* open_client(const DeviceOptions& options, DatasetSource& data, coterie_status& status) {
  coterie_dataset dataset{};
  dataset.struct_size = sizeof dataset;
  dataset.context = &data;
  dataset.size = &dataset_size;
  dataset.read_example = &dataset_read;
  coterie_options client_options{};
  client_options.struct_size = sizeof client_options;
  client_options.server_url = options.server_url.c_str();
  client_options.ca_file = text_or_null(options.ca_file);
  client_options.state_dir = options.state_dir.c_str();
  client_options.enrollment_token = text_or_null(options.token);
  client_options.use_p256 = options.use_p256 ? 1 : 0;
  client_options.seed = options.seed;
  client_options.group = options.group;
  const coterie_policy policy = policy_of(options);
  client_options.policy = &policy;
  const coterie_requirements requirements = requirements_of(options);
  client_options.requirements = &requirements;
  client_options.on_refused = &on_refused;
  client_options.authority_key = bytes_or_null(options.authority_key);
  client_options.certificate = bytes_or_null(options.certificate);
  client_options.certificate_size = options.certificate.size();
  coterie_client* client = nullptr;
  char error[512] = "";
  status = coterie_client_open(&client_options, &dataset, &client, error, sizeof error);
  if (client == nullptr) {
    say(LogLevel::error, "device_not_opened", {{"status", coterie_status_name(status)}, {"error", error}});
  }
  return client;
}

}  // namespace

ExitCode run_device(const DeviceOptions& options) {
  coterie_set_log(+[](const char* line) { write_line(line); });
  std::vector<std::string> notes;
  Result<DatasetSource> data = open_examples(options.data, notes);
  if (!data) {
    say(LogLevel::error, "data_not_read", {{"status", data.error().name()}, {"error", data.error().message()}});
    return ExitCode::usage;
  }
  for (const std::string& note : notes) say(LogLevel::warning, "data_note", {{"text", note}});
  coterie_status status = COTERIE_OK;
  coterie_client* client = open_client(options, *data, status);
  if (client == nullptr) return exit_code_of_status(status);
  say(LogLevel::info, "device_started", {{"examples", data->size()}, {"sdk", coterie_version()}});
  g_client = client;
  Interrupt::set_handler(&cancel_client);
  if (Interrupt::requested()) coterie_client_cancel(client);  // it came before there was a client to cancel
  CertificateRenewal renewal(options.certify_command, options.state_dir);
  {
    const ConditionsWatch watch(options.conditions_file, client);
    status = coterie_client_run(client, options.rounds, &on_progress, &renewal);
  }
  const bool is_fine = status == COTERIE_OK || status == COTERIE_CANCELLED;
  say(is_fine ? LogLevel::info : LogLevel::error, "device_ended",
      {{"status", coterie_status_name(status)}, {"error", is_fine ? "" : coterie_client_last_error(client)}});
  Interrupt::set_handler(nullptr);
  g_client = nullptr;
  coterie_client_close(&client);
  return exit_code_of_status(status);
}

}  // namespace coterie
