// coterie model train, why-nan, evaluate, predict and profile: their grammar.
#include <memory>

#include "device_sdk/runtime/limits.h"
#include "proto/messages/quantised_training_text.h"
#include "tools/cli/arguments.h"
#include "tools/cli/augment_option.h"
#include "tools/cli/byte_count.h"
#include "tools/cli/head_option.h"
#include "tools/cli/help.h"
#include "tools/cli/ignore_label_option.h"
#include "tools/cli/loss_option.h"
#include "tools/cli/model_evaluate.h"
#include "tools/cli/model_fine_tune.h"
#include "tools/cli/model_predict.h"
#include "tools/cli/model_profile.h"
#include "tools/cli/model_why_nan.h"
#include "tools/cli/optimise_arguments.h"
#include "tools/data/load.h"
#include "tools/delegate/open_delegate.h"
#include "tools/model/measure.h"

namespace coterie {
namespace {

constexpr uint32_t kBatchMax = 65536;

void add_model_file(CLI::App* command, std::string& file) {
  command->add_option("FILE", file, "model file")->required()->type_name("");
}

void add_data_option(CLI::App* command, std::string& data) {
  command->add_option("--data", data, std::string("a data set file, ") + kDataNames)->required()->type_name("DATA");
}

void add_threads(CLI::App* command, uint32_t& threads) {
  command->add_option("--threads", threads, "at most so many, the results are the same bits")
      ->capture_default_str()
      ->check(between<uint32_t>(1, limits::kThreadsMax));
}

void add_optimizer(CLI::App* command, OptimizerSettings& optimizer) {
  command
      ->add_option_function<std::string>(
          "--optimizer", [&optimizer](const std::string& name) { optimizer.kind = *optimizer_from(name); },
          "sgd, adam, adamw, adagrad, rmsprop, adadelta, lamb, lion, muon or shampoo")
      ->default_str("sgd")
      ->type_name("NAME")
      ->check(one_of({optimizer_names().begin(), optimizer_names().end()}));
}

// May be given several times.
void add_patterns(CLI::App* command, const char* name, std::vector<std::string>& patterns, const char* what) {
  command->add_option(name, patterns, what)
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_optimizer_numbers(CLI::App* train, TrainCommand& command) {
  TrainOptions& training = command.training;
  train->add_option("--lr", command.learning_rate, "learning rate (default: by optimizer, 0.1 for sgd, 0.001 for adam)")
      ->type_name("X")
      ->check(between<double>(0, 1e6));
  train
      ->add_option_function<std::string>(
          "--lr-schedule", [&training](const std::string& text) { training.schedule = parse_schedule(text).value(); },
          "constant, step, exponential, cosine, one_cycle or plateau; settings behind a colon: cosine:warmup=100")
      ->type_name("SCHEDULE")
      ->check(checked_by(&parse_schedule));
  train->add_option("--momentum", training.optimizer.momentum, "of sgd and rmsprop")
      ->capture_default_str()
      ->check(between<double>(0, 1));
  train->add_flag("--nesterov", training.optimizer.nesterov, "sgd looks ahead");
  train->add_option("--weight-decay", training.optimizer.weight_decay, "of every parameter")
      ->capture_default_str()
      ->check(between<double>(0, 1e6));
  train->add_option("--clip-norm", training.clip_norm, "scale the gradient to at most this L2 norm; 0: as it is")
      ->capture_default_str()
      ->check(between<double>(0, 1e9));
}

void add_storage(CLI::App* command, TrainOptions& training) {
  command
      ->add_option_function<std::string>(
          "--storage", [&training](const std::string& name) { training.storage = parse_storage(name).value(); },
          "of activations between forward and backward: bf16 takes half the memory where that makes a step's smaller, "
          "and rounds; it computes in bfloat16 where the CPU can")
      ->default_str("float32")
      ->type_name("TYPE")
      ->check(checked_by(&parse_storage));
}

void add_length(CLI::App* train, TrainCommand& command) {
  TrainOptions& training = command.training;
  train->add_option("--batch", training.batch_size, "examples a step")
      ->capture_default_str()
      ->check(between<uint32_t>(1, kBatchMax));
  train
      ->add_option("--micro-batch", training.micro_batch_size,
                   "examples computed at a time, a divisor of the batch: less memory, the same gradient")
      ->check(between<uint32_t>(1, kBatchMax));
  add_storage(train, training);
  train
      ->add_option_function<std::string>(
          "--loss-scale",
          [&training](const std::string& text) { training.loss_scaling = parse_loss_scaling(text).value(); },
          "dynamic, or a power of two: the gradient is computed of the loss times it; skips steps that overflow")
      ->type_name("SCALE")
      ->check(checked_by(&parse_loss_scaling));
  train->add_option("--epochs", training.epochs, "times through the data")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1'000'000));
  train->add_option("--steps", training.steps_max, "end after so many, wherever it is")
      ->check(between<uint32_t>(1, UINT32_MAX));
  train->add_option("--seed", training.seed, "of shuffling and dropout")
      ->capture_default_str()
      ->check(between<uint64_t>(0, UINT64_MAX));
  add_threads(train, training.threads);
  train
      ->add_option_function<std::string>(
          "--memory-budget",
          [&command](const std::string& text) { command.memory_budget = parse_byte_count(text).value(); },
          "parameters, optimizer and activations together; computes again or takes smaller micro-batches to "
          "fit")
      ->type_name("BYTES")
      ->check(checked_by(&parse_byte_count));
}

void add_early_stopping(CLI::App* train, TrainOptions& training) {
  const auto stopping = [&training]() -> EarlyStopping& {
    if (!training.early_stopping) training.early_stopping.emplace();
    return *training.early_stopping;
  };
  train
      ->add_option_function<double>(
          "--validation-share",
          [stopping](const double& share) { stopping().validation_share = static_cast<float>(share); },
          "do not train on this share of the data, and end when their loss no longer falls: the model where it was "
          "lowest is written")
      ->type_name("P")
      ->check(between(0.001, static_cast<double>(kValidationShareMax)));
  train
      ->add_option_function<uint32_t>(
          "--patience", [stopping](const uint32_t& epochs) { stopping().patience = epochs; },
          "epochs without a lower loss of those examples, until it ends (default 1); alone, with a share of 0.1")
      ->type_name("EPOCHS")
      ->check(between<uint32_t>(1, kPatienceMax));
}

void add_sparse_update(CLI::App* train, TrainOptions& training) {
  train->add_option("--train-last", training.train_last, "only the last so many layers that have parameters change")
      ->check(between<uint32_t>(1, 1'000'000));
  train
      ->add_option_function<std::vector<std::string>>(
          "--channels",
          [&training](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) training.channels.push_back(parse_channels(text).value());
          },
          "of these parameters only some channels change: 'conv*:0-15' or 'conv*:25%'; may be given again")
      ->type_name("PATTERN:CHANNELS")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(checked_by(&parse_channels));
  train
      ->add_option_function<std::vector<std::string>>(
          "--group",
          [&training](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) training.groups.push_back(parse_group(text).value());
          },
          "these parameters have a learning rate so many times the usual one, and a weight decay of their own: "
          "'features.*:lr=0.1,decay=0'; may be given again")
      ->type_name("PATTERN:lr=X,decay=Y")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(checked_by(&parse_group));
}

}  // namespace

void add_training_options(CLI::App* train, TrainCommand& command) {
  CLI::Option* const loss = add_loss(*train, command.loss);
  add_heads(*train, command.training.loss.heads)->excludes(loss);
  add_ignore_label(*train, command.training.loss.ignore_label);
  add_optimizer(train, command.training.optimizer);
  add_optimizer_numbers(train, command);
  add_length(train, command);
  add_early_stopping(train, command.training);
  add_patterns(train, "--freeze", command.training.freeze,
               "parameters that stay as they are, * and ? as in a shell; may be given again");
  add_patterns(train, "--train-only", command.training.train_only,
               "the only parameters that change; may be given again");
  train
      ->add_option_function<std::string>(
          "--lora", [&command](const std::string& text) { command.lora = parse_lora(text).value(); },
          "train low-rank companions of the weights that match, instead of all parameters; they are merged at the end: "
          "rank=8:'*.weight'")
      ->type_name("rank=N[,alpha=X]:PATTERN")
      ->check(checked_by(&parse_lora));
  add_augment(*train, command.training.augment,
              "images, a little different each time: 'crop=4,flip', resize=HxW, random_resized_crop=MIN:MAX, "
              "colour_jitter=B:C:S:H, normalise=MEAN/DEVIATION, mixup=ALPHA, cutmix=ALPHA");
  add_sparse_update(train, command.training);
  train
      ->add_option_function<std::string>(
          "--qat",
          [&command](const std::string& text) { command.training.qat = parse_quantised_training(text).value(); },
          "quantisation-aware: compute forward with the integers that `coterie model quantise` will make of the model, "
          "so that it learns to be right with them: full (with --full) or weights, with the bits of weights behind a "
          "colon, full:4")
      ->type_name("PARTS[:BITS]")
      ->check(checked_by(&parse_quantised_training));
  train
      ->add_option_function<std::string>(
          "--replace-head", [&command](const std::string& text) { command.head = parse_head(text).value(); },
          "first give this last layer as many outputs, with new weights: classifier.1:5")
      ->type_name("LAYER:CLASSES[:SEED]")
      ->check(checked_by(&parse_head));
  add_optimisation(train, command.training.optimisation,
                   "which neighbouring ops are computed as one: 0 none, 1 where no bit changes");
  train->add_flag("--freeze-statistics", command.training.freeze_statistics,
                  "batch norm uses its running statistics and leaves them alone");
}

namespace {

void add_train(CLI::App& model, Invocation& invocation) {
  CLI::App* train = add_command(model, "train", "train a model file on data of this machine",
                                "  coterie model train net.cotf --data mnist:DIR --epochs 3\n"
                                "  coterie model train net.cotf --data photos.cotf --freeze 'features.*' \\\n"
                                "      --optimizer adamw --lr 0.001 --lr-schedule cosine:warmup=100 --batch 32 \\\n"
                                "      --memory-budget 64M --checkpoint ck --resume -o trained.cotf\n"
                                "  coterie model train net.cotf --data mnist:DIR --watch recommended\n\n"
                                "Ctrl-C writes the checkpoint; the same command with --resume goes on from it,\n"
                                "to the same bytes.");
  TrainCommand& command = invocation.train;
  add_model_file(train, command.model);
  add_data_option(train, command.data);
  train
      ->add_option("-o,--file", command.to,
                   "where to write the trained model (default: beside the model, net.cotf gives net.trained.cotf)")
      ->type_name("FILE");
  add_training_options(train, command);
  CLI::Option* checkpoint =
      train->add_option("--checkpoint", command.checkpoint, "written at the end of each epoch and on Ctrl-C")
          ->type_name("FILE");
  train->add_option("--checkpoint-every", command.checkpoint_steps, "and so many steps")
      ->type_name("STEPS")
      ->needs(checkpoint)
      ->check(between<uint32_t>(1, UINT32_MAX));
  train
      ->add_option("--checkpoint-key", command.checkpoint_key, "a file of 32 secret bytes: the checkpoint is encrypted")
      ->type_name("FILE")
      ->needs(checkpoint);
  train->add_flag("--resume", command.resumes, "go on from the checkpoint, if it is there")->needs(checkpoint);
  train->add_option("--log-dir", command.log_dir, "an event file for TensorBoard goes there, written as the epochs end")
      ->type_name("DIR");
  train->add_option("--mlflow", command.mlflow, "push parameters and metrics to this MLflow server as the epochs end")
      ->type_name("URL");
  CLI::Option* watch =
      train
          ->add_option("--watch", command.watch,
                       "look for what goes wrong (weights that explode, dead units, a loss that does not fall): "
                       "'recommended', or a file of checks")
          ->type_name("recommended|FILE");
  train->add_option("--watch-report", command.watch_report, "write what the watch found there, as JSON")
      ->type_name("FILE")
      ->needs(watch);
  CLI::Option* record = train
                            ->add_option("--record", command.record,
                                         "a new folder for the tensors of steps, which `coterie model debug DIR` shows")
                            ->type_name("DIR")
                            ->excludes(watch);
  train->add_option("--record-every", command.record_every, "record the steps 0, N, 2 N, ...; one that fails, too")
      ->capture_default_str()
      ->type_name("N")
      ->needs(record)
      ->check(between<uint32_t>(1, 1'000'000));
  train
      ->add_option_function<std::string>(
          "--record-max",
          [&command](const std::string& text) { command.record_bytes_max = parse_byte_count(text).value(); },
          "of the folder; the oldest steps go where there are more")
      ->default_str("1G")
      ->type_name("BYTES")
      ->needs(record)
      ->check(checked_by(&parse_byte_count));
  add_training_delegate(*train, command);
  train->add_flag("--json", command.as_json, "print the result as JSON");
  train->add_flag("--quiet", command.is_quiet, "no progress");
  train->callback([&] {
    if (command.to.empty()) command.to = trained_name(command.model);
    invocation.run = [&command] { return train_model(command); };
  });
}

void add_fine_tune(CLI::App& model, Invocation& invocation) {
  CLI::App* tune =
      add_command(model, "fine-tune", "train a model for this machine, and keep it only if it is better here",
                  "  coterie model fine-tune published.cotf --data mine.cotf --epochs 5 -o own.cotf\n"
                  "  coterie model fine-tune published.cotf --data mine.cotf --train-last 1 --json\n\n"
                  "A share of the examples is held out, always the same. The result is written if\n"
                  "more of them are right, or as many with a lower loss. Nothing leaves this\n"
                  "machine. Exit code 0: it is better; 1: it is not, and nothing is written.");
  TrainCommand& command = invocation.train;
  const auto share = std::make_shared<float>(0.2f);
  add_model_file(tune, command.model);
  add_data_option(tune, command.data);
  tune->add_option("-o,--file", command.to,
                   "where to write it (default: beside the model, net.cotf gives net.trained.cotf)")
      ->type_name("FILE");
  tune->add_option("--held-out-share", *share, "of the examples, that it is judged by and not trained on")
      ->capture_default_str()
      ->type_name("P")
      ->check(between(0.001, static_cast<double>(kValidationShareMax)));
  add_training_options(tune, command);
  tune->remove_option(tune->get_option("--lora"));
  tune->add_flag("--json", command.as_json, "print the result as JSON");
  tune->callback([&, share] {
    if (command.to.empty()) command.to = trained_name(command.model);
    invocation.run = [&command, share] { return fine_tune_model(command, *share); };
  });
}

void add_why_nan(CLI::App& model, Invocation& invocation) {
  CLI::App* why = add_command(model, "why-nan", "which op of a training made the first NaN or infinity",
                              "  coterie model why-nan net.cotf --data mnist:DIR --lr 10\n"
                              "  coterie model why-nan net.cotf --data mnist:DIR --lr 10 --checkpoint ck --json\n\n"
                              "Takes the options that `model train` was given, and trains again from the\n"
                              "beginning or the checkpoint. Exit code 0: all values are finite; 1: found.");
  TrainCommand& command = invocation.train;
  add_model_file(why, command.model);
  add_data_option(why, command.data);
  add_training_options(why, command);
  CLI::Option* checkpoint =
      why->add_option("--checkpoint", command.checkpoint, "of the same training: the last good state to begin from")
          ->type_name("FILE");
  why->add_option("--checkpoint-key", command.checkpoint_key, "a file of 32 secret bytes that opens it")
      ->type_name("FILE")
      ->needs(checkpoint);
  why->add_flag("--json", command.as_json, "print the result as JSON");
  why->callback([&] { invocation.run = [&command] { return explain_non_finite(command); }; });
}

void add_evaluate(CLI::App& model, Invocation& invocation) {
  CLI::App* judge = add_command(model, "evaluate", "accuracy and loss of a model file on data",
                                "  coterie model evaluate model.cotf --data held-out.cotf\n"
                                "  coterie model evaluate model.cotf --data mnist:DIR --metrics top-3,f1 -o json\n");
  const auto options = std::make_shared<EvaluateOptions>();
  add_model_file(judge, options->model);
  add_data_option(judge, options->data);
  CLI::Option* const loss = add_loss(*judge, options->loss);
  add_heads(*judge, options->heads)->excludes(loss);
  add_ignore_label(*judge, options->ignore_label);
  judge
      ->add_option("--metrics", options->measures,
                   std::string("further measures, with commas between: ") + kMeasureTexts)
      ->type_name("LIST")
      ->check(checked_by(&parse_measures));
  add_augment(*judge, options->augment, "as in training; of it resize and normalise count here");
  add_threads(judge, options->threads);
  add_output_option(*judge, invocation.admin);
  judge->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      options->as_json = invocation.admin.wants_json();
      return evaluate_model(*options);
    };
  });
}

void add_predict(CLI::App& model, Invocation& invocation) {
  CLI::App* predict = add_command(model, "predict", "what a model file says of examples",
                                  "  coterie model predict trained.cotf --data mnist:DIR --limit 5 --top 3\n"
                                  "  coterie model predict trained.cotf --data mnist:DIR --limit 0 -o said.npz\n");
  const auto options = std::make_shared<PredictOptions>();
  add_model_file(predict, options->model);
  add_data_option(predict, options->data);
  predict->add_option("--limit", options->limit, "examples, from the first; 0: all")->capture_default_str();
  predict->add_option("--top", options->top, "classes shown of each, with their scores")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1'000'000));
  add_threads(predict, options->threads);
  add_optimisation(predict, options->level,
                   "which neighbouring ops are computed as one: 0 none, 1 where no bit changes");
  CLI::Option* some = predict->add_option("--model-output", options->outputs, "one of several outputs, or some");
  some->allow_extra_args(false)->type_name("NAME");
  predict->add_option("--delegate", options->delegate, "who computes what it can: onednn, or opencl")
      ->type_name("NAME")
      ->check(one_of(delegate_names()));
  CLI::Option* json = predict->add_flag("--json", options->as_json, "print JSON");
  predict->add_option("-o,--file", options->to, "write all numbers there for NumPy, by the outputs' names, .npz")
      ->type_name("FILE")
      ->excludes(json);
  predict->callback([&invocation, options] { invocation.run = [options] { return predict_with_model(*options); }; });
}

void add_profile(CLI::App& model, Invocation& invocation) {
  CLI::App* profile = add_command(model, "profile", "time of each op in training, its roof, and the memory plan",
                                  "  coterie model profile net.cotf --batch 32\n"
                                  "  coterie model profile net.cotf --batch 8 --freeze 'features.*' \\\n"
                                  "      --optimizer adam\n"
                                  "  coterie model profile net.cotf --trace trace.json\n"
                                  "  coterie model profile net.cotf --roofline --svg roofline.svg\n"
                                  "  coterie model profile net.cotf --data mnist:DIR --augment crop=4,flip\n");
  const auto options = std::make_shared<ProfileOptions>();
  add_model_file(profile, options->model);
  CLI::Option* const data =
      profile
          ->add_option("--data", options->data,
                       std::string("show where the time until and between steps goes: a data set file, ") + kDataNames)
          ->type_name("DATA");
  profile->add_option("--batch", options->training.batch_size, "examples a step")
      ->capture_default_str()
      ->check(between<uint32_t>(1, kBatchMax));
  profile->add_option("--steps", options->steps, "measured; their medians are shown")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 100'000));
  add_loss(*profile, options->loss);
  add_optimizer(profile, options->training.optimizer);
  add_storage(profile, options->training);
  add_threads(profile, options->training.threads);
  add_patterns(profile, "--freeze", options->training.freeze, "parameters that stay as they are; may be given again");
  add_augment(*profile, options->training.augment, "of --data, as in training")->needs(data);
  CLI::Option* const roofline =
      profile
          ->add_flag("--roofline", options->has_roofline,
                     "show how near each op comes to what the machine can, which is measured for half a second")
          ->excludes(data);
  profile->add_option("--peak-gflops", options->peak_gflops, "its fp32 operations, in place of measuring them")
      ->type_name("X")
      ->check(between<double>(1e-6, 1e9))
      ->needs(roofline);
  profile->add_option("--memory-gbps", options->memory_gbps, "bytes that it reads and writes, in GB/s, likewise")
      ->type_name("X")
      ->check(between<double>(1e-6, 1e9))
      ->needs(roofline);
  profile->add_option("--svg", options->chart, "also draw the roofline")->type_name("FILE")->needs(roofline);
  profile->add_option("--trace", options->trace, "write the timeline of the measured steps there, for ui.perfetto.dev")
      ->type_name("FILE");
  profile->add_flag("--json", options->as_json, "print JSON");
  profile->callback([&invocation, options] { invocation.run = [options] { return profile_model(*options); }; });
}

}  // namespace

void add_training(CLI::App& model, Invocation& invocation) {
  add_train(model, invocation);
  add_fine_tune(model, invocation);
  add_why_nan(model, invocation);
  add_debug(model, invocation);
  add_compare_models(model, invocation);
  add_evaluate(model, invocation);
  add_predict(model, invocation);
  add_profile(model, invocation);
}

}  // namespace coterie
