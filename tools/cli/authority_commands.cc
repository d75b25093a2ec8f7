#include "tools/cli/authority_commands.h"

#include "base/os/file.h"
#include "secure/identity/device_certificate.h"
#include "secure/identity/key_file.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"

namespace coterie {
namespace {

Result<std::unique_ptr<Signer>> load_authority(const std::string& file) {
  auto signer = load_signer(file);
  if (!signer && signer.error().code() == ErrorCode::not_found) {
    return Error(ErrorCode::not_found, file + " does not exist: `coterie authority new --file " + file + "` makes one");
  }
  return signer;
}

Result<Bytes> certificate_of(const CertifyCommand& command) {
  COT_ASSIGN(const std::unique_ptr<Signer> authority, load_authority(command.key_file));
  COT_ASSIGN(const Bytes key, from_hex(command.device_key));
  return make_device_certificate(command.algorithm, key, *authority);
}

}  // namespace

ExitCode new_authority(const std::string& file) {
  const auto signer = create_signer(file, KeyAlgorithm::ed25519);
  if (!signer) return fail_on_output("authority new", signer.error());
  print_text(to_hex((*signer)->public_key()) + "\n");
  return ExitCode::ok;
}

ExitCode certify_device(const CertifyCommand& command) {
  const Result<Bytes> certificate = certificate_of(command);
  if (!certificate) return fail_on_input("authority certify", certificate.error());
  print_text(to_hex(*certificate) + "\n");
  return ExitCode::ok;
}

ExitCode print_device_identity(const std::string& state_dir, KeyAlgorithm algorithm_of_new) {
  if (const Status made = os::make_directories(state_dir); !made)
    return fail_on_output("device identity", made.error());
  const auto signer = load_or_create_signer(state_dir + "/identity.key", algorithm_of_new);
  if (!signer) return fail_on_input("device identity", signer.error());
  const std::string_view algorithm = (*signer)->algorithm() == KeyAlgorithm::p256 ? "p256" : "ed25519";
  print_text(std::string(algorithm) + " " + to_hex((*signer)->public_key()) + "\n");
  return ExitCode::ok;
}

}  // namespace coterie
