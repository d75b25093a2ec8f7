// coterie model debug: its grammar.
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_debug.h"
#include "tools/data/load.h"

namespace coterie {

void add_debug(CLI::App& model, Invocation& invocation) {
  CLI::App* debug = add_command(model, "debug", "step into a training: tensors, statistics, watchpoints",
                                "  coterie model debug net.cotf --data mnist:DIR --lr 3\n"
                                "  echo 'watch recommended\n"
                                "  continue\n"
                                "  where' | coterie model debug net.cotf --data mnist:DIR --lr 3\n"
                                "  coterie model train net.cotf --data mnist:DIR --record steps --record-every 50\n"
                                "  coterie model debug steps\n\n"
                                "Takes the options that `model train` was given, and trains to the same bits.\n"
                                "`help` lists the commands; Ctrl-C stops what runs, and comes back to the prompt.\n"
                                "Exit code 0: every command worked; 1: one did not, and nobody typed it.");
  TrainCommand& command = invocation.train;
  debug->add_option("FILE", command.model, "model file, or a folder that `model train --record` made")
      ->required()
      ->type_name("");
  debug->add_option("--data", command.data, std::string("a data set file, ") + kDataNames)->type_name("DATA");
  add_training_options(debug, command);
  CLI::Option* checkpoint =
      debug->add_option("--checkpoint", command.checkpoint, "of the same training: the state to begin from")
          ->type_name("FILE");
  debug->add_option("--checkpoint-key", command.checkpoint_key, "a file of 32 secret bytes that opens it")
      ->type_name("FILE")
      ->needs(checkpoint);
  debug->callback([&, debug] {
    std::vector<std::string> given;
    for (const CLI::Option* option : debug->get_options()) {
      if (option->count() > 0 && !option->get_positional()) given.push_back(option->get_name());
    }
    invocation.run = [&command, given] { return debug_model(command, given); };
  });
}

}  // namespace coterie
