#include "tools/vertical/coordinator.h"

#include <cstdio>
#include <memory>

#include "base/os/file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/table.h"
#include "tools/vertical/coordinator_config.h"
#include "tools/vertical/job_folder.h"
#include "tools/vertical/manifest.h"

namespace coterie {
namespace {

Result<vertical::JobTerms> terms_of(std::string_view text) {
  COT_ASSIGN(const VerticalManifest manifest, parse_manifest(text));
  const std::span<const std::string_view> leakage = leakage_of(manifest);
  return vertical::JobTerms{.job = manifest.job,
                            .manifest = manifest_digest(text),
                            .parties = manifest.parties,
                            .kind = std::string(manifest_kind(manifest)),
                            .leakage = {leakage.begin(), leakage.end()}};
}

Status run(const CoordinatorConfig& config) {
  JobFolder jobs(config.jobs);
  COT_ASSIGN(std::vector<vertical::JobRecord> records, jobs.read_all());
  const size_t known = records.size();
  COT_ASSIGN(const std::unique_ptr<vertical::CoordinatorServer> server,
             vertical::CoordinatorServer::open(
                 config.listen, config.tls, config.limits,
                 vertical::CoordinatorMachine(config.limits, terms_of, std::move(records), config.operators), jobs));
  const std::string port = std::to_string(server->port());
  if (!config.port_file.empty()) {
    COT_TRY(os::write_file_atomically(config.port_file, as_bytes(port + "\n"), os::Durability::process));
  }
  std::printf("listening on %s:%s, %s known\n", config.listen.host.c_str(), port.c_str(),
              counted(known, "job").c_str());
  std::fflush(stdout);
  COT_TRY(server->run(*Interrupt::flag()));
  return interrupted_error();
}

}  // namespace

ExitCode run_coordinator_command(const std::string& config_file) {
  const Result<CoordinatorConfig> config = read_coordinator_config(config_file);
  const Status status = config ? run(*config) : Status(config.error());
  const Error& error = status.error();
  if (error.code() == ErrorCode::cancelled) return ExitCode::interrupted;
  std::fprintf(stderr, "coterie vertical coordinator: %s\n", printable(error.message()).c_str());
  return config ? exit_code_of(error.code()) : ExitCode::usage;
}

}  // namespace coterie
