#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/vertical_job_commands.h"
#include "tools/vertical/coordinator.h"
#include "tools/vertical/job_commands.h"
#include "tools/vertical/make_bottom.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party.h"
#include "vertical/coordinator/job_record.h"

namespace coterie {
namespace {

constexpr const char* kGroupExamples =
    "  coterie vertical demo                 two parties and their coordinator\n"
    "  coterie vertical party --config label.json\n"
    "                        one party, next to its own data\n"
    "  coterie vertical predict --config label.json\n"
    "                        scores of people by a model that both have\n"
    "  coterie vertical coordinator --config coordinator.json\n"
    "                        where parties meet who cannot reach each other\n"
    "  coterie vertical bottom --manifest manifest.json --contract contract.json \\\n"
    "                        -o bottom.cotf\n"
    "                        a model that a party's own devices train first\n"
    "  coterie vertical submit --config label.json\n"
    "                        a job for it; then approve, status, pause, resume,\n"
    "                        cancel\n"
    "  coterie vertical list                 all jobs, for a server's operator\n\n"
    "docs/VERTICAL.md says how it works and who learns what.";

constexpr const char* kDemoExamples =
    "  coterie vertical demo                 breast cancer (UCI): 10 columns and the\n"
    "                        label at one party, 20 columns at the other\n"
    "  coterie vertical demo --trees 20 --depth 4\n"
    "  coterie vertical demo --goss 0.2,0.1  each round looks at the fifth with the\n"
    "                        largest gradients and at a tenth of all besides\n"
    "  coterie vertical demo --model logistic --epochs 100\n"
    "  coterie vertical demo --model logistic --mode exact --epochs 20\n"
    "  coterie vertical demo --model linear  ridge regression in closed form\n"
    "  coterie vertical demo --model split --network deepfm --in-flight 4\n"
    "  coterie vertical demo --model split --protection max_norm --activations int8\n"
    "  coterie vertical demo --label-table mine.csv --feature-table theirs.csv\n\n"
    "Tables are CSV files with a header: a column id, at the label party a column\n"
    "label of 0 and 1 (--model linear: any numbers), and columns of numbers\n"
    "(nothing, ? or NA: no value). One person in five is held out, by a hash of the\n"
    "id.\n\n"
    "Exit codes: 0 trained, and each score equals that of one table (a logistic\n"
    "regression: the log loss is at most 0.003 above its; an exact or a linear one:\n"
    "but for rounding; a split network: the AUC is at most 0.02 below its, and with\n"
    "noise or turned labels it is not judged); 1 failed, 2 usage or bad data, 130\n"
    "interrupted (nothing is left behind).";

constexpr const char* kPartyExamples =
    "  coterie vertical party --config label.json\n\n"
    "label.json:\n"
    "  {\"role\": \"label\", \"manifest\": \"manifest.json\",\n"
    "   \"approved\": \"SHA-256 of manifest.json\", \"table\": \"label_party.csv\",\n"
    "   \"listen\": \"127.0.0.1:4711\", \"out\": \"results\",\n"
    "   \"tls\": {\"ca\": \"ca.pem\", \"certificate\": \"label-party.pem\",\n"
    "           \"key\": \"label-party.key\", \"peer_name\": \"feature-party\"}}\n"
    "The feature party has \"role\": \"feature\" and \"connect\" for \"listen\". Parties\n"
    "that meet at a coordinator both have, for \"listen\" and \"connect\",\n"
    "  \"coordinator\": {\"address\": \"HOST:PORT\", \"name\": \"coordinator\"}\n"
    "`coterie vertical demo` leaves both parties' files to begin with. A party that\n"
    "was killed goes on where it was when it is started again.\n\n"
    "Exit codes: 0 done, now or before; 1 failed or refused, 2 usage or bad data,\n"
    "4 the other party is lost, 5 it said nothing in time, 130 interrupted.";

constexpr const char* kPredictExamples =
    "  coterie vertical predict --config label.json\n\n"
    "Both parties run it. The configuration is the one of `coterie vertical party`\n"
    "and has a \"model\" beside: the model.part that the training left at this party.\n"
    "The manifest's kind is vertical_trees_prediction, vertical_logistic_prediction,\n"
    "vertical_linear_prediction or vertical_split_prediction, and its \"model\" is the\n"
    "SHA-256 of the manifest that the model was trained by. It is submitted and\n"
    "approved as a training is.\n"
    "Tables need no labels. The label party gets scores.csv: a score for each\n"
    "person whom both tables have.\n\n"
    "Exit codes: 0 done, 1 failed or refused, 2 usage or bad data, 4 the other\n"
    "party is lost, 5 it said nothing in time, 130 interrupted.";

constexpr const char* kBottomExamples =
    "  coterie data make 'csv:devices.csv?target=digit' --devices 20 -o shards\n"
    "  coterie vertical bottom --manifest manifest.json \\\n"
    "      --contract shards/contract.json -o bottom.cotf\n"
    "  coterie simulate job.json --data shards --model bottom.cotf --devices 20 \\\n"
    "      --out run\n\n"
    "The party's configuration then has\n"
    "  \"bottom\": {\"model\": \"run/model.cotf\",\n"
    "             \"contract\": \"shards/contract.json\"}\n"
    "The manifest is of a split network mlp, and says how wide its layers are.\n"
    "examples/hybrid runs all of it.\n\n"
    "Exit codes: 0 written, 2 usage or bad data, 1 failed.";

constexpr const char* kCoordinatorExamples =
    "  coterie vertical coordinator --config coordinator.json\n\n"
    "coordinator.json:\n"
    "  {\"listen\": \"0.0.0.0:4711\", \"jobs\": \"jobs\",\n"
    "   \"tls\": {\"ca\": \"ca.pem\", \"certificate\": \"coordinator.pem\",\n"
    "           \"key\": \"coordinator.key\"},\n"
    "   \"operators\": [\"fl-server\"]}\n"
    "It pairs the parties of a job that both have approved, and carries what they\n"
    "say without being able to read it. It knows its jobs when it starts again.\n\n"
    "Exit codes: 2 usage or bad settings, 1 or 4 failed, 130 ended by a signal.";

constexpr const char* kJobExamples =
    "  coterie vertical submit --config label.json     either party, once\n"
    "  coterie vertical approve --config label.json    each party, by its own key\n\n"
    "The configuration is the one of `coterie vertical party`, with a coordinator.\n\n"
    "Exit codes: 0 done, 1 refused, 2 usage or bad data, 4 the coordinator cannot be\n"
    "reached or does not let us in, 5 it said nothing in time, 130 interrupted.";

constexpr const char* kSharedNote =
    "A party's pause and an operator's are two: each takes back its own. JOB is an id\n"
    "of `coterie vertical list`: a job of the coordinator that the server operates.\n\n"
    "Exit codes: 0 done, 1 refused, 2 usage or bad data, 4 the coordinator or the\n"
    "server cannot be reached or does not let us in, 5 it said nothing in time, 130\n"
    "interrupted.\n";

void add_job_command(CLI::App& group, Invocation& invocation, JobCommand command, const char* name,
                     const char* description) {
  CLI::App* added = add_command(group, name, description, kJobExamples);
  const auto config = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  added->add_option("--config", *config, "the party's configuration")->required()->type_name("FILE");
  added->add_flag("--json", *json, "the job as JSON");
  added->callback([&invocation, command, config, json] {
    invocation.run = [command, config, json] { return run_job_command(command, *config, *json); };
  });
}

// What a party asks with its configuration, and a server's operator with the job's id.
void add_shared_command(CLI::App& group, Invocation& invocation, JobCommand command, const std::string& name,
                        const char* description) {
  const std::string examples = "  coterie vertical " + name + " --config label.json     by a party, with its key\n" +
                               "  coterie vertical " + name + " 4a81c02e5b7d4f60935ce1a2d8f7b614\n\n" + kSharedNote +
                               "\n";
  CLI::App* added = add_server_command(group, name, description, examples);
  AdminCommand& admin = invocation.admin;
  const auto config = std::make_shared<std::string>(), job = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  CLI::Option* const by_config = added->add_option("--config", *config, "the party's configuration")->type_name("FILE");
  CLI::Option* const by_id = added->add_option("JOB", *job, "id of a job of the server's coordinator");
  by_id->excludes(by_config);
  added->add_flag("--json", *json, "the job as JSON");
  added->callback([&invocation, &admin, command, name, config, job, json] {
    if (config->empty() && job->empty()) throw CLI::RequiredError("--config FILE or JOB");
    invocation.run = [&admin, command, name, config, job, json] {
      if (job->empty()) return run_job_command(command, *config, *json);
      if (*json) admin.output = "json";
      return command == JobCommand::status ? show_vertical_job(admin, *job) : change_vertical_job(admin, *job, name);
    };
  });
}

void add_party_task(CLI::App& command, Invocation& invocation, PartyTask task) {
  const auto config = std::make_shared<std::string>();
  command.add_option("--config", *config, "what this party has and whom it meets")->required()->type_name("FILE");
  command.callback(
      [&invocation, config, task] { invocation.run = [config, task] { return run_party_command(*config, task); }; });
}

// The words in the order of the choice's numbers.
template <typename Choice>
CLI::Option* add_choice(CLI::App& demo, const char* name, Choice& value, const std::vector<std::string>& words,
                        const char* description) {
  const auto choose = [&value, words](const std::string& word) {
    value = static_cast<Choice>(std::ranges::find(words, word) - words.begin());
  };
  return demo.add_option_function<std::string>(name, choose, description)->check(one_of(words));
}

std::vector<CLI::Option*> add_split_options(CLI::App& demo, vertical::SplitSettings& split) {
  using namespace vertical;
  return {add_choice(demo, "--network", split.network, {"mlp", "wide_deep", "deepfm", "two_tower"},
                     "mlp, wide_deep, deepfm or two_tower"),
          demo.add_option("--cut", split.cut, "numbers of a person at a network's cut")
              ->check(between<uint32_t>(1, kSplitWidthMax)),
          demo.add_option("--in-flight", split.in_flight, "batches of a network whose gradients are still to come")
              ->check(between<uint32_t>(1, kInFlightMax)),
          add_choice(demo, "--activations", split.activations, {"float32", "int8", "bit1"},
                     "float32, int8 or bit1: numbers forward"),
          add_choice(demo, "--gradients", split.gradients, {"float32", "int8"}, "float32 or int8: numbers back"),
          add_choice(demo, "--protection", split.protection, {"none", "max_norm", "marvell"},
                     "none, max_norm or marvell: noise on gradients"),
          demo.add_option("--label-epsilon", split.label_epsilon, "turn labels at random, once; 0: do not")
              ->check(between<double>(0, kLabelEpsilonMax)),
          demo.add_option("--activation-clip", split.activation_clip, "norm of a person's numbers at most; 0: any")
              ->check(between<double>(0, 1000)),
          demo.add_option("--activation-noise", split.activation_noise, "deviation of noise on them, over that norm")
              ->check(between<double>(0, kActivationNoiseMax))};
}

CLI::Option* add_goss_option(CLI::App& demo, std::optional<vertical::Goss>& goss) {
  const auto set = [&goss](const std::vector<double>& rates) {
    if (rates.size() != 2) throw CLI::ValidationError("--goss", "expected two shares, as in 0.2,0.1");
    goss = {.top_rate = rates[0], .other_rate = rates[1]};
  };
  return demo
      .add_option_function<std::vector<double>>(
          "--goss", set, "shares of people that a round of trees looks at; all people unless said")
      ->delimiter(',')
      ->type_name("TOP,OTHER");
}

// What it returns settles the model once all is parsed: settings of one are refused beside the other.
std::function<void()> add_demo_models(CLI::App& demo, VerticalDemoOptions& options) {
  const auto model = std::make_shared<std::string>("trees");
  demo.add_option("--model", *model, "trees, logistic or linear (regressions), or split (a network)")
      ->capture_default_str()
      ->check(one_of({"trees", "logistic", "linear", "split"}));
  const std::vector<CLI::Option*> of_trees = {
      demo.add_option("--trees", options.trees, "trees to train")->check(between<uint32_t>(1, 1000)),
      demo.add_option("--depth", options.depth, "of a tree")->check(between<uint32_t>(1, 8)),
      demo.add_option("--bins", options.bins, "of a column, for trees")->check(between<uint32_t>(2, 256)),
      add_choice(demo, "--cipher", options.cipher, {"paillier", "okamoto_uchiyama"},
                 "of gradients of trees: paillier or okamoto_uchiyama"),
      add_goss_option(demo, options.goss)};
  vertical::RegressionSettings& logistic = options.logistic;
  const std::vector<CLI::Option*> of_logistic = {
      demo.add_option("--epochs", logistic.epochs, "of a regression; 20 for a network unless said")
          ->check(between<uint32_t>(1, vertical::kRegressionEpochsMax)),
      demo.add_option("--batch", logistic.batch, "people of a step; 64 for a network unless said")
          ->check(between<uint32_t>(vertical::kRegressionBatchMin, vertical::kRegressionBatchMax)),
      demo.add_option("--rate", logistic.rate, "of gradient descent; 0.01 for a network unless said")
          ->check(between<double>(vertical::kRegressionRateMin, vertical::kRegressionRateMax)),
      demo.add_option("--lambda", logistic.lambda, "how much a regression's weights are pulled to 0")
          ->check(between<double>(0, vertical::kRegressionLambdaMax))};
  CLI::Option* const mode = add_choice(demo, "--mode", options.mode, {"shares", "exact"},
                                       "shares or exact: of a logistic regression; exact tells more (row L7)");
  const std::vector<CLI::Option*> of_split = add_split_options(demo, options.split);
  for (const auto& all : {of_trees, of_logistic, of_split}) {
    for (CLI::Option* option : all) option->capture_default_str();
  }
  return [&options, model, mode, of_trees, of_logistic, of_split] {
    const bool is_trees = *model == "trees", is_linear = *model == "linear", is_split = *model == "split";
    options.model = is_split    ? VerticalModel::split
                    : is_trees  ? VerticalModel::trees
                    : is_linear ? VerticalModel::linear
                                : VerticalModel::logistic;
    std::vector<CLI::Option*> of_others = is_trees ? of_logistic : of_trees;
    if (is_split) {
      of_others.push_back(of_logistic.back());  // lambda
      // The others have one name for both, and another value where none is given.
      if (of_logistic[0]->count() > 0) options.split.epochs = options.logistic.epochs;
      if (of_logistic[1]->count() > 0) options.split.batch = options.logistic.batch;
      if (of_logistic[2]->count() > 0) options.split.rate = options.logistic.rate;
    } else {
      of_others.insert(of_others.end(), of_split.begin(), of_split.end());
    }
    // Without its last one, lambda.
    if (is_linear) of_others.insert(of_others.end(), of_logistic.begin(), of_logistic.end() - 1);
    if (options.model != VerticalModel::logistic) of_others.push_back(mode);
    for (const CLI::Option* option : of_others) {
      if (option->count() == 0) continue;
      throw CLI::ValidationError(option->get_name(), "is no setting of --model " + *model);
    }
    const Status status = is_split   ? vertical::check_split_settings(options.split)
                          : is_trees ? vertical::check_tree_settings({.goss = options.goss})
                                     : Status();
    if (!status) throw CLI::ValidationError("--model " + *model, std::string(status.error().message()));
  };
}

}  // namespace

void add_vertical(CLI::App& app, Invocation& invocation) {
  CLI::App* group = add_group(
      app, "vertical", "jobs between organisations that have different columns of the same people", kGroupExamples);
  CLI::App* demo = add_command(*group, "demo", "train on two parties' columns, on this machine", kDemoExamples);
  const std::function<void()> settle = add_demo_models(*demo, invocation.vertical);
  VerticalDemoOptions& options = invocation.vertical;
  CLI::Option* label =
      demo->add_option("--label-table", options.label_table, "the label party's CSV file, instead of the built-in one")
          ->type_name("FILE");
  CLI::Option* feature =
      demo->add_option("--feature-table", options.feature_table, "the feature party's, likewise")->type_name("FILE");
  CLI::Option* parties =
      demo->add_option("--parties", options.parties, "the feature table's columns are cut among all but one (trees)")
          ->capture_default_str()
          ->check(between<uint32_t>(vertical::kJobPartiesMin, vertical::kJobPartiesMax));
  label->needs(feature);
  feature->needs(label);
  demo->add_option("-o,--out", options.out, "folder for the results, new or empty (default runs/demo-DATE-TIME)")
      ->type_name("DIR");
  demo->callback([&invocation, settle, parties] {
    settle();
    if (invocation.vertical.parties > vertical::kJobPartiesMin && invocation.vertical.model != VerticalModel::trees) {
      throw CLI::ValidationError(parties->get_name(), "more than two parties train trees alone");
    }
    invocation.run = [&invocation] { return run_vertical_demo(invocation.vertical); };
  });

  CLI::App* party = add_command(*group, "party", "run one party of a job, next to its data", kPartyExamples);
  add_party_task(*party, invocation, PartyTask::training);
  add_party_task(*add_command(*group, "predict", "score people of both parties with a trained model", kPredictExamples),
                 invocation, PartyTask::prediction);

  CLI::App* bottom =
      add_command(*group, "bottom", "make the model that a party's devices train first", kBottomExamples);
  const auto made = std::make_shared<MakeBottomOptions>();
  bottom->add_option("--manifest", made->manifest, "of the training that it is for")->required()->type_name("FILE");
  bottom->add_option("--contract", made->contract, "contract.json of the devices' data")->required()->type_name("FILE");
  bottom->add_option("-o,--file", made->to, "where to write it")->required()->type_name("FILE");
  bottom->add_option("--seed", made->seed, "of the initial weights")->capture_default_str()->type_name("N");
  bottom->callback([&invocation, made] { invocation.run = [made] { return run_make_bottom(*made); }; });

  CLI::App* coordinator =
      add_command(*group, "coordinator", "where parties meet who cannot reach each other", kCoordinatorExamples);
  const auto settings = std::make_shared<std::string>();
  coordinator->add_option("--config", *settings, "where it listens and what it keeps")->required()->type_name("FILE");
  coordinator->callback(
      [&invocation, settings] { invocation.run = [settings] { return run_coordinator_command(*settings); }; });
  add_job_command(*group, invocation, JobCommand::submit, "submit", "give a coordinator a job's manifest");
  add_job_command(*group, invocation, JobCommand::approve, "approve", "agree to a job's manifest, signed");
  CLI::App* list = add_server_command(*group, "list", "jobs of a server's coordinator, for its operator",
                                      "  coterie vertical list\n"
                                      "  coterie vertical list --output json\n");
  add_output_option(*list, invocation.admin);
  list->callback([&invocation] { invocation.run = [&invocation] { return list_vertical_jobs(invocation.admin); }; });
  add_shared_command(*group, invocation, JobCommand::status, "status", "what a coordinator knows of a job");
  add_shared_command(*group, invocation, JobCommand::pause, "pause", "stop a job until whoever paused it resumes it");
  add_shared_command(*group, invocation, JobCommand::resume, "resume", "take one's own pause of a job back");
  add_shared_command(*group, invocation, JobCommand::cancel, "cancel", "end a job at its coordinator");
}

}  // namespace coterie
