#include <optional>

#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/local_files.h"
#include "tools/simulate/simulate.h"

namespace coterie {
namespace {

constexpr const char* kExamples =
    "  coterie demo --print-job --rounds 2 --fraction 1 --devices 6 > job.json\n"
    "                        a job to begin with\n"
    "  coterie simulate job.json --data digits --devices 6\n"
    "                        the same model, bit for bit, in one process\n"
    "  coterie simulate job.json --devices 1000000 --shards 100 --rounds 3\n"
    "                        a million devices; 100 parts of the data\n"
    "  coterie simulate job.json --dropout 0.1 --speed-spread 0.5 --json\n"
    "  mpirun -n 4 coterie simulate job.json --checkpoint DIR --resume\n"
    "                        four processes, also on several machines; goes on\n"
    "                        from DIR if the same command was ended before\n\n"
    "Masks change no bit of a sum, so none are computed. Jobs with noise are\n"
    "refused.\n\n"
    "Exit codes: 0 trained, 1 failed, 2 usage or bad data, 5 a round failed in\n"
    "all attempts, 130 interrupted (nothing is left behind).";

constexpr const char* kSweepExamples =
    "  coterie demo --print-job --devices 6 > job.json   a job to begin with\n"
    "  coterie sweep job.json --set strategy.kind=fedavg,fedadam \\\n"
    "          --set training.optimizer.learning_rate=0.01,0.05,0.1 --seeds 5\n"
    "                        six variants, five runs of each\n"
    "  coterie sweep job.json --variant training.proximal_mu=0 \\\n"
    "          --variant 'training.proximal_mu=0.1;training.local_epochs=4'\n"
    "                        these two\n\n"
    "FIELD is a field of the job, its keys joined by dots. The job's model and\n"
    "held-out data are made anew for each seed. A sweep that was ended goes on\n"
    "where it was if the same command is given again; more --seeds add runs.\n\n"
    "Exit codes: 0 all runs trained, 1 some failed, 2 usage or bad data, 130\n"
    "interrupted (the runs that are done stay).";

constexpr const char* kCompareExamples =
    "  coterie compare runs/sweep-1                     a sweep's variants\n"
    "  coterie compare runs/a runs/b -o chart.svg       two runs\n"
    "  coterie compare sgd=runs/1,runs/2 adam=runs/3,runs/4\n"
    "                        runs of two variants, paired by their seeds\n\n"
    "95 %: half the width of the confidence interval of the mean (Student's t).\n"
    "to the first: the difference of the means over pairs of runs with one seed;\n"
    "* where its interval is without 0.";

void add_data_choice(CLI::App& simulate, SimulateOptions& options) {
  simulate
      .add_option("job", options.job_file, "the job, as `coterie job create` takes it; - reads it from standard input")
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
  simulate
      .add_option_function<std::string>(
          "--attack", [&options](const std::string& text) { options.attack = parse_attack(text).value(); },
          "a drill: this share of the devices, the first ones, lies, or with drawn behind it this share of each round, "
          "always others; label_flip, sign_flip, gaussian, alie, ipm, replacement or free_rider")
      ->type_name("KIND:SHARE[,drawn]")
      ->check(checked_by([](const std::string& text) { return parse_attack(text); }));
  simulate
      .add_option(
          "--held-out-share", options.held_out_share,
          "each device trains without this share of its own examples, and is judged by them: by the model as it "
          "is published, and by what a job with training.personal has the device keep")
      ->type_name("P")
      ->check(between(0.001, static_cast<double>(kValidationShareMax)));
  simulate.add_option("--threads", options.threads, "that train; they change no bit")
      ->default_str("a core each")
      ->check(between<uint32_t>(1, 1024));
}

void add_judgement(CLI::App& simulate, SimulateOptions& options) {
  simulate
      .add_option("--mean-of-last", options.mean_of_last,
                  "each round is judged by the mean of so many models, its own and those before it, and that mean of "
                  "the last round is model.cotf; devices train from the newest as ever")
      ->capture_default_str()
      ->type_name("N")
      ->check(between<uint32_t>(1, kMeanOfLastMax));
}

void add_checkpoint(CLI::App& simulate, SimulateOptions& options) {
  CLI::Option* const folder =
      simulate.add_option("--checkpoint", options.checkpoint, "a folder that holds the last round that was done")
          ->type_name("DIR");
  simulate.add_flag("--resume", options.resumes, "go on from the checkpoint, if there is one, to the same bits")
      ->needs(folder);
}

void add_output(CLI::App& simulate, SimulateOptions& options) {
  simulate
      .add_option("-o,--out", options.demo.out, "folder for the results, new or empty (default runs/demo-DATE-TIME)")
      ->type_name("DIR");
  simulate
      .add_option("--log-dir", options.demo.log_dir,
                  "an event file for TensorBoard goes there, written as the rounds end")
      ->type_name("DIR");
  simulate
      .add_option("--mlflow", options.demo.mlflow,
                  "push parameters and metrics to this MLflow server as the rounds end")
      ->type_name("URL");
  simulate.add_flag("--json", options.demo.json, "end standard output with one JSON object");
  simulate.add_flag("--events", options.events, "a JSON line on standard output as each attempt ends");
  simulate.add_flag("--quiet", options.demo.quiet, "no progress");
  simulate.add_flag("--keep", options.demo.keep, "keep the shards and what the run worked with");
}

// The model file that --model names, if it names one; an exit code if it cannot be read.
std::optional<ExitCode> read_model(DemoOptions& demo, const char* command) {
  if (demo.model_file.empty()) return std::nullopt;
  const Result<Model> model = open_model(demo.model_file);
  if (!model) return fail_on_input(command, model.error());
  demo.model_bytes = Bytes(model->file().begin(), model->file().end());
  return std::nullopt;
}

}  // namespace

void add_simulate(CLI::App& app, Invocation& invocation) {
  CLI::App* simulate =
      add_command(app, "simulate", "train a job on virtual devices, in one process, to the same bits", kExamples);
  SimulateOptions& options = invocation.simulate;
  add_data_choice(*simulate, options);
  add_data_cache_options(*simulate, invocation);
  add_fleet(*simulate, options);
  add_judgement(*simulate, options);
  add_checkpoint(*simulate, options);
  add_output(*simulate, options);
  simulate->callback([&invocation] {
    invocation.run = [&invocation] {
      if (const auto failed = read_model(invocation.simulate.demo, "simulate")) return *failed;
      return run_simulate(invocation.simulate, invocation.program);
    };
  });
}

void add_sweep(CLI::App& app, Invocation& invocation) {
  CLI::App* sweep =
      add_command(app, "sweep", "simulate variants of a job with several seeds each, and compare them", kSweepExamples);
  SweepOptions& options = invocation.sweep;
  DemoOptions& demo = options.simulate.demo;
  add_data_choice(*sweep, options.simulate);
  add_data_cache_options(*sweep, invocation);
  sweep->get_option("--seed")->description("the first seed: of split, model, draw and training");
  add_fleet(*sweep, options.simulate);
  sweep->add_option("--set", options.grid, "a field's values; more of it: every combination")
      ->type_name("FIELD=VALUE,...")
      ->take_all();
  sweep->add_option("--variant", options.list, "one variant's fields; more of it: each of them")
      ->type_name("FIELD=VALUE;...")
      ->take_all();
  sweep->add_option("--seeds", options.seeds, "runs of each variant, with as many seeds one after the other")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1000));
  sweep->add_option("-o,--out", demo.out, "folder of the sweep, new, empty or its own")
      ->capture_default_str()
      ->type_name("DIR");
  demo.out = "runs/sweep";
  sweep->add_flag("--json", demo.json, "end standard output with one JSON object");
  sweep->add_flag("--quiet", demo.quiet, "no progress");
  sweep->callback([&invocation] {
    invocation.run = [&invocation] {
      if (const auto failed = read_model(invocation.sweep.simulate.demo, "sweep")) return *failed;
      return run_sweep(invocation.sweep, invocation.program);
    };
  });
}

void add_compare(CLI::App& app, Invocation& invocation) {
  CLI::App* compare =
      add_command(app, "compare", "runs side by side, with intervals over their seeds", kCompareExamples);
  CompareOptions& options = invocation.compare;
  compare->add_option("runs", options.runs, "a run's folder, a sweep's folder, or NAME=FOLDER,FOLDER...")
      ->required()
      ->type_name("RUN...");
  compare
      ->add_option("-o,--out", options.out,
                   "where the chart goes (SVG); the same with its values is beside it, as .html")
      ->type_name("FILE");
  compare->add_flag("--json", options.json, "print JSON");
  compare->callback([&invocation] { invocation.run = [&invocation] { return run_compare(invocation.compare); }; });
}

}  // namespace coterie
