// coterie model ab: its grammar.
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_ab.h"

namespace coterie {

void add_ab(CLI::App& model, Invocation& invocation) {
  CLI::App* command = add_command(model, "ab", "whether a new version is worse, from what devices got right with both",
                                  "  coterie model ab scores.csv\n"
                                  "  coterie model ab scores.csv --margin 0.01 --null-rollouts 1000\n\n"
                                  "scores.csv has a line for each device, in the order in which they were heard:\n"
                                  "  device,examples,correct_before,correct_after\n"
                                  "It may grow, and be judged again after each line: the verdict holds however\n"
                                  "often one looks. Exit code 0: harmless, undecided or still open; 1: harmful.\n");
  const auto options = std::make_shared<ModelAbOptions>();
  command->add_option("FILE", options->file, "the scores")->required()->type_name("");
  command
      ->add_option("--alpha", options->settings.alpha,
                   "probability of an alarm about a version that is as good, and of a release of one that is worse by "
                   "the margin, at most")
      ->capture_default_str()
      ->type_name("P")
      ->check(between(1e-6, 0.5));
  command->add_option("--margin", options->settings.margin, "of accuracy: a release says that less is lost than this")
      ->capture_default_str()
      ->type_name("SHARE")
      ->check(between(1e-6, 1.0));
  command
      ->add_option(
          "--harm-max", options->settings.harm_max,
          "of accuracy: what one device's difference counts at most; less decides sooner, about clipped differences")
      ->capture_default_str()
      ->type_name("SHARE")
      ->check(between(1e-6, 1.0));
  command->add_option("--devices-max", options->settings.devices_max, "devices after which nothing more is expected")
      ->capture_default_str()
      ->type_name("N")
      ->check(between<uint32_t>(1, 10'000'000));
  command
      ->add_option("--null-rollouts", options->null_rollouts,
                   "rollouts of a version that is as good, made of these devices by changing sides by chance: how many "
                   "raise an alarm")
      ->type_name("N")
      ->check(between<uint32_t>(1, 100'000));
  command->add_option("--seed", options->seed, "of these rollouts")->capture_default_str()->type_name("N");
  command->add_flag("--json", options->as_json, "print the result as JSON");
  command->callback([&invocation, options] { invocation.run = [options] { return judge_model_ab(*options); }; });
}

}  // namespace coterie
