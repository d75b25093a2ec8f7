// coterie model delegate: its grammar.
#include <memory>

#include "device_sdk/runtime/limits.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_delegate.h"
#include "tools/delegate/open_delegate.h"

namespace coterie {

void add_delegate(CLI::App& model, Invocation& invocation) {
  CLI::App* delegate =
      add_command(model, "delegate", "what a delegate would compute of a model, and whether it is right",
                  "  coterie model delegate net.cotf --to onednn --batch 32\n"
                  "  coterie model delegate net.cotf --to opencl --whatever-cost\n"
                  "  coterie model delegate net.cotf --to onednn --batch 32 --train\n\n"
                  "Exit code 1: the delegate computes something else, or fails.");
  const auto options = std::make_shared<ModelDelegateOptions>();
  delegate->add_option("FILE", options->model, "model file")->required()->type_name("");
  delegate->add_option("--to", options->to, "onednn, or opencl")
      ->required()
      ->type_name("NAME")
      ->check(one_of(delegate_names()));
  delegate->add_option("--batch", options->batch_size, "examples at a time")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 65'536));
  delegate->add_option("--steps", options->steps, "measured, with and without; the medians are shown")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 100'000));
  delegate->add_option("--threads", options->threads, "of either, at most so many")
      ->capture_default_str()
      ->check(between<uint32_t>(1, limits::kThreadsMax));
  delegate->add_flag("--whatever-cost", options->takes_whatever_cost,
                     "also parts whose borders cost more than they save");
  CLI::Option* const trains =
      delegate->add_flag("--train", options->trains,
                         "a training, forward and backward: which ops train through it, and why not the others");
  delegate
      ->add_option_function<std::string>(
          "--loss", [options](const std::string& name) { options->loss = *loss_from(name); },
          "of --train, with classes as labels")
      ->default_str("softmax_cross_entropy")
      ->type_name("NAME")
      ->needs(trains)
      ->check(one_of({loss_names().begin(), loss_names().end()}));
  delegate->add_flag("--json", options->as_json, "print JSON");
  delegate->callback([&invocation, options] { invocation.run = [options] { return delegate_model(*options); }; });
}

void add_training_delegate(CLI::App& train, TrainCommand& command) {
  CLI::Option* const delegate =
      train.add_option("--delegate", command.delegate, "who computes what it can, forward and backward: onednn")
          ->type_name("NAME")
          ->check(one_of(delegate_names()));
  // They look at each step of our program, or plan it before anybody says what a delegate takes of it.
  for (const char* const name : {"--watch", "--record", "--memory-budget"}) delegate->excludes(train.get_option(name));
}

}  // namespace coterie
