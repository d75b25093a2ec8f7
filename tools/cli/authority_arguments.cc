// authority: commands of whoever vouches for devices.
#include <memory>

#include "secure/identity/device_certificate.h"
#include "secure/identity/revocation_list.h"
#include "tools/cli/arguments.h"
#include "tools/cli/authority_commands.h"
#include "tools/cli/authority_requests.h"
#include "tools/cli/help.h"

namespace coterie {
namespace {

constexpr uint32_t kListDays = 7;

void add_algorithm(CLI::App& app, KeyAlgorithm& into) {
  app.add_option_function<std::string>(
         "--algorithm",
         [&into](const std::string& name) { into = name == "p256" ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519; },
         "of the device's key: ed25519 or p256")
      ->check(one_of({"ed25519", "p256"}))
      ->default_str("ed25519")
      ->type_name("NAME");
}

void add_certify(CLI::App& authority, Invocation& invocation) {
  CLI::App* certify =
      add_command(authority, "certify", "say of a device's key that it is a device's; prints the certificate",
                  "  coterie device identity --state-dir ./device-1\n"
                  "  coterie authority certify --key authority.key --device-key HEX \\\n"
                  "    --population phones --days 30\n\n"
                  "A certificate is for one key, one population and a time. Short ones need no list\n"
                  "of those that are revoked: see docs/operating/keys.md.\n");
  const auto command = std::make_shared<CertifyCommand>();
  certify->add_option("--key", command->key_file, "the authority's private key")->required()->type_name("FILE");
  certify->add_option("--device-key", command->device_key, "the device's public key")->required()->type_name("HEX");
  add_algorithm(*certify, command->algorithm);
  certify->add_option("--population", command->population, "the one that the device may take part in")
      ->required()
      ->type_name("NAME");
  certify->add_option("--days", command->days, "how long it is valid, from now on (default: 30)")
      ->check(between<uint32_t>(1, static_cast<uint32_t>(kCertificateValidityMax.count())));
  certify->add_flag("--lists", command->has_lists,
                    "the device then judges others with a current list of revoked certificates alone");
  certify->callback([&, command] { invocation.run = [command] { return certify_device(*command); }; });
}

void add_show(CLI::App& authority, Invocation& invocation) {
  CLI::App* show = add_command(authority, "show", "what a certificate says, once it is found to be good",
                               "  coterie authority show --certificate HEX --authority-key HEX --device-key HEX\n");
  const auto command = std::make_shared<ShowCertificateCommand>();
  show->add_option("--certificate", command->certificate, "of a device")->required()->type_name("HEX");
  show->add_option("--authority-key", command->authority_key, "the authority's public key")
      ->required()
      ->type_name("HEX");
  show->add_option("--device-key", command->device_key, "the device's public key")->required()->type_name("HEX");
  add_algorithm(*show, command->algorithm);
  show->callback([&, command] { invocation.run = [command] { return show_certificate(*command); }; });
}

void add_challenge(CLI::App& authority, Invocation& invocation) {
  CLI::App* challenge = add_command(authority, "challenge", "a fresh nonce for an attestation; good for 10 minutes",
                                    "  coterie authority challenge --key authority.key\n");
  const auto file = std::make_shared<std::string>();
  challenge->add_option("--key", *file, "the authority's private key")->required()->type_name("FILE");
  challenge->callback([&, file] { invocation.run = [file] { return print_authority_nonce(*file); }; });
}

void add_answer(CLI::App& authority, Invocation& invocation) {
  CLI::App* answer =
      add_command(authority, "answer", "judge a device's request for a certificate; prints the certificate",
                  "  coterie authority answer --key authority.key --request request.bin \\\n"
                  "    --list revoked.list\n"
                  "  coterie authority answer --key authority.key --request request.bin \\\n"
                  "    --android-roots google.pem --android-package org.example.app\n\n"
                  "A device whose certificate is good gets the next one. One without needs an\n"
                  "attestation of its platform: see docs/SDK.md. Exit status 1: it gets none.\n");
  const auto command = std::make_shared<AnswerCommand>();
  command->days = kCertificateDays;
  answer->add_option("--key", command->key_file, "the authority's private key")->required()->type_name("FILE");
  answer->add_option("--request", command->request_file, "what the device's SDK made")->required()->type_name("FILE");
  answer->add_option("--list", command->list_file, "of revoked certificates, which are not renewed")->type_name("FILE");
  answer->add_option("--days", command->days, "how long it is valid, from now on (default: 30)")
      ->check(between<uint32_t>(1, static_cast<uint32_t>(kCertificateValidityMax.count())));
  answer->add_flag("--lists", command->has_lists,
                   "the device then judges others with a current list of revoked certificates alone");
  answer->add_option("--android-roots", command->android_roots_file, "judge Android key attestations by these roots")
      ->type_name("FILE");
  answer
      ->add_option("--android-revoked", command->android_revoked_file,
                   "serials that Google revoked, in hex, one a line")
      ->type_name("FILE");
  answer->add_option("--android-package", command->android_packages, "the app's name; may be given again")
      ->type_name("NAME");
  answer->add_option("--android-signer", command->android_signers, "SHA-256 of the app's signing certificate, in hex")
      ->type_name("HEX");
  answer->callback([&, command] { invocation.run = [command] { return answer_request(*command); }; });
}

void add_revoke(CLI::App& authority, Invocation& invocation) {
  CLI::App* revoke =
      add_command(authority, "revoke", "write the next list of revoked certificates, for the server to hand out",
                  "  coterie authority revoke --key authority.key --list revoked.list \\\n"
                  "    --serial 1234567890\n"
                  "  coterie authority revoke --key authority.key --list revoked.list\n\n"
                  "Write one before the last one is out of date: devices that need a list end\n"
                  "their rounds without. `coterie authority show` tells a certificate's serial.\n");
  const auto command = std::make_shared<RevokeCommand>();
  command->days = kListDays;
  revoke->add_option("--key", command->key_file, "the authority's private key")->required()->type_name("FILE");
  revoke->add_option("--list", command->list_file, "the list: read if it is there, and replaced")
      ->required()
      ->type_name("FILE");
  revoke->add_option("--serial", command->serials, "of a certificate that is revoked; may be given again")
      ->type_name("N");
  revoke->add_option("--forget", command->forgotten, "a serial on the list whose certificate has ended")
      ->type_name("N");
  revoke->add_option("--days", command->days, "until the next list, at most (default: 7)")
      ->check(between<uint32_t>(1, static_cast<uint32_t>(kRevocationListValidityMax.count())));
  revoke->callback([&, command] { invocation.run = [command] { return revoke_certificates(*command); }; });
}

}  // namespace

void add_authority(CLI::App& app, Invocation& invocation) {
  CLI::App* authority = add_group(app, "authority", "vouch for devices, so that a server cannot invent them",
                                  "  coterie authority new --file authority.key\n"
                                  "  coterie authority certify --key authority.key --device-key HEX \\\n"
                                  "    --population phones\n\n"
                                  "For whoever makes or registers the devices, and does not run the server:\n"
                                  "see docs/THREAT_MODEL.md.\n");
  CLI::App* make =
      add_command(*authority, "new", "make an authority's key; prints the public one, which devices are given",
                  "  coterie authority new --file authority.key\n\n"
                  "Who has the file can invent devices: keep it off the server.\n");
  const auto file = std::make_shared<std::string>();
  make->add_option("--file", *file, "where to write the private key (mode 0600)")->required()->type_name("FILE");
  make->callback([&, file] { invocation.run = [file] { return new_authority(*file); }; });

  add_certify(*authority, invocation);
  add_show(*authority, invocation);
  add_challenge(*authority, invocation);
  add_answer(*authority, invocation);
  add_revoke(*authority, invocation);
}

}  // namespace coterie
