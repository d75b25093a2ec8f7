#include "tools/cli/device_model.h"

#include <memory>

#include "base/os/file.h"
#include "device_sdk/agent/model_download.h"
#include "device_sdk/transport/https_client.h"
#include "secure/crypto/digest.h"
#include "secure/identity/key_file.h"
#include "tools/cli/help.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "device model";
constexpr uint64_t kCertificatesBytesMax = 1 << 20;
constexpr uint64_t kModelBytesMax = 1ull << 34;  // before a byte of it is verified

Result<ReleasedModel> fetch(const DeviceModelOptions& options) {
  HttpsClientSettings settings;
  settings.url = options.server_url;
  settings.cancelled = Interrupt::flag();
  if (!options.ca_file.empty()) {
    COT_ASSIGN(const Bytes ca, os::read_file(options.ca_file, kCertificatesBytesMax));
    settings.ca_pem = as_text(ca);
  }
  COT_ASSIGN(const std::unique_ptr<HttpsClient> client, HttpsClient::make(settings));
  const Result<std::unique_ptr<Signer>> signer = load_signer(options.state_dir + "/identity.key");
  if (!signer) {
    return signer.error().with_context("the device of " + options.state_dir +
                                       " has no identity; `coterie device run` enrolls it");
  }
  const DeviceId device = device_id_of((*signer)->public_key());
  DeviceApi api(*client, **signer);
  const Outcome<ReleasedModel> named = api.released_model(device);
  if (const auto* const failure = std::get_if<Failure>(&named)) return failure->error;
  const ReleasedModel model = std::get<ReleasedModel>(named);
  if (model.bytes > kModelBytesMax) return Error(ErrorCode::too_large, "the model is too large to be one");
  COT_ASSIGN(const Outcome<Digest> file, download_model(api, device, model.digest, model.bytes, options.file));
  if (const auto* const failure = std::get_if<Failure>(&file)) return failure->error;
  return model;
}

}  // namespace

ExitCode fetch_device_model(const DeviceModelOptions& options) {
  const Result<ReleasedModel> model = fetch(options);
  if (!model) {
    print_error(kCommand, model.error());
    return ExitCode::failure;
  }
  print_text("version " + std::to_string(model->version.value()) + " of job " + printable(model->job.value()) +
             " is in " + printable(options.file) + "\n");
  return ExitCode::ok;
}

void add_device_model(CLI::App& device, Invocation& invocation) {
  CLI::App* command = add_command(device, "model", "fetch the model that apps on this device are to use now",
                                  "  coterie device model --server URL --ca FILE --state-dir DIR -o model.cotf\n\n"
                                  "It is what was promoted last in the device's population, or for devices that a\n"
                                  "canary has chosen the canary's (`coterie model promote --canary`). Asked again,\n"
                                  "it fetches what is not there yet; a version may be an older one: so a bad one is\n"
                                  "taken back.\n");
  const auto options = std::make_shared<DeviceModelOptions>();
  command->add_option("--server", options->server_url, "what devices connect to")->required()->type_name("URL");
  command->add_option("--ca", options->ca_file, "certificates to trust (default: the system's)")->type_name("FILE");
  command->add_option("--state-dir", options->state_dir, "of the device, which has enrolled")
      ->required()
      ->type_name("DIR");
  command->add_option("-o,--file", options->file, "where it goes")->required()->type_name("FILE");
  command->callback([&, options] { invocation.run = [options] { return fetch_device_model(*options); }; });
}

}  // namespace coterie
