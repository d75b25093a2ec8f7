#include <cstdio>

#include "base/os/file.h"
#include "base/text/suggest.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/train_options.h"
#include "proto/messages/augmentation.h"
#include "proto/messages/quantised_training_text.h"
#include "tools/cli/arguments.h"
#include "tools/cli/head_option.h"
#include "tools/cli/help.h"
#include "tools/cli/ignore_label_option.h"
#include "tools/cli/local_files.h"
#include "tools/cli/onnx_commands.h"
#include "tools/demo/adaptive_mu_option.h"
#include "tools/demo/aggregation_option.h"
#include "tools/demo/analytics_option.h"
#include "tools/demo/compression_option.h"
#include "tools/demo/demo.h"
#include "tools/demo/personal_option.h"
#include "tools/demo/schedule_text.h"
#include "tools/demo/selection_option.h"
#include "tools/demo/strategy_option.h"
#include "tools/demo/watch_option.h"
#include "tools/demo/width_option.h"

namespace coterie {
namespace {

constexpr const char* kExamples =
    "  coterie demo                           20 devices, UCI digits, a small CNN\n"
    "  coterie demo --split dirichlet:0.1 --strategy fedadam --rounds 60\n"
    "  coterie demo --data mnist:DIR --model lenet5 --devices 30\n"
    "  coterie demo --data 'csv:adult.csv?target=income' --devices 10\n"
    "  coterie demo --data 'csv:houses.csv?target=price' --loss huber\n"
    "                        a target that is a number\n"
    "  coterie demo --data 'csv:people.csv?target=class,age' --model net.cotf \\\n"
    "          --head class:softmax_cross_entropy --head age:huber\n"
    "                        two outputs, each with a loss\n"
    "  coterie demo --data ./shards --model net.onnx\n"
    "                        shards of `coterie data make`, a model of your own\n"
    "  coterie demo --dropout 0.1             devices that vanish in mid-round\n"
    "  coterie demo --security none           the server sees each update\n"
    "  coterie demo --devices 100 --security active_dp --clip 1 --target-epsilon 8\n"
    "                        sums with noise; few devices pay in accuracy\n"
    "  coterie demo --devices 200 --security none --clip 1 --target-epsilon 8\n"
    "                        noise that the server adds to what it has seen\n"
    "  coterie demo --security none --attack sign_flip:0.2 \\\n"
    "          --aggregation geometric_median\n"
    "                        a fifth of the devices lies; first without that\n"
    "  coterie demo --security masked --round-policy buffered\n"
    "                        late updates join the next round\n"
    "  coterie demo --update-bits 6           updates of a few bits a value\n"
    "  coterie demo --security none --compression eden:bits=1\n"
    "                        updates of one bit a value; top_k sends the largest\n"
    "  coterie demo --data 'csv:adult.csv?target=income' --devices 50 \\\n"
    "          --analytics histogram:age\n"
    "                        counts of all devices together; nothing is trained\n"
    "  coterie demo --print-job > job.json    the job alone, for a server or\n"
    "                        coterie simulate\n"
    "  coterie demo --json --quiet | tail -1  for a script\n\n"
    "Exit codes: 0 trained, 1 failed, 2 usage or bad data, 5 timeout,\n"
    "130 interrupted (nothing is left behind).";

// A job's A is always fixed: devices that draw their own have no mean of B.
Result<LoraSettings> demo_lora(std::string_view text) {
  COT_ASSIGN(LoraSettings lora, parse_lora(text));
  if (!lora.fixed_a_seed) lora.fixed_a_seed = 0;
  return lora;
}

void add_data_choice(CLI::App& demo, DemoOptions& options) {
  demo.add_option(
          "--data", options.data,
          "digits (built in), mnist:DIR (IDX files), cifar10:DIR (binary batches), images:DIR (a folder of "
          "JPEG and PNG files a class), csv:FILE?target=COLUMN, npy:X.npy,Y.npy, or a directory of `coterie data "
          "make`, whose shards are the devices'; `coterie data make --help` says more")
      ->capture_default_str();
  demo.add_option_function<std::string>(
          "--split",
          [&options](const std::string& text) {
            options.split = parse_split(text).value();
            options.split_given = true;
          },
          "iid, or dirichlet:ALPHA: the smaller, the more devices differ; or another of `coterie data make --help`")
      ->default_str(to_string(options.split))
      ->check(checked_by([](const std::string& text) { return parse_split(text); }));
  demo.add_option_function<uint32_t>(
          "--devices",
          [&options](uint32_t devices) {
            options.devices = devices;
            options.devices_given = true;
          },
          "device processes")
      ->default_str("20, or as the data say")
      ->check(between<uint32_t>(1, 2000));
  demo.add_option("--seed", options.seed,
                  "of split, initial model, training and who is drawn: the same seed, the same model "
                  "(unless --dropout takes devices away, or --round-policy lets them come late)")
      ->capture_default_str()
      ->check(between<uint64_t>(0, UINT64_MAX));
}

// "fedavg 1, fedavgm 0.3, ..."
std::string advised_rates() {
  std::string text;
  for (const StrategyRule* rule : strategies()) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%g", rule->learning_rate_advised);
    text += (text.empty() ? "" : ", ") + std::string(rule->name) + " " + rate;
  }
  return text;
}

// A built-in model, or a file that is there.
CLI::Validator a_model() {
  return CLI::Validator(
      [](std::string& text) {
        if (model_kind_from(text) || os::exists(text)) return std::string();
        const bool looks_like_file = text.find_first_of("./") != std::string::npos;
        if (looks_like_file) return "there is no model file " + text;
        std::vector<std::string> names = model_kind_names();
        return "must be one of " + listed(names) + " or a model file, is " + text + did_you_mean(text, names);
      },
      kChoicesMark + CLI::detail::join(model_kind_names(), "|"));
}

void add_model_choice(CLI::App& demo, DemoOptions& options) {
  const std::vector<std::string_view> names = strategy_names();
  demo.add_option_function<std::string>(
          "--model",
          [&options](const std::string& text) {
            options.model = model_kind_from(text);
            options.model_file = options.model ? "" : text;
          },
          "mlp, logistic, cnn, lenet5, or a model file of your own, FILE.cotf, .onnx, .tflite or .ms")
      ->default_str("cnn for images, mlp for rows")
      ->check(a_model());
  demo.add_option_function<std::string>(
          "--strategy", [&options](const std::string& text) { options.strategy = find_strategy(text); },
          "how the server moves the model (docs/OPERATING.md says more of each)")
      ->default_str(options.strategy->name)
      ->check(one_of({names.begin(), names.end()}));
  demo.add_option("--server-lr", options.server_learning_rate,
                  "learning rate of the server (default by strategy: " + advised_rates() + ")")
      ->type_name("X")
      ->check(between(1e-9, 1e6));
  demo.add_option("--alpha", options.alpha,
                  "feddyn's: how strongly devices are held to the model that they were given (default 0.1)")
      ->type_name("A")
      ->check(between(1e-6, 1e6));
  demo.add_option_function<std::vector<std::string>>(
          "--strategy-setting",
          [&options](const std::vector<std::string>& given) {
            options.strategy_settings.clear();
            for (const std::string& text : given) {
              options.strategy_settings.push_back(parse_strategy_setting(text).value());
            }
          },
          "another setting of the strategy, such as q=1 of qffl (docs/operating/jobs.md names all); several times")
      ->type_name("NAME=X")
      ->check(checked_by([](const std::string& text) { return parse_strategy_setting(text); }));
}

void add_schedules(CLI::App& demo, RateSchedules& schedules) {
  const auto add = [&](const char* name, RateSchedule& schedule, const char* sentence) {
    demo.add_option_function<std::string>(
            name, [&schedule](const std::string& text) { schedule = parse_rate_schedule(text).value(); }, sentence)
        ->type_name("SCHEDULE")
        ->check(checked_by([](const std::string& text) { return parse_rate_schedule(text); }));
  };
  add("--lr-schedule", schedules.device,
      "how the devices' learning rate changes over the rounds: step:period=10,gamma=0.5, exponential:gamma=0.98, "
      "cosine:min=0.1 or constant, each with warmup=ROUNDS");
  add("--server-lr-schedule", schedules.server, "the same for the learning rate of the server");
}

void add_memory_and_stopping(CLI::App& demo, DemoOptions& options) {
  demo.add_option_function<std::string>(
          "--storage", [&options](const std::string& name) { options.storage = parse_storage(name).value(); },
          "of activations between forward and backward on the devices: bf16 takes half the memory where that makes a "
          "step's smaller, and rounds; it computes in bfloat16 where the CPU can")
      ->default_str("float32")
      ->type_name("TYPE")
      ->check(one_of({storage_names().begin(), storage_names().end()}));
  const auto stopping = [&options]() -> EarlyStopping& {
    if (!options.early_stopping) options.early_stopping.emplace();
    return *options.early_stopping;
  };
  demo.add_option_function<double>(
          "--validation-share",
          [stopping](const double& share) { stopping().validation_share = static_cast<float>(share); },
          "a device does not train on this share of its examples, and ends its epochs when their loss no longer falls: "
          "of the model where it was lowest goes the update")
      ->type_name("P")
      ->check(between(0.001, static_cast<double>(kValidationShareMax)));
  demo.add_option_function<uint32_t>(
          "--patience", [stopping](const uint32_t& epochs) { stopping().patience = epochs; },
          "epochs without a lower loss of those examples, until it ends (default 1); alone, with a share of 0.1")
      ->type_name("EPOCHS")
      ->check(between<uint32_t>(1, kPatienceMax));
  demo.add_option_function<std::string>(
          "--personal", [&options](const std::string& text) { options.personal = parse_personal(text).value(); },
          "what each device keeps to itself and never sends: part:PATTERN,... (with ,norms or ,first_epochs=N behind "
          "part), or a whole model of its own, model,lambda=X; or which of several models it trains, clusters,count=N")
      ->type_name("KIND[,...][:PATTERN,...]")
      ->check(checked_by([](const std::string& text) { return parse_personal(text); }));
  demo.add_option_function<std::string>(
          "--widths", [&options](const std::string& text) { options.widths = parse_widths(text).value(); },
          "shares of the model's channels that devices train, in turn: 1,0.5,0.25 lets the first train all of it, the "
          "second half of each hidden layer, and so on")
      ->type_name("SHARE,...")
      ->check(checked_by([](const std::string& text) { return parse_widths(text); }));
  demo.add_option_function<std::string>(
          "--watch", [&options](const std::string& text) { options.watch = parse_watch_option(text).value(); },
          "checks that devices ask of one local step in 50 (,every=N) while they train: recommended, or names of "
          "checks; what they found is told in their sum alone")
      ->type_name("CHECK,...[,every=N]")
      ->check(checked_by([](const std::string& text) { return parse_watch_option(text); }));
  demo.add_option_function<std::string>(
          "--qat", [&options](const std::string& text) { options.qat = parse_quantised_training(text).value(); },
          "devices compute forward with the integers that `coterie model quantise` makes of the model: full (with "
          "--full) or weights, with the bits of weights behind a colon, full:4")
      ->type_name("PARTS[:BITS]")
      ->check(checked_by([](const std::string& text) { return parse_quantised_training(text); }));
}

void add_training(CLI::App& demo, DemoOptions& options) {
  demo.add_option("--rounds", options.rounds, "rounds to train")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 100'000));
  demo.add_option("--fraction", options.fraction, "part of the devices that trains in a round")
      ->capture_default_str()
      ->check(between(1e-6, 1.0));
  demo.add_option_function<std::string>(
          "--round-policy", [&options](const std::string& name) { options.is_buffered = name == "buffered"; },
          "synchronous, or buffered: all devices train, --fraction of them close a round, and who comes late joins the "
          "next; needs --security none or masked")
      ->default_str("synchronous")
      ->type_name("POLICY")
      ->check(one_of({"synchronous", "buffered"}));
  demo.add_option_function<std::string>(
          "--selection", [&options](const std::string& text) { options.selection = *parse_selection(text); },
          "who of the devices trains in a round: uniform, balanced, power_of_choice or utility; the last two need "
          "--security none")
      ->type_name("RULE[:SETTING=VALUE,...]")
      ->default_str("uniform")
      ->check(checked_by([](const std::string& text) { return parse_selection(text); }));
  demo.add_option_function<std::string>(
          "--optimizer", [&options](const std::string& name) { options.optimizer = *optimizer_from(name); },
          "of the devices: sgd, adam, adamw, adagrad, rmsprop, adadelta, lamb, lion, muon or shampoo")
      ->default_str("sgd")
      ->type_name("NAME")
      ->check(one_of({optimizer_names().begin(), optimizer_names().end()}));
  demo.add_option_function<std::string>(
          "--loss", [&options](const std::string& name) { options.loss = *loss_from(name); },
          "of the devices: softmax_cross_entropy of classes, mean_squared_error of numbers, or another of a job")
      ->default_str("as the data say")
      ->type_name("NAME")
      ->check(one_of({loss_names().begin(), loss_names().end()}));
  add_heads(demo, options.heads)->excludes(demo.get_option("--loss"));
  add_ignore_label(demo, options.ignore_label);
  demo.add_option("--lr", options.learning_rate,
                  "learning rate of the devices (default: by optimizer, 0.1 for sgd, 0.01 where targets are numbers, "
                  "0.001 for adam)")
      ->type_name("X")
      ->check(between(1e-9, 1e6));
  add_schedules(demo, options.schedules);
  demo.add_option("--weight-decay", options.weight_decay, "of every parameter")
      ->capture_default_str()
      ->check(between(0.0, 1e6));
  demo.add_option("--freeze", options.freeze, "parameters that stay as they are, such as 'conv1.*'; several times")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  demo.add_option("--train-only", options.train_only, "parameters that change, all others stay; several times")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  demo.add_option("--train-last", options.train_last, "only so many of the last layers change; 0: all")
      ->capture_default_str();
  demo.add_option_function<std::string>(
          "--lora", [&options](const std::string& text) { options.lora = demo_lora(text).value(); },
          "train low-rank companions of the weights that match, such as 'rank=4:*.weight'; with alpha=X or seed=N "
          "behind the rank and a comma. They alone travel")
      ->type_name("rank=N:PATTERN")
      ->check(checked_by(&demo_lora));
  demo.add_option("--momentum", options.momentum, "momentum of the devices")
      ->capture_default_str()
      ->check(between(0.0, 1.0));
  demo.add_option("--proximal-mu", options.proximal_mu,
                  "FedProx: how strongly each step pulls a device back to the model that it was given; 0.01 to 1 where "
                  "devices differ")
      ->capture_default_str()
      ->check(between(0.0, 1e6));
  demo.add_option_function<std::string>(
          "--adaptive-mu",
          [&options](const std::string& text) { options.adaptive_mu = parse_adaptive_mu(text).value(); },
          "FedProx's mu begins with --proximal-mu and follows the loss on the held-out data: up by step=X where it "
          "rises, "
          "down after falls=N rounds in a row in which it falls, up to max=X (0.1, 5 and 1 unless given)")
      ->type_name("SETTING=VALUE[,...]")
      ->check(checked_by([](const std::string& text) { return parse_adaptive_mu(text); }));
  demo.add_option("--augment", options.augment, "images, a little different each time, as coterie model train has it")
      ->type_name("LIST")
      ->check(checked_by(&parse_augmentation));
  add_memory_and_stopping(demo, options);
  demo.add_option("--local-epochs", options.local_epochs, "passes over its data a device makes in a round")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1000));
  demo.add_option("--batch-size", options.batch_size, "examples a training step")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 4096));
}

void add_security(CLI::App& demo, DemoOptions& options) {
  demo.add_option_function<std::string>(
          "--security", [&options](const std::string& name) { options.security = *security_level_from(name); },
          "what the server may learn of an update: none (all of it), masked (the sum of a round, if it follows the "
          "protocol), active (the sum or nothing, whatever it does), active_dp (that sum with noise that the devices "
          "add; "
          "needs --clip and --target-epsilon or --noise-multiplier)")
      ->check(one_of({"none", "masked", "active", "active_dp"}))
      ->type_name("LEVEL")
      ->default_str("active");
  demo.add_option_function<std::string>(
          "--aggregation", [&options](const std::string& text) { options.aggregation = *parse_aggregation(text); },
          "what takes the place of a round's mean where some updates may be lies: median, trimmed_mean, "
          "geometric_median, centred_clip, krum, multi_krum or bulyan; needs --security none")
      ->type_name("RULE[:SETTING=VALUE,...]")
      ->default_str("mean")
      ->check(checked_by([](const std::string& text) { return parse_aggregation(text); }));
  demo.add_option_function<std::string>(
          "--attack", [&options](const std::string& text) { options.attack = *parse_device_attack(text); },
          "a drill, after the same without it: this share of the devices, the first ones, lies; label_flip, sign_flip, "
          "gaussian, replacement or free_rider")
      ->type_name("KIND:SHARE")
      ->check(checked_by([](const std::string& text) { return parse_device_attack(text); }));
  demo.add_option("--cohort-max", options.cohort_max,
                  "devices that aggregate together at most: a round of more has several cohorts, whose sums are added")
      ->type_name("N")
      ->default_str("all of a round in one")
      ->check(between<uint32_t>(2, 4096));
  demo.add_option("--dropout", options.dropout,
                  "probability that a device vanishes, in each round, from a random moment to its end")
      ->capture_default_str()
      ->type_name("P")
      ->check(between(0.0, 0.3));
}

// Behind the options of a training, of which none means anything to devices that count.
void add_analytics(CLI::App& demo, DemoOptions& options) {
  CLI::Option* analytics =
      demo.add_option_function<std::string>(
              "--analytics",
              [&options](const std::string& text) { options.analytics = parse_analytics_choice(text).value(); },
              "devices count a column and train nothing: histogram:COLUMN (bins=N; refine=ROUNDS comes closer to the "
              "quantiles in each), distinct:COLUMN (buckets=N) or heavy_hitters:COLUMN, the strings of a text column "
              "that most devices have (threshold=N, alphabet=BYTES, prefixes=N); target is a column, too; or "
              "importance: how much --model FILE needs each column (repeats=N); or activation_ranges: where its values "
              "lie, for `coterie model quantise --ranges` (steps=N). values=N: examples of a device that count, all "
              "without noise, 1 with it, 256 of importance, 64 of activation_ranges. --security and noise are as for a "
              "training, a "
              "round asks all devices")
          ->type_name("KIND:COLUMN[,...]|importance[,...]|activation_ranges[,...]")
          ->check(checked_by([](const std::string& text) { return parse_analytics_choice(text); }));
  for (const char* of_a_training :
       {"--strategy", "--rounds", "--fraction", "--selection", "--optimizer", "--loss", "--head", "--lr",
        "--local-epochs", "--batch-size", "--lora", "--augment", "--patience", "--personal", "--widths", "--watch"}) {
    analytics->excludes(demo.get_option(of_a_training));
  }
}

void add_compression(CLI::App& demo, DemoOptions& options) {
  CLI::Option* bits =
      demo.add_option("--update-bits", options.compression.bits,
                      "send updates in so many bits a value, clipped (--clip, or to 4), rotated and rounded, each "
                      "counting the same; 0: as they are")
          ->capture_default_str()
          ->type_name("B")
          ->check(between<uint32_t>(0, 16));
  demo.add_option_function<std::string>(
          "--compression", [&options](const std::string& text) { options.compression = *parse_compression(text); },
          "how updates are made small: quantized:bits=B, which is --update-bits B; with --security none also "
          "eden:bits=B (1 to 4 bits a value on a grid of each update's own) and top_k:share=S,bits=B (the largest "
          "values alone, as float32 or of few bits; devices keep the rest for their next update)")
      ->type_name("KIND[:SETTING=VALUE,...]")
      ->check(checked_by([](const std::string& text) { return parse_compression(text); }))
      ->excludes(bits);
  demo.add_option("--download-bits", options.download_bits,
                  "hand out new versions of the model as differences of so many bits a value; without it whole")
      ->type_name("B")
      ->check(between<uint32_t>(2, 8));
}

void add_noise(CLI::App& demo, DemoOptions& options) {
  demo.add_option("--clip", options.clip, "L2 norm that a device's update is scaled down to")
      ->type_name("C")
      ->check(between(1e-6, 1e9));
  demo.add_option_function<double>(
          "--adaptive-clip", [&options](const double& quantile) { options.adaptive_clip = quantile; },
          "let the clip follow this quantile of the norms of updates, 0.5 unless said, from --clip on; needs noise, "
          "some of which goes into the count that it is found by")
      ->expected(0, 1)
      ->default_str("0.5")
      ->type_name("QUANTILE")
      ->check(between(0.01, 0.99));
  demo.add_option("--noise-multiplier", options.noise_multiplier,
                  "noise on each round's sum, over what one device can move it by (--clip), added by the server, or at "
                  "active_dp by the devices; a job stops before its "
                  "rounds would pass --target-epsilon")
      ->type_name("Z")
      ->check(between(0.01, 10'000.0));
  demo.add_option("--target-epsilon", options.target_epsilon,
                  "of all rounds together: finds the noise multiplier, unless one is given")
      ->type_name("E")
      ->check(between(0.001, 1000.0));
  demo.add_option("--delta", options.delta, "that goes with epsilon; below 1 / devices by far")
      ->capture_default_str()
      ->type_name("D")
      ->check(between(1e-30, 0.1));
}

void add_output(CLI::App& demo, DemoOptions& options) {
  demo.add_option("--out", options.out, "folder for the results, new or empty (default runs/demo-DATE-TIME)")
      ->type_name("DIR");
  demo.add_option("--log-dir", options.log_dir, "an event file for TensorBoard goes there, written as the rounds end")
      ->type_name("DIR");
  demo.add_option("--mlflow", options.mlflow, "push parameters and metrics to this MLflow server as the rounds end")
      ->type_name("URL");
  demo.add_flag("--json", options.json, "end standard output with one JSON object; the rest goes to standard error");
  demo.add_flag("--quiet", options.quiet, "no progress");
  demo.add_flag("--print-job", options.print_job,
                "print the job, as `coterie job create` and `coterie simulate` take it, and run nothing");
  demo.add_flag("--keep", options.keep, "keep the server's data, the devices' state and all logs");
}

}  // namespace

namespace {

// Reads the user's own model, of whichever kind, into the options.
Status read_model(DemoOptions& options) {
  if (options.model_file.empty()) return {};
  if (is_foreign_model(options.model_file)) {
    COT_ASSIGN(options.model_bytes, model_from_foreign(options.model_file));
    return {};
  }
  COT_ASSIGN(const Model model, open_model(options.model_file));
  options.model_bytes = Bytes(model.file().begin(), model.file().end());
  return {};
}

}  // namespace

void add_demo(CLI::App& app, Invocation& invocation) {
  CLI::App* demo =
      add_command(app, "demo", "train a model, now: a real server and real devices on this machine", kExamples);
  add_data_choice(*demo, invocation.demo);
  add_data_cache_options(*demo, invocation);
  add_model_choice(*demo, invocation.demo);
  add_training(*demo, invocation.demo);
  add_security(*demo, invocation.demo);
  add_analytics(*demo, invocation.demo);
  add_compression(*demo, invocation.demo);
  add_noise(*demo, invocation.demo);
  add_output(*demo, invocation.demo);
  demo->callback([&invocation] {
    invocation.run = [&invocation] {
      if (const Status read = read_model(invocation.demo); !read) return fail_on_input("demo", read.error());
      return run_demo(invocation.demo, invocation.program);
    };
  });
}

}  // namespace coterie
