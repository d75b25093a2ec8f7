// model and device: commands of which some talk to a server and some work on this machine.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <memory>

#include "proto/codec/limits.h"
#include "proto/messages/group_weights.h"
#include "secure/identity/device_certificate.h"
#include "tools/attack/lying_device.h"
#include "tools/cli/arguments.h"
#include "tools/cli/authority_commands.h"
#include "tools/cli/byte_count.h"
#include "tools/cli/canary_arguments.h"
#include "tools/cli/device_commands.h"
#include "tools/cli/device_model.h"
#include "tools/cli/device_why.h"
#include "tools/cli/help.h"
#include "tools/cli/model_commands.h"
#include "tools/cli/model_steps.h"
#include "tools/cli/optimise_arguments.h"
#include "tools/cli/personal_model.h"
#include "tools/data/load.h"
#include "tools/device/device_agent.h"

namespace coterie {
namespace {

std::shared_ptr<std::string> add_file_argument(CLI::App* command, const char* help) {
  const auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, help)->required();
  return file;
}

void add_server_models(CLI::App& model, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* list = add_server_command(model, "list", "a job's models, one a round", "  coterie model list jk2x9q4c\n");
  const auto job = std::make_shared<std::string>();
  list->add_option("JOB", *job, "id of the job (`coterie job list`)")->required();
  add_output_option(*list, admin);
  list->callback([&, job] { invocation.run = [&admin, job] { return list_models(admin, *job); }; });

  CLI::App* download = add_server_command(model, "download", "fetch a job's model",
                                          "  coterie model download jk2x9q4c -o model.cotf\n"
                                          "  coterie model download jk2x9q4c 3 -o after-round-3.cotf\n");
  const auto from = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  const auto version = std::make_shared<std::optional<uint64_t>>();
  download->add_option("JOB", *from, "id of the job (`coterie job list`)")->required();
  download->add_option("VERSION", *version, "0 is the initial model (default: the newest)");
  download->add_option("-o,--file", *to, "where to write it")->required()->type_name("FILE");
  download->callback([&, from, to, version] {
    invocation.run = [&admin, from, to, version] { return download_model(admin, *from, *version, *to); };
  });

  const auto released = std::make_shared<std::string>();
  const auto chosen = std::make_shared<uint64_t>(0);
  CLI::App* rollback = add_server_command(model, "rollback", "back to the version that was promoted before",
                                          "  coterie model rollback jk2x9q4c\n");
  rollback->add_option("JOB", *released, "id of the job (`coterie job list`)")->required();
  add_output_option(*rollback, admin);
  rollback->callback(
      [&, released] { invocation.run = [&admin, released] { return release_model(admin, *released, {}); }; });

  CLI::App* remove =
      add_server_command(model, "delete", "remove a version that nothing needs", "  coterie model delete jk2x9q4c 3\n");
  remove->add_option("JOB", *released, "id of the job (`coterie job list`)")->required();
  remove->add_option("VERSION", *chosen, "as `coterie model list` shows it")->required();
  remove->callback([&, released, chosen] {
    invocation.run = [&admin, released, chosen] { return delete_model(admin, *released, *chosen); };
  });

  CLI::App* upload = add_server_command(model, "upload", "store a model file on the server; prints its digest",
                                        "  coterie model upload model.cotf\n");
  const auto file = add_file_argument(upload, "model file");
  add_output_option(*upload, admin);
  upload->callback([&, file] { invocation.run = [&admin, file] { return upload_model(admin, *file); }; });
}

void add_local_models(CLI::App& model, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* make = add_command(model, "new", "make a fresh model file",
                               "  coterie model new cnn -o model.cotf\n"
                               "  coterie model new lenet5 --input 28x28x1 --classes 10 --seed 7 -o model.cotf\n");
  const auto options = std::make_shared<NewModel>();
  make->add_option("KIND", options->kind, "mlp, cnn or lenet5")->required();
  make->add_option("-o,--file", options->file, "where to write it")->required()->type_name("FILE");
  make->add_option("--input", options->input, "height x width x channels of an example")
      ->capture_default_str()
      ->type_name("SHAPE");
  make->add_option("--classes", options->classes, "how many labels there are")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1'000'000));
  make->add_option("--seed", options->seed, "of the initial weights")
      ->capture_default_str()
      ->check(between<uint64_t>(0, UINT64_MAX));
  make->callback([&, options] { invocation.run = [options] { return new_model(*options); }; });

  CLI::App* head = add_command(model, "new-head", "give a trained model another last layer",
                               "  coterie model new-head net.cotf --replace-head classifier.1:5 -o mine.cotf\n");
  const auto headed = std::make_shared<NewHead>();
  head->add_option("FILE", headed->from, "model file")->required()->type_name("");
  head->add_option_function<std::string>(
          "--replace-head", [headed](const std::string& text) { headed->head = parse_head(text).value(); },
          "the last layer by its name, how many outputs it gets, and a seed for its weights")
      ->required()
      ->type_name("LAYER:CLASSES[:SEED]")
      ->check(checked_by(&parse_head));
  head->add_option("-o,--file", headed->to, "where to write it")->required()->type_name("FILE");
  head->callback([&, headed] { invocation.run = [headed] { return new_head(*headed); }; });

  CLI::App* inspect = add_command(model, "inspect", "layers, shapes and sizes of a model file",
                                  "  coterie model inspect model.cotf\n"
                                  "  coterie model inspect model.cotf --steps --batch 32\n");
  inspect->alias("show");
  const auto steps = std::make_shared<StepsOptions>();
  inspect->add_option("FILE", steps->file, "model file")->required();
  const auto lists_steps = std::make_shared<bool>(false);
  CLI::Option* flag =
      inspect->add_flag("--steps", *lists_steps,
                        "instead, what a batch of training runs: what each step reads and, behind ->, what it makes");
  inspect->add_option("--batch", steps->batch_size, "examples of that batch")
      ->capture_default_str()
      ->needs(flag)
      ->check(between<uint32_t>(1, 65536));
  add_output_option(*inspect, admin);
  inspect->callback([&, steps, lists_steps] {
    invocation.run = [&admin, steps, lists_steps] {
      steps->as_json = admin.wants_json();
      return *lists_steps ? show_steps(*steps) : inspect_model(steps->file, steps->as_json);
    };
  });
}

// So many bytes, in hexadecimal.
void add_hex(CLI::App& app, const std::string& name, Bytes& into, size_t bytes_min, size_t bytes_max,
             const std::string& what) {
  const auto parse = [=](const std::string& text) -> Result<Bytes> {
    Result<Bytes> parsed = from_hex(text);
    if (parsed && parsed->size() >= bytes_min && parsed->size() <= bytes_max) return parsed;
    const std::string most = bytes_min == bytes_max ? "" : " to " + std::to_string(2 * bytes_max);
    return Error(ErrorCode::invalid_argument,
                 "must be " + std::to_string(2 * bytes_min) + most + " hexadecimal digits");
  };
  app.add_option_function<std::string>(
         name, [&into, parse](const std::string& text) { into = *parse(text); }, what)
      ->check(checked_by(parse))
      ->type_name("HEX");
}

// What this device asks of rounds: coterie_policy.
void add_policy(CLI::App& run, const std::shared_ptr<DeviceOptions>& options) {
  run.add_option_function<std::string>(
         "--security-level-min",
         [options](const std::string& name) { options->security_level_min = *security_level_from(name); },
         "refuse plans of a lower level: none, masked, active or active_dp (default: active, and never down)")
      ->check(one_of({"none", "masked", "active", "active_dp"}))
      ->type_name("LEVEL");
  run.add_option("--cohort-min", options->cohort_min, "refuse plans whose sums may be of fewer devices (default: 20)")
      ->check(between<uint32_t>(2, 10'000));
  run.add_option("--epsilon-round-max", options->epsilon_round_max,
                 "refuse plans of which a round costs more (default: 8, of plans with noise; inf: no limit)")
      ->check(between<double>(0, HUGE_VAL));
  run.add_option("--epsilon-total-max", options->epsilon_total_max,
                 "what all rounds together may cost (default: 32, of plans with noise; inf: no limit)")
      ->check(between<double>(0, HUGE_VAL));
  run.add_option("--delta-max", options->delta_max, "sum of delta over all rounds (default: 1e-5, of plans with noise)")
      ->check(between<double>(0, std::nextafter(1.0, 0.0)));
  run.add_option("--separation-min", options->separation_min,
                 "rounds of a job from one part in it to the next (default: 1)")
      ->check(between<uint64_t>(0, UINT64_MAX));
  run.add_option(
         "--corrupt-share-min", options->corrupt_share_min,
         "refuse plans of level active or above that withstand a smaller share of corrupt devices (default: 0.1)")
      ->check(between<double>(0.1, 1.0 / 3));
  run.add_option("--attempts-max", options->attempts_max,
                 "attempts of one round, where a cohort may have more than 255 devices (default: 3)")
      ->check(between<uint32_t>(1, UINT32_MAX));
  run.add_option("--openings-max", options->openings_max,
                 "sums with this device's update of one model, over all jobs, that it helps to open (default: 1)")
      ->check(between<uint32_t>(1, UINT32_MAX));
  run.add_flag("--accept-analytics", options->accepts_analytics,
               "count examples, or what models say of them, for jobs that train nothing (default: refuse them)");
}

// "charging,unmetered": which of the requirements that are so or not so are asked for.
Result<DeviceRequirements> parse_required(std::string_view text) {
  DeviceRequirements required;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (name == "idle") required.idle = true;
    else if (name == "charging") required.charging = true;
    else if (name == "unmetered") required.unmetered = true;
    else if (name == "foreground") required.foreground = true;
    else if (name == "background") required.background = true;
    else return Error(ErrorCode::invalid_argument, "must be some of idle, charging, unmetered, foreground, background");
  }
  COT_TRY(validate(required));
  return required;
}

void add_bytes(CLI::App& run, const std::string& name, uint64_t& into, const std::string& what) {
  run.add_option_function<std::string>(
         name, [&into](const std::string& text) { into = *parse_byte_count(text); }, what)
      ->check(checked_by(&parse_byte_count))
      ->type_name("BYTES");
}

// What this device must be like, and may spend in a day: coterie_requirements.
void add_requirements(CLI::App& run, const std::shared_ptr<DeviceOptions>& options) {
  run.add_option_function<std::string>(
         "--require",
         [options](const std::string& text) {
           const DeviceRequirements named = *parse_required(text);
           options->required.idle = named.idle;
           options->required.charging = named.charging;
           options->required.unmetered = named.unmetered;
           options->required.foreground = named.foreground;
           options->required.background = named.background;
         },
         "do nothing unless the device is all of these: idle, charging, unmetered, foreground or background")
      ->check(checked_by(&parse_required))
      ->type_name("LIST");
  run.add_option_function<uint32_t>(
         "--battery-percent-min",
         [options](uint32_t percent) { options->required.battery_percent_min = static_cast<uint8_t>(percent); },
         "nor with less in its battery")
      ->check(between<uint32_t>(0, 100));
  run.add_option_function<std::string>(
         "--thermal-max",
         [options](const std::string& name) {
           const auto found = std::find(kThermalStateNames.begin(), kThermalStateNames.end(), name);
           options->required.thermal_max = static_cast<ThermalState>(found - kThermalStateNames.begin());
         },
         "nor while it is hotter: nominal, fair, serious or critical")
      ->check(one_of({"nominal", "fair", "serious", "critical"}))
      ->type_name("STATE");
  add_bytes(run, "--free-memory-min", options->required.free_memory_bytes_min, "nor with less memory that is free");
  run.add_option("--conditions", options->conditions_file,
                 "a file that says what the device is like, in lines as charging=yes, battery_percent=80; looked at "
                 "once a second (default: nothing is known)")
      ->type_name("FILE");
  run.add_option("--cpu-seconds-per-day", options->cpu_seconds_per_day, "CPU time of a day of UTC (default: any)")
      ->check(between<double>(0, 86'400'000));
  add_bytes(run, "--upload-bytes-per-day", options->upload_bytes_per_day, "what it sends in a day (default: any)");
  add_bytes(run, "--download-bytes-per-day", options->download_bytes_per_day, "what it gets in a day (default: any)");
  run.add_option("--joules-per-day", options->joules_per_day,
                 "energy of a day, counted as CPU seconds times --watts (default: any)")
      ->check(between<double>(0, 1e6));
  run.add_option("--watts", options->watts, "what the device takes while it computes; needed with --joules-per-day")
      ->check(between<double>(0, 1000));
  run.add_option("--width-max", options->width_max,
                 "of jobs with widths, train no larger share of the model's channels (default: 1)")
      ->check(between(1e-6, 1.0));
  add_bytes(run, "--training-memory-max", options->training_bytes_max,
            "nor a width whose training takes more memory than this (default: any)");
}

void add_run(CLI::App& device, Invocation& invocation) {
  CLI::App* run = add_command(device, "run", "be a device: enroll, check in, train, until told to end",
                              "  coterie device run --server https://127.0.0.1:8443 --ca data/tls/ca.pem \\\n"
                              "      --token T --state-dir ./device-1 --data adult/device-01.cotf\n"
                              "  coterie device run ... --data 'csv:my.csv?contract=adult/contract.json'\n\n"
                              "It is the SDK in a process of its own. What it does, it says as JSON lines\n"
                              "on standard error; its examples never leave it. Ended and started again\n"
                              "on its state directory, it goes on where it was.");
  const auto options = std::make_shared<DeviceOptions>();
  run->add_option("--server", options->server_url, "what devices connect to")->required()->type_name("URL");
  run->add_option("--ca", options->ca_file, "certificates to trust (default: the system's)")->type_name("FILE");
  run->add_option("--token", options->token, "enrollment token; needed the first time")
      ->envname("COTERIE_ENROLLMENT_TOKEN");
  run->add_option("--state-dir", options->state_dir, "its identity and what it is in the middle of")
      ->required()
      ->type_name("DIR");
  run->add_option("--data", options->data,
                  std::string("its examples: a shard of `coterie data make`, or ") + kDataNames +
                      "; with contract=FILE it reads its own table or images as the others read theirs")
      ->required()
      ->type_name("DATA");
  run->add_option("--rounds", options->rounds, "end after so many rounds (default: go on)")
      ->check(between<uint64_t>(0, UINT64_MAX));
  run->add_option("--seed", options->seed,
                  "of shuffling and jitter, for tests: the same for each training of a model (default: random)")
      ->check(between<uint64_t>(0, UINT64_MAX));
  run->add_option("--group", options->group,
                  "that this device is in, from 1 on, for jobs that serve the worst served group best (strategy afl); "
                  "without it the device takes no part in them")
      ->check(between<uint32_t>(1, kGroupsMax));
  run->add_flag("--p256", options->use_p256,
                "a new identity uses ECDSA P-256, as secure elements do, instead of Ed25519");
  add_hex(*run, "--authority-key", options->authority_key, kAuthorityKeyBytes, kAuthorityKeyBytes,
          "an authority that other devices must be certified by (`coterie authority new`)");
  add_hex(*run, "--certificate", options->certificate, kEndlessCertificateBytes, limits::kCertificateBytesMax,
          "of that authority for this device (`coterie authority certify`)");
  run->add_option("--certify", options->certify_command,
                  "when a certificate is due, run this with the request's file; it prints the next one in hex")
      ->type_name("COMMAND");
  add_policy(*run, options);
  add_requirements(*run, options);
  const auto lie = std::make_shared<Lie>();
  run->add_option_function<std::string>(
         "--lie", [lie](const std::string& text) { *lie = parse_lie(text).value(); },
         "a drill with devices of your own: send lies, as `coterie demo --attack` has its devices do")
      ->check(checked_by([](const std::string& text) { return parse_lie(text); }))
      ->type_name("KIND:UPDATES");
  run->callback([&, options, lie] {
    invocation.run = [options, lie] {
      return lie->kind == AttackKind::none ? run_device(*options) : run_lying_device(*options, *lie);
    };
  });
}

void add_identity(CLI::App& device, Invocation& invocation) {
  CLI::App* identity =
      add_command(device, "identity", "the public key of a device on this machine, for an authority to certify",
                  "  coterie device identity --state-dir ./device-1\n");
  const auto state_dir = std::make_shared<std::string>();
  const auto use_p256 = std::make_shared<bool>(false);
  identity->add_option("--state-dir", *state_dir, "of the device; made if there is none")->required()->type_name("DIR");
  identity->add_flag("--p256", *use_p256, "a new identity uses ECDSA P-256 instead of Ed25519");
  identity->callback([&, state_dir, use_p256] {
    invocation.run = [state_dir, use_p256] {
      return print_device_identity(*state_dir, *use_p256 ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519);
    };
  });
}

void add_personal_model(CLI::App& device, Invocation& invocation) {
  CLI::App* personal =
      add_command(device, "personal-model", "a version of a job's model as a device on this machine has it",
                  "  coterie device personal-model --state-dir ./device-1 --job jk2x9q4c \\\n"
                  "      --model published.cotf -o mine.cotf\n\n"
                  "With training.personal: what the device keeps to itself takes its\n"
                  "place in the model. The device must not run meanwhile; no server is asked.");
  const auto options = std::make_shared<PersonalModelOptions>();
  personal->add_option("--state-dir", options->state_dir, "of the device")->required()->type_name("DIR");
  personal->add_option("--job", options->job, "id of the job")->required()->type_name("JOB");
  personal->add_option("--model", options->model, "any version of its model")->required()->type_name("FILE");
  personal->add_option("-o,--file", options->output, "where to write it")->required()->type_name("FILE");
  personal->callback([&, options] { invocation.run = [options] { return write_personal_model(*options); }; });
}

}  // namespace

void add_model(CLI::App& app, Invocation& invocation) {
  CLI::App* model = add_group(app, "model", "make, train, fetch, look into and judge models",
                              "  coterie model new cnn --input 8x8x1 --classes 10 -o model.cotf\n"
                              "  coterie model train model.cotf --data digits -o trained.cotf\n"
                              "  coterie model download jk2x9q4c -o model.cotf\n");
  add_data_cache_options(*model, invocation);
  add_local_models(*model, invocation);
  add_training(*model, invocation);
  add_explain(*model, invocation);
  add_delegate(*model, invocation);
  add_ab(*model, invocation);
  add_canaries(*model, invocation);
  add_onnx(*model, invocation);
  add_export(*model, invocation);
  add_weights(*model, invocation);
  add_clusters(*model, invocation);
  add_narrow(*model, invocation);
  add_optimise(*model, invocation);
  add_crop(*model, invocation);
  add_quantise(*model, invocation);
  add_server_models(*model, invocation);
}

void add_device(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* device = add_group(app, "device", "be a device, see and revoke devices",
                               "  coterie device list\n"
                               "  coterie device run --server URL --ca FILE --token T --state-dir DIR \\\n"
                               "      --data FILE\n");
  add_run(*device, invocation);
  add_identity(*device, invocation);
  add_personal_model(*device, invocation);
  add_device_model(*device, invocation);
  add_device_why(*device, invocation);

  CLI::App* list = add_server_command(*device, "list", "devices the server knows",
                                      "  coterie device list\n  coterie device list -o json --limit 1000\n");
  const auto options = std::make_shared<DeviceListOptions>();
  list->add_option("--limit", options->limit, "at most so many")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1000));
  list->add_option("--after", options->after, "begin behind this device")->type_name("DEVICE");
  list->add_option("--population", options->population, "only of this population");
  list->add_flag("--revoked", options->revoked, "only those that are revoked");
  add_output_option(*list, admin);
  list->callback([&, options] { invocation.run = [&admin, options] { return list_devices(admin, *options); }; });

  CLI::App* revoke = add_server_command(*device, "revoke", "refuse a device from now on",
                                        "  coterie device revoke 0eb753d8934b7594b4223cf2813ed1dd\n");
  const auto id = std::make_shared<std::string>();
  revoke->add_option("DEVICE", *id, "id of the device (`coterie device list`)")->required();
  add_output_option(*revoke, admin);
  revoke->callback([&, id] { invocation.run = [&admin, id] { return revoke_device(admin, *id); }; });
}

}  // namespace coterie
