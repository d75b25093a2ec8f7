#include "tools/cli/authority_commands.h"

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/json/rfc3339.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/random.h"
#include "secure/crypto/signature.h"
#include "secure/identity/device_certificate.h"
#include "secure/identity/key_file.h"
#include "secure/identity/signed_seconds.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

Result<Bytes> certificate_of(const CertifyCommand& command) {
  COT_ASSIGN(const std::unique_ptr<Signer> authority, load_authority(command.key_file));
  COT_ASSIGN(const Bytes key, from_hex(command.device_key));
  const WallTime now = time_of_seconds(signed_seconds(os::wall_now()));
  const CertificateStatement statement{.issuer = {},
                                       .serial = fresh_serial(),
                                       .population = Population(command.population),
                                       .not_before = now,
                                       .not_after = now + std::chrono::days(command.days),
                                       .has_lists = command.has_lists};
  return make_device_certificate(statement, command.algorithm, key, *authority);
}

Result<std::string> words_of(const ShowCertificateCommand& command) {
  COT_ASSIGN(const Bytes certificate, from_hex(command.certificate));
  COT_ASSIGN(const Bytes device_key, from_hex(command.device_key));
  COT_ASSIGN(const Bytes authority_key, from_hex(command.authority_key));
  COT_ASSIGN(const CertificateStatement statement,
             read_device_certificate({command.algorithm, device_key, certificate}, authority_key));
  return "serial      " + std::to_string(statement.serial) + "\npopulation  " +
         printable(statement.population.value()) + "\nbegins      " + rfc3339(statement.not_before) + "\nends        " +
         rfc3339(statement.not_after) + "\nlists       " + (statement.has_lists ? "yes" : "no") + "\n";
}

}  // namespace

Result<std::unique_ptr<Signer>> load_authority(const std::string& file) {
  auto signer = load_signer(file);
  if (!signer && signer.error().code() == ErrorCode::not_found) {
    return Error(ErrorCode::not_found, file + " does not exist: `coterie authority new --file " + file + "` makes one");
  }
  return signer;
}

uint64_t fresh_serial() {
  uint64_t serial = 0;
  while (serial == 0) serial = random_u64();
  return serial;
}

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

ExitCode show_certificate(const ShowCertificateCommand& command) {
  const Result<std::string> words = words_of(command);
  if (!words) return fail_on_input("authority show", words.error());
  print_text(*words);
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
