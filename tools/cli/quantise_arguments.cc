// coterie model quantise and dequantise: their grammar.
#include "device_sdk/runtime/limits.h"
#include "tools/cli/arguments.h"
#include "tools/cli/augment_option.h"
#include "tools/cli/head_option.h"
#include "tools/cli/help.h"
#include "tools/cli/ignore_label_option.h"
#include "tools/cli/loss_option.h"
#include "tools/cli/model_quantise.h"
#include "tools/data/load.h"

namespace coterie {

void add_quantise(CLI::App& model, Invocation& invocation) {
  CLI::App* command = add_command(model, "quantise", "store a model as int8 or fewer bits: 4 to 10 times smaller",
                                  "  coterie model quantise net.cotf -o small.cotf --data digits\n"
                                  "  coterie model quantise net.cotf -o small.cotf --data photos.cotf \\\n"
                                  "      --max-drop 0.2% --keep 'head.*'\n"
                                  "  coterie model quantise net.cotf -o tiny.cotf --data digits --bits auto \\\n"
                                  "      --target-ratio 8\n"
                                  "  coterie model quantise net.cotf -o int8.cotf --data digits --full\n"
                                  "  coterie model quantise net.cotf -o int8.cotf --full --ranges result.json\n\n"
                                  "Each channel has a scale. Whoever opens the file computes with float32:\n"
                                  "it is smaller, and no faster. With --full activations are int8, too: the\n"
                                  "file computes with integers, the same bits everywhere.\n");
  const auto options = std::make_shared<QuantiseOptions>();
  command->add_option("FILE", options->from, "model file")->required()->type_name("");
  command->add_option("-o,--file", options->to, "where to write it")->required()->type_name("FILE");
  CLI::Option* const data = command
                                ->add_option("--data", options->data,
                                             std::string("a data set file, ") + kDataNames +
                                                 "; with --ranges it may be left out: nothing is measured then")
                                ->type_name("DATA");
  CLI::Option* const loss = add_loss(*command, options->loss)->needs(data);
  add_heads(*command, options->heads)->excludes(loss)->needs(data);
  add_ignore_label(*command, options->ignore_label)->needs(data);
  add_augment(*command, options->augment, "as in training; of it resize and normalise count here")->needs(data);
  command
      ->add_option_function<std::string>(
          "--max-drop", [options](const std::string& text) { options->drop_max = *parse_drop(text); },
          "accuracy that may be lost (of numbers: by how much the loss may grow; of each head), else nothing is "
          "written")
      ->type_name("X%")
      ->default_str("0.5%")
      ->check(checked_by(parse_drop));
  command
      ->add_option("--calibration", options->calibration_examples,
                   "examples by which ranges are chosen: a remedy is kept if their loss falls")
      ->type_name("N")
      ->capture_default_str()
      ->check(between<uint64_t>(1, 1'000'000));
  command
      ->add_option_function<std::string>(
          "--bits", [options](const std::string& text) { options->weight_bits = *parse_weight_bits(text); },
          "of a weight, 1 to 16 (with --full 8 at most); train with --qat full:4 for 4; auto: found for each weight, "
          "so "
          "that the file is small enough and loses least")
      ->type_name("N|auto")
      ->default_str("8")
      ->check(checked_by(parse_weight_bits));
  command
      ->add_option("--target-ratio", options->target_ratio,
                   "with --bits auto: how many times smaller than the float32 file; 8 unless given")
      ->type_name("R")
      ->check(between<double>(kTargetRatioMin, kTargetRatioMax));
  CLI::Option* full = command->add_flag("--full", options->is_full, "activations as int8, too: it computes in int8");
  command
      ->add_option("--ranges", options->ranges,
                   "with --full: where activations lie, as devices have counted (the answer of a job of kind "
                   "activation_ranges), in the place of what DATA says")
      ->type_name("FILE");
  command->add_option("--keep", options->keep, "weights that stay float32; may be given again")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->excludes(full);
  command->add_option("--threads", options->threads, "at most so many, the results are the same bits")
      ->capture_default_str()
      ->check(between<uint32_t>(1, limits::kThreadsMax))
      ->excludes(full);
  command->add_flag("--json", options->as_json, "print JSON");
  command->callback([&invocation, options] { invocation.run = [options] { return quantise_model(*options); }; });

  CLI::App* back = add_command(model, "dequantise", "write the float32 model that a quantised file stands for",
                               "  coterie model dequantise small.cotf -o net.cotf\n");
  const auto files = std::make_shared<DequantiseOptions>();
  back->add_option("FILE", files->from, "model file")->required()->type_name("");
  back->add_option("-o,--file", files->to, "where to write it")->required()->type_name("FILE");
  back->callback([&invocation, files] { invocation.run = [files] { return dequantise_model(*files); }; });
}

}  // namespace coterie
