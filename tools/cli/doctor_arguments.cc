// coterie doctor: its grammar.
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/doctor/doctor.h"

namespace coterie {

void add_doctor(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* doctor =
      add_server_command(app, "doctor", "looks a server's set-up over and says what to do; changes nothing",
                         "  coterie doctor --config /etc/coterie/server.json   before it starts\n"
                         "  coterie --data-dir ./data doctor                   of one that runs\n"
                         "  coterie --admin-url https://fl.example:8444 --ca ca.pem \\\n"
                         "      --token-file admin-token doctor                elsewhere\n\n"
                         "Looks at the configuration, limits, disk, files that others may read,\n"
                         "certificates and their ends, clocks, ports, database and schema; asks a server\n"
                         "that runs as a device and as an operator would. Exits with 1 if anything is bad,\n"
                         "with 3 if the configuration is.\n");
  const auto options = std::make_shared<DoctorOptions>();
  doctor->add_option("--config", options->config_file, "fl_server's configuration file")->type_name("FILE");
  add_output_option(*doctor, admin);
  doctor->callback(
      [&, options] { invocation.run = [&admin, options] { return run_doctor(*options, admin, COTERIE_VERSION); }; });
}

}  // namespace coterie
