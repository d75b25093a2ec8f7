#include "tools/cli/canary_arguments.h"

#include <memory>

#include "tools/cli/canary_commands.h"
#include "tools/cli/help.h"
#include "tools/cli/model_commands.h"

namespace coterie {
namespace {

void add_promote(CLI::App& model, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* promote =
      add_server_command(model, "promote", "tell applications and devices to use this version of a job's model",
                         "  coterie model promote jk2x9q4c 3\n"
                         "  coterie model promote jk2x9q4c 4 --canary 5\n"
                         "  coterie model promote jk2x9q4c 4 --canary 5 --promote-after 2000\n"
                         "  coterie model promote jk2x9q4c 4 --canary 5 --evaluation-job jm3w8r5d\n\n"
                         "With --canary a share of the population's devices gets this version, and the\n"
                         "others keep theirs. Say with `coterie model observe` what devices got right with\n"
                         "both: the server takes the canary back as soon as they show that it is worse.\n"
                         "With --evaluation-job it hears that job's rounds by itself. Promoted again\n"
                         "without --canary, it is everybody's.\n");
  const auto job = std::make_shared<std::string>();
  const auto version = std::make_shared<uint64_t>(0);
  const auto canary = std::make_shared<CanaryOptions>();
  promote->add_option("JOB", *job, "id of the job (`coterie job list`)")->required();
  promote->add_option("VERSION", *version, "as `coterie model list` shows it")->required();
  CLI::Option* const percent =
      promote
          ->add_option("--canary", canary->percent,
                       "of the population's devices: only those get it, chosen by a hash of their ids")
          ->type_name("PERCENT")
          ->check(between<uint32_t>(1, 99));
  promote
      ->add_option("--promote-after", canary->promote_after,
                   "so many observations without an alarm make it everybody's")
      ->type_name("N")
      ->needs(percent)
      ->check(between<uint32_t>(1, 100'000));
  promote
      ->add_option("--evaluation-job", canary->evaluation_job,
                   "id of an evaluation of this version and the one before: its rounds are heard, each device once")
      ->type_name("JOB")
      ->needs(percent);
  promote
      ->add_option("--alpha", canary->alpha,
                   "probability that a version that is as good is taken back, at most (default: 0.05)")
      ->type_name("P")
      ->needs(percent)
      ->check(between(1e-6, 0.5));
  promote
      ->add_option("--margin", canary->margin,
                   "of accuracy: \"harmless\" says that less is lost than this (default: 0.02)")
      ->type_name("SHARE")
      ->needs(percent)
      ->check(between(1e-6, 1.0));
  promote
      ->add_option("--harm-max", canary->harm_max,
                   "of accuracy: what one observation counts at most; less decides sooner (default: 1)")
      ->type_name("SHARE")
      ->needs(percent)
      ->check(between(1e-6, 1.0));
  promote->add_option("--devices-max", canary->devices_max, "observations that are heard, and no more (default: 10000)")
      ->type_name("N")
      ->needs(percent)
      ->check(between<uint32_t>(1, 100'000));
  add_output_option(*promote, admin);
  promote->callback([&, job, version, canary] {
    invocation.run = [&admin, job, version, canary] {
      return canary->percent == 0 ? release_model(admin, *job, *version)
                                  : promote_canary(admin, *job, *version, *canary);
    };
  });
}

}  // namespace

void add_canaries(CLI::App& model, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  add_promote(model, invocation);

  const auto job = std::make_shared<std::string>(), canary = std::make_shared<std::string>(),
             file = std::make_shared<std::string>();
  CLI::App* list = add_server_command(model, "canaries", "versions that a share of the devices has, or had",
                                      "  coterie model canaries jk2x9q4c\n");
  list->add_option("JOB", *job, "id of the job (`coterie job list`)")->required();
  add_output_option(*list, admin);
  list->callback([&, job] { invocation.run = [&admin, job] { return list_canaries(admin, *job); }; });

  CLI::App* observe = add_server_command(model, "observe", "tell a canary what devices got right with both versions",
                                         "  coterie model observe jk2x9q4c c7m2x9qa scores.csv\n\n"
                                         "scores.csv has a line for each device, as for `coterie model ab`:\n"
                                         "  device,examples,correct_before,correct_after\n"
                                         "Each device counts once a canary: the file may grow, and be sent again.\n"
                                         "Exit code 1: the canary was rolled back.\n");
  observe->add_option("JOB", *job, "id of the job (`coterie job list`)")->required();
  observe->add_option("CANARY", *canary, "its id (`coterie model canaries`)")->required();
  observe->add_option("FILE", *file, "the scores")->required()->type_name("");
  add_output_option(*observe, admin);
  observe->callback([&, job, canary, file] {
    invocation.run = [&admin, job, canary, file] { return observe_canary(admin, *job, *canary, *file); };
  });

  CLI::App* end = add_server_command(model, "end-canary", "give all devices the version before again",
                                     "  coterie model end-canary jk2x9q4c c7m2x9qa\n");
  end->add_option("JOB", *job, "id of the job (`coterie job list`)")->required();
  end->add_option("CANARY", *canary, "its id (`coterie model canaries`)")->required();
  add_output_option(*end, admin);
  end->callback(
      [&, job, canary] { invocation.run = [&admin, job, canary] { return end_canary(admin, *job, *canary); }; });
}

}  // namespace coterie
