#include "tools/cli/model_debug.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/os/file.h"
#include "base/text/suggest.h"
#include "tools/cli/debug_session.h"
#include "tools/cli/line_input.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/training_setup.h"
#include "tools/debug/record_folder.h"
#include "tools/debug/training_steps.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model debug";

// Asks for commands until there are no more. Where nobody types, the commands are shown behind their prompts: what is
// printed reads as a session.
ExitCode converse(StepSource& steps) {
  DebugSession session(steps, [] { return Interrupt::requested(); });
  const bool is_typed = ::isatty(STDIN_FILENO) == 1;
  LineInput input(STDIN_FILENO, kDebugLineBytesMax);
  bool has_failed = false;
  print_text(session.greeting());
  for (;;) {
    print_text(session.prompt());
    std::fflush(stdout);
    const Result<std::optional<std::string>> line = input.next();
    if (!line && line.error().code() == ErrorCode::cancelled) {
      print_text("\n");
      if (!is_typed || Interrupt::signal_number() != SIGINT) return ExitCode::interrupted;
      Interrupt::forget();
      continue;
    }
    if (!line) {
      print_error(kCommand, line.error());
      return ExitCode::failure;
    }
    if (!*line) break;
    if (!is_typed) print_text(printable(**line) + "\n");
    std::fflush(stdout);
    const DebugReply reply = session.execute(**line);
    print_text(reply.text);
    has_failed = has_failed || reply.is_error;
    if (reply.quits) return has_failed && !is_typed ? ExitCode::failure : ExitCode::ok;
    if (!Interrupt::requested()) continue;
    if (Interrupt::signal_number() != SIGINT) return ExitCode::interrupted;
    Interrupt::forget();  // it ended what ran
  }
  print_text("\n");
  return has_failed && !is_typed ? ExitCode::failure : ExitCode::ok;
}

ExitCode debug_training(const TrainCommand& command) {
  if (!os::exists(command.model)) {
    return fail_on_input(
        kCommand, Error(ErrorCode::not_found, command.model + " is not there: expected a model file, or a folder "
                                                              "that `coterie model train --record` made"));
  }
  if (command.data.empty()) {
    return fail_on_input(kCommand, Error(ErrorCode::invalid_argument, "a model file needs --data DATA to train on"));
  }
  const Result<Model> body = body_of(command);
  if (!body) return fail_on_input(kCommand, body.error());
  Result<LocalData> data = open_data(command.data, *body, nullptr, command.training.loss.ignore_label);
  if (!data) return fail_on_input(kCommand, data.error());
  const Result<Model> model = with_companions(command, *body);
  if (!model) return fail_on_input(kCommand, model.error());
  const Result<TrainOptions> options = options_for(command, *model, *data);
  if (!options) return fail_on_input(kCommand, options.error());
  const auto steps = TrainingSteps::create(*model, *options, data->examples, command.checkpoint);
  if (!steps) return fail_on_input(kCommand, steps.error());
  return converse(**steps);
}

}  // namespace

ExitCode debug_model(const TrainCommand& command, const std::vector<std::string>& given) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(command.model, ignored)) return debug_training(command);
  const auto steps = RecordedSteps::open(command.model);
  if (!steps) return fail_on_input(kCommand, steps.error());
  if (!given.empty()) {
    return fail_on_input(kCommand, Error(ErrorCode::invalid_argument,
                                         listed(given) + ": " + command.model +
                                             " is a folder of records, which has its examples and options in it: "
                                             "leave that out, or name a model file"));
  }
  return converse(**steps);
}

}  // namespace coterie
