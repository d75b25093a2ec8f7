// authority: commands of whoever vouches for devices.
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/authority_commands.h"
#include "tools/cli/help.h"

namespace coterie {

void add_authority(CLI::App& app, Invocation& invocation) {
  CLI::App* authority = add_group(app, "authority", "vouch for devices, so that a server cannot invent them",
                                  "  coterie authority new --file authority.key\n"
                                  "  coterie authority certify --key authority.key --device-key HEX\n\n"
                                  "For whoever makes or registers the devices, and does not run the server: see "
                                  "docs/THREAT_MODEL.md.\n");
  CLI::App* make =
      add_command(*authority, "new", "make an authority's key; prints the public one, which devices are given",
                  "  coterie authority new --file authority.key\n\n"
                  "Who has the file can invent devices: keep it off the server.\n");
  const auto file = std::make_shared<std::string>();
  make->add_option("--file", *file, "where to write the private key (mode 0600)")->required()->type_name("FILE");
  make->callback([&, file] { invocation.run = [file] { return new_authority(*file); }; });

  CLI::App* certify =
      add_command(*authority, "certify", "say of a device's key that it is a device's; prints the certificate",
                  "  coterie device identity --state-dir ./device-1\n"
                  "  coterie authority certify --key authority.key --device-key HEX\n");
  const auto command = std::make_shared<CertifyCommand>();
  certify->add_option("--key", command->key_file, "the authority's private key")->required()->type_name("FILE");
  certify->add_option("--device-key", command->device_key, "the device's public key")->required()->type_name("HEX");
  certify
      ->add_option_function<std::string>(
          "--algorithm",
          [command](const std::string& name) {
            command->algorithm = name == "p256" ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519;
          },
          "of the device's key: ed25519 or p256")
      ->check(one_of({"ed25519", "p256"}))
      ->default_str("ed25519")
      ->type_name("NAME");
  certify->callback([&, command] { invocation.run = [command] { return certify_device(*command); }; });
}

}  // namespace coterie
