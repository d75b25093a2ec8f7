// coterie model clusters: its grammar.
#include "proto/messages/model_clusters.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_clusters.h"

namespace coterie {

void add_clusters(CLI::App& model, Invocation& invocation) {
  CLI::App* command =
      add_command(model, "clusters", "a file of several models, for jobs with clusters, or one of its models",
                  "  coterie model clusters net.cotf --count 2 -o two.cotf\n"
                  "  coterie model clusters mine.cotf yours.cotf -o two.cotf\n"
                  "  coterie model clusters two.cotf --take 2 -o second.cotf\n\n"
                  "A job with training.personal of kind clusters trains such a file. With\n"
                  "--count, chance makes the others: weights that are as large, and differ.\n");
  const auto options = std::make_shared<ModelClustersOptions>();
  command->add_option("FILE", options->from, "model files of one form")->required()->type_name("");
  command->add_option("--count", options->count, "of one file: how many models the new one holds")
      ->check(between<uint32_t>(kClustersMin, kClustersMax));
  command->add_option("--spread", options->spread, "how far the others are from it, in parts of its weights' size")
      ->capture_default_str()
      ->check(between(0.0, static_cast<double>(kClusterSpreadMax)));
  command->add_option("--seed", options->seed, "of that chance")
      ->capture_default_str()
      ->check(between<uint64_t>(0, UINT64_MAX));
  command->add_option("--take", options->take, "instead, write the model of this number, from 1")
      ->check(between<uint32_t>(1, kClustersMax));
  command->add_option("-o,--file", options->to, "where to write it")->required()->type_name("FILE");
  command->callback([&invocation, options] { invocation.run = [options] { return write_clusters(*options); }; });
}

}  // namespace coterie
