#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/demo/demo.h"

namespace coterie {
namespace {

constexpr const char* kHelp =
    "Trains a model by a real fl_server and real device processes on this machine.\n\n"
    "Examples:\n"
    "  coterie demo                                        20 devices, UCI digits, a small CNN\n"
    "  coterie demo --data mnist:DIR --model lenet5 --devices 30 --split iid --strategy fedadam\n";

// Turns a parser of ours into a CLI11 check that reports the parser's own sentence.
template <typename Parse>
CLI::Validator checked_by(Parse parse, const std::string& shape) {
  return CLI::Validator(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed ? std::string() : parsed.error().message();
      },
      shape);
}

}  // namespace

void add_demo(CLI::App& app, Invocation& invocation) {
  CLI::App* demo = app.add_subcommand("demo", "train a model with a server and devices of your own, now");
  demo->description(kHelp);
  const auto options = std::make_shared<DemoOptions>();
  const auto split = std::make_shared<std::string>(to_string(options->split));
  const auto model = std::make_shared<std::string>(to_string(options->model));
  const auto strategy = std::make_shared<std::string>(to_string(options->strategy));
  const auto server_rate = std::make_shared<double>(0.0);

  demo->add_option("--data", options->data, "digits, mnist:DIR (IDX files) or cifar10:DIR (binary batches)")->capture_default_str();
  demo->add_option("--model", *model, "mlp, cnn or lenet5")->capture_default_str()->check(CLI::IsMember({"mlp", "cnn", "lenet5"}));
  demo->add_option("--devices", options->devices, "device processes")->capture_default_str()->check(CLI::Range(1, 2000));
  demo->add_option("--rounds", options->rounds, "rounds to train")->capture_default_str()->check(CLI::Range(1, 100'000));
  demo->add_option("--split", *split, "iid, or dirichlet:ALPHA: the smaller, the more devices differ")->capture_default_str()->check(checked_by([](const std::string& text) { return parse_split(text); }, ""));
  demo->add_option("--fraction", options->fraction, "part of the devices that trains in a round")->capture_default_str()->check(CLI::Range(1e-6, 1.0));
  demo->add_option("--lr", options->learning_rate, "learning rate of the devices")->capture_default_str()->check(CLI::Range(1e-9, 1e6));
  demo->add_option("--momentum", options->momentum, "momentum of the devices")->capture_default_str()->check(CLI::Range(0.0, 1.0));
  demo->add_option("--local-epochs", options->local_epochs, "passes over its data a device makes in a round")->capture_default_str()->check(CLI::Range(1, 1000));
  demo->add_option("--batch-size", options->batch_size, "examples a training step")->capture_default_str()->check(CLI::Range(1, 4096));
  demo->add_option("--strategy", *strategy, "fedavg or fedadam: how the server moves the model")->capture_default_str()->check(CLI::IsMember({"fedavg", "fedadam"}));
  CLI::Option* server_rate_option = demo->add_option("--server-lr", *server_rate, "learning rate of the server (default 1 for fedavg, 0.01 for fedadam)")->check(CLI::Range(1e-9, 1e6));
  demo->add_option("--seed", options->seed, "of split, model and training")->capture_default_str();
  demo->add_option("--out", options->out, "folder for the results, new or empty (default runs/demo-DATE-TIME)");
  demo->add_flag("--json", options->json, "end standard output with one JSON object; the rest goes to standard error");
  demo->add_flag("--quiet", options->quiet, "no progress");
  demo->add_flag("--keep", options->keep, "keep the server's data, the devices' state and all logs");
  demo->callback([&invocation, options, split, model, strategy, server_rate, server_rate_option] {
    options->split = parse_split(*split).value();
    options->model = model_kind_from(*model).value();
    options->strategy = *strategy == "fedadam" ? ServerOptimizerKind::fedadam : ServerOptimizerKind::fedavg;
    if (server_rate_option->count() > 0) options->server_learning_rate = *server_rate;
    invocation.run = [&invocation, options] { return run_demo(*options, invocation.program); };
  });
}

}  // namespace coterie
