// The grammar of the command line, by subject. Each function adds its subcommands to `app`; parsing then
// leaves in Invocation::run what is to be done.
#pragma once

#include <functional>
#include <string>

#include "tools/cli/admin_command.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/model_train.h"
#include "tools/compare/compare_runs.h"
#include "tools/demo/options.h"
#include "tools/simulate/options.h"
#include "tools/sweep/sweep.h"
#include "tools/vertical/vertical_demo.h"

namespace CLI {
class App;
}

namespace coterie {

struct Invocation {
  std::string program;  // as the user called it
  AdminCommand admin;   // the connection, shared by all commands
  DemoOptions demo;
  SimulateOptions simulate;
  SweepOptions sweep;
  CompareOptions compare;
  TrainCommand train;
  VerticalDemoOptions vertical;
  std::string data_cache;             // folder of the data cache; empty: none
  uint64_t data_cache_bytes_max = 0;  // 0: the default
  std::function<ExitCode()> run;      // set by the subcommand that was named
};

// `invocation` outlives `app` and stays where it is.
void add_demo(CLI::App& app, Invocation& invocation);
void add_simulate(CLI::App& app, Invocation& invocation);
void add_sweep(CLI::App& app, Invocation& invocation);
void add_compare(CLI::App& app, Invocation& invocation);
void add_vertical(CLI::App& app, Invocation& invocation);
void add_data(CLI::App& app, Invocation& invocation);
void add_data_cache(CLI::App& data, Invocation& invocation);  // of the group data
// For commands that load data, and for groups that have such.
void add_data_cache_options(CLI::App& app, Invocation& invocation);
void add_job(CLI::App& app, Invocation& invocation);
void add_model(CLI::App& app, Invocation& invocation);
void add_console(CLI::App& app, Invocation& invocation);
void add_serve(CLI::App& app, Invocation& invocation);
void add_onnx(CLI::App& model, Invocation& invocation);      // of the group model
void add_export(CLI::App& model, Invocation& invocation);    // likewise
void add_quantise(CLI::App& model, Invocation& invocation);  // likewise
void add_weights(CLI::App& model, Invocation& invocation);   // likewise
void add_clusters(CLI::App& model, Invocation& invocation);  // likewise
void add_narrow(CLI::App& model, Invocation& invocation);    // likewise
void add_crop(CLI::App& model, Invocation& invocation);      // likewise
void add_ab(CLI::App& model, Invocation& invocation);        // likewise
void add_explain(CLI::App& model, Invocation& invocation);   // likewise, and report
void add_training(CLI::App& model, Invocation& invocation);  // likewise
void add_debug(CLI::App& model, Invocation& invocation);     // likewise
void add_delegate(CLI::App& model, Invocation& invocation);  // likewise
// What decides a training's bits: the same for every command that trains.
void add_training_options(CLI::App* train, TrainCommand& command);
void add_compare_models(CLI::App& model, Invocation& invocation);  // of the group model
// --delegate; behind the other options of `model train`, some of which it excludes.
void add_training_delegate(CLI::App& train, TrainCommand& command);
void add_authority(CLI::App& app, Invocation& invocation);
void add_device(CLI::App& app, Invocation& invocation);
void add_privacy(CLI::App& app, Invocation& invocation);
void add_token(CLI::App& app, Invocation& invocation);
void add_admin_token(CLI::App& app, Invocation& invocation);
void add_doctor(CLI::App& app, Invocation& invocation);
void add_audit(CLI::App& app, Invocation& invocation);
void add_signing_key(CLI::App& app, Invocation& invocation);
void add_server(CLI::App& app, Invocation& invocation);
void add_node(CLI::App& app, Invocation& invocation);
void add_texts(CLI::App& app, Invocation& invocation);  // last: it describes the others

}  // namespace coterie
