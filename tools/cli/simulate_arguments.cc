#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/local_files.h"
#include "tools/simulate/simulate.h"

namespace coterie {
namespace {

constexpr const char* kExamples =
    "  coterie demo --print-job --rounds 2 --fraction 1 --devices 6\n"
    "                        prints a job to begin with\n"
    "  coterie simulate job.json --data digits --devices 6\n"
    "                        the same model, bit for bit, in one process\n"
    "  coterie simulate job.json --devices 1000000 --shards 100 --rounds 3\n"
    "                        a million devices; 100 parts of the data\n"
    "  coterie simulate job.json --dropout 0.1 --speed-spread 0.5 --json\n\n"
    "Masks change no bit of a sum, so none are computed. Jobs with noise are\n"
    "refused.\n\n"
    "Exit codes: 0 trained, 1 failed, 2 usage or bad data, 5 a round failed in\n"
    "all attempts, 130 interrupted (nothing is left behind).";

void add_data_choice(CLI::App& simulate, SimulateOptions& options) {
  simulate.add_option("job", options.job_file, "the job, as `coterie job create` takes it")
      ->required()
      ->type_name("JOB.json");
  simulate
      .add_option("--data", options.demo.data,
                  "a source or a directory of shards; `coterie data make --help` says which there are")
      ->capture_default_str();
  simulate
      .add_option_function<std::string>(
          "--split",
          [&options](const std::string& text) {
            options.demo.split = parse_split(text).value();
            options.demo.split_given = true;
          },
          "how the data are shared out, as in `coterie data make`")
      ->default_str(to_string(options.demo.split))
      ->check(checked_by([](const std::string& text) { return parse_split(text); }));
  simulate
      .add_option_function<std::string>(
          "--model",
          [&options](const std::string& text) {
            options.demo.model = model_kind_from(text);
            options.demo.model_file = options.demo.model ? "" : text;
          },
          "mlp, logistic, cnn, lenet5, or the model file that the job names")
      ->default_str("cnn for images, mlp for rows");
  simulate.add_option("--seed", options.demo.seed, "of split, model, draw and training")
      ->capture_default_str()
      ->check(between<uint64_t>(0, UINT64_MAX));
}

void add_fleet(CLI::App& simulate, SimulateOptions& options) {
  simulate.add_option("--devices", options.devices, "virtual devices")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 100'000'000));
  simulate
      .add_option("--shards", options.shards,
                  "parts that the data are shared out into; device i has part i modulo so many")
      ->default_str("one a device")
      ->check(between<uint32_t>(1, 2000));
  simulate.add_option("--rounds", options.rounds, "rounds to train")
      ->default_str("as the job says")
      ->check(between<uint32_t>(1, 100'000));
  simulate.add_option("--dropout", options.dropout, "probability that a drawn device is lost")
      ->capture_default_str()
      ->type_name("P")
      ->check(between(0.0, 0.99));
  simulate.add_option("--trace", options.trace_file, "lines device,round: who is lost when, counted from 1")
      ->type_name("FILE");
  simulate
      .add_option("--speed-spread", options.speed_spread,
                  "standard deviation of the logarithm of a device's time; what comes after the job's deadline is late")
      ->capture_default_str()
      ->type_name("S")
      ->check(between(0.0, 10.0));
  simulate.add_option("--threads", options.threads, "that train; they change no bit")
      ->default_str("a core each")
      ->check(between<uint32_t>(1, 1024));
}

void add_output(CLI::App& simulate, SimulateOptions& options) {
  simulate
      .add_option("-o,--out", options.demo.out, "folder for the results, new or empty (default runs/demo-DATE-TIME)")
      ->type_name("DIR");
  simulate.add_flag("--json", options.demo.json, "end standard output with one JSON object");
  simulate.add_flag("--quiet", options.demo.quiet, "no progress");
  simulate.add_flag("--keep", options.demo.keep, "keep the shards and what the run worked with");
}

}  // namespace

void add_simulate(CLI::App& app, Invocation& invocation) {
  CLI::App* simulate =
      add_command(app, "simulate", "train a job on virtual devices, in one process, to the same bits", kExamples);
  SimulateOptions& options = invocation.simulate;
  add_data_choice(*simulate, options);
  add_fleet(*simulate, options);
  add_output(*simulate, options);
  simulate->callback([&invocation] {
    invocation.run = [&invocation] {
      DemoOptions& demo = invocation.simulate.demo;
      if (!demo.model_file.empty()) {
        const Result<Model> model = open_model(demo.model_file);
        if (!model) return fail_on_input("simulate", model.error());
        demo.model_bytes = Bytes(model->file().begin(), model->file().end());
      }
      return run_simulate(invocation.simulate, invocation.program);
    };
  });
}

}  // namespace coterie
