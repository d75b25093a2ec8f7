// coterie job tune: its grammar.
#include <memory>

#include "tools/cli/help.h"
#include "tools/cli/job_tune.h"

namespace coterie {

void add_tune(CLI::App& job, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* tune =
      add_server_command(job, "tune", "find a job's best settings on a server's devices",
                         "  coterie job tune job.json --model model.cotf --evaluation held-out.cotf \\\n"
                         "      --set training.optimizer.learning_rate=0.03,0.1,0.3 \\\n"
                         "      --set training.local_epochs=1,2,4\n\n"
                         "Each combination of settings is an arm. All arms train for a few rounds, each as\n"
                         "a job of its own; the best third goes on from its models for three times as\n"
                         "many, and so forth: 27 arms of a job of 81 rounds take 189 rounds, not 2,187.\n"
                         "The held-out data judge. Interrupted or killed, the same command goes on; jobs\n"
                         "that run meanwhile end by themselves. Each arm draws on its population's privacy\n"
                         "budget, as every job does.\n");
  const auto options = std::make_shared<TuneOptions>();
  tune->add_option("FILE", options->job, "the job as JSON, as `coterie job create` takes it")->required();
  tune->add_option("--model", options->model, "model file to upload and start all arms from")->type_name("FILE");
  tune->add_option("--evaluation", options->evaluation, "data set file to upload and judge all arms on")
      ->type_name("FILE");
  tune->add_option("--set", options->grid, "a field's values; more of it: every combination")
      ->type_name("FIELD=VALUE,...")
      ->take_all();
  tune->add_option("--variant", options->list, "one arm's fields; more of it: each of them")
      ->type_name("FIELD=VALUE;...")
      ->take_all();
  tune->add_option("--eta", options->eta, "each rung has one in so many arms of the one before")
      ->capture_default_str()
      ->check(between<uint32_t>(2, 16));
  tune->add_option("--first-rounds", options->rounds_first, "of each arm of the first rung")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1'000'000));
  tune->add_option("--parallel", options->parallel, "jobs at a time")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 64));
  tune->add_flag("--finish", options->finishes, "train the best arm for all rounds of the job");
  tune->add_option("--state", options->state_file, "file to go on from, new or of the same request")
      ->capture_default_str()
      ->type_name("FILE");
  add_output_option(*tune, admin);
  tune->callback([&, options] { invocation.run = [&admin, options] { return tune_job(admin, *options); }; });
}

}  // namespace coterie
