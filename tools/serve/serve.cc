#include "tools/serve/serve.h"

#include "base/os/clock.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/serve/served_source.h"
#include "tools/serve/serving_keys.h"
#include "tools/serve/serving_master.h"
#include "tools/serve/serving_process.h"
#include "tools/serve/serving_worker.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "serve";
constexpr Millis kLookEvery{500};

void tell_news(const std::string& name, std::optional<uint64_t> promoted, const ServingProcess::Followed& followed) {
  if (followed.version) tell("serving " + name + " version " + std::to_string(*followed.version));
  if (followed.is_promotion_new) tell("promoted: " + (promoted ? "version " + std::to_string(*promoted) : "none"));
}

// Whatever goes wrong with a new version, those before it go on answering.
Status run(ModelSource& source, ServingProcess& process, const std::string& name) {
  std::string told;
  for (;;) {
    if (const Status waited = Interrupt::wait(kLookEvery); !waited) return waited;
    const auto followed = process.follow(source);
    if (followed) tell_news(name, source.promoted(), *followed);
    if (followed || followed.error().code() == ErrorCode::cancelled) {
      told.clear();
      continue;
    }
    if (followed.error().message() != told) print_error(kCommand, followed.error());
    told = followed.error().message();
  }
}

Status serve(const ServeOptions& options, const AdminCommand& admin) {
  ServingKeys keys;
  if (!options.is_insecure) {
    COT_ASSIGN(keys, open_serving_keys(options, os::wall_now()));
  }
  COT_ASSIGN(const auto source, open_model_source(options, admin));
  COT_ASSIGN(const auto process, ServingProcess::make(options, keys));
  const std::string name = served_name(options);
  const auto first = process->follow(*source);
  if (!first && !may_come_later(options, first.error())) return first.error();
  if (first) tell_news(name, source->promoted(), *first);
  COT_ASSIGN(const ServingProcess::Ports ports, process->open({.grpc_port = options.grpc_port}));
  tell_how_to_ask(options, keys, ports);
  const Status ended = run(*source, *process, name);
  process->stop();
  return ended;
}

Result<ExitCode> serve_in_place(const ServeOptions& options, const AdminCommand& admin) {
  Status ended;
  if (const auto place = WorkerPlace::in_environment()) {
    COT_ASSIGN(const WorkerPlace told, WorkerPlace::parse(*place));
    ended = serve_as_worker(options, told);
  } else if (options.processes > 1) {
    return serve_by_processes(options, admin);
  } else {
    ended = serve(options, admin);
  }
  if (!ended) return ended.error();
  return ExitCode::ok;
}

}  // namespace

ExitCode serve_model(const ServeOptions& options, const AdminCommand& admin) {
  const Result<ExitCode> ended = serve_in_place(options, admin);
  if (ended) return *ended;
  if (ended.error().code() == ErrorCode::cancelled && Interrupt::requested()) return ExitCode::interrupted;
  print_error(kCommand, ended.error());
  const ErrorCode code = ended.error().code();
  const bool is_bad_file = options.job.empty() && (code == ErrorCode::not_found || code == ErrorCode::data_loss);
  return is_bad_file ? ExitCode::usage : exit_code_of(code);
}

}  // namespace coterie
