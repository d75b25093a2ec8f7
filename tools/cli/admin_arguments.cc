// job, token, server and node: commands that only talk to a server.
#include <memory>

#include "aggregation/strategy/registry.h"
#include "tools/cli/arguments.h"
#include "tools/cli/device_commands.h"
#include "tools/cli/help.h"
#include "tools/cli/job_commands.h"
#include "tools/cli/job_plan_command.h"
#include "tools/cli/job_tune.h"
#include "tools/cli/job_why.h"
#include "tools/cli/node_commands.h"

namespace coterie {
namespace {

constexpr const char* kCreateJob =
    "  coterie job create job.json --model model.cotf --evaluation held-out.cotf\n\n"
    "A job.json to begin with (every other setting has a default;\n"
    "`coterie job show JOB -o json` shows all):\n"
    "  {\"name\": \"pilot\",\n"
    "   \"training\": {\"local_epochs\": 2,\n"
    "                \"optimizer\": {\"kind\": \"sgd\", \"learning_rate\": 0.1}},\n"
    "   \"rounds\": {\"count\": 40, \"goal_count\": 10},\n"
    "   \"strategy\": {\"kind\": \"fedavg\"}}\n\n"
    "With \"analytics\" devices count, or run the model of --model on their examples\n"
    "(docs/operating/analytics.md, evaluation.md, ranges.md). Which columns of a\n"
    "table that model needs, asked of the devices of a demo, and the job of it:\n"
    "  coterie demo --data SOURCE --model model.cotf --analytics importance\n";

std::shared_ptr<std::string> add_job_argument(CLI::App* command) {
  const auto job = std::make_shared<std::string>();
  command->add_option("JOB", *job, "id of the job (`coterie job list`)")->required();
  return job;
}

void add_job_changes(CLI::App& job, Invocation& invocation) {
  struct Verb {
    const char* name;
    const char* what;
  };
  for (const Verb verb :
       {Verb{"pause", "begin no new round until the job is resumed"}, Verb{"resume", "go on with a paused job"},
        Verb{"cancel", "end a job for good; its models stay"}}) {
    AdminCommand& admin = invocation.admin;
    const std::string name = verb.name;
    CLI::App* change = add_server_command(job, name, verb.what, "  coterie job " + name + " jk2x9q4c\n");
    const auto changed = add_job_argument(change);
    add_output_option(*change, admin);
    change->callback([&invocation, &admin, changed, name] {
      invocation.run = [&admin, changed, name] { return change_job(admin, *changed, name); };
    });
  }
  AdminCommand& admin = invocation.admin;
  CLI::App* remove = add_server_command(job, "delete", "remove a job that has ended, with its models and rounds",
                                        "  coterie job delete jk2x9q4c\n");
  const auto removed = add_job_argument(remove);
  remove->callback(
      [&invocation, &admin, removed] { invocation.run = [&admin, removed] { return delete_job(admin, *removed); }; });
}

// Without a server.
void add_job_plans(CLI::App& job, Invocation& invocation) {
  add_command(job, "schema", "print the JSON Schema of a job's file, for editors",
              "  coterie job schema > job.schema.json\n")
      ->callback([&invocation] { invocation.run = print_job_schema; });
  const auto command = std::make_shared<JobPlanCommand>();
  const auto add = [&](const char* name, const char* what, const char* examples,
                       ExitCode (*run)(const JobPlanCommand&)) {
    CLI::App* const app = add_command(job, name, what, examples);
    app->add_option("FILE", command->job, "the job as JSON, as `coterie job create` takes it")->required();
    app->add_flag("--json", command->json, "print JSON");
    app->callback([&invocation, command, run] { invocation.run = [command, run] { return run(*command); }; });
    return app;
  };
  add("validate", "say all that is wrong with a job, without a server",
      "  coterie job validate job.json\n  coterie job validate job.json --model model.cotf\n", &validate_job)
      ->add_option("--model", command->model, "model file: whether the job goes with it, too")
      ->type_name("FILE");
  CLI::App* const plan = add("plan", "say what a job will ask of devices and spend, without a server",
                             "  coterie job plan job.json --model model.cotf\n"
                             "  coterie job plan job.json --model model.cotf --examples 600 --json\n\n"
                             "Bytes are those of bodies: TLS, headers and the messages of secure\n"
                             "aggregation come on top.\n",
                             &print_job_plan);
  plan->add_option("--model", command->model, "model file that the job starts from; none: it has analytics")
      ->type_name("FILE");
  plan->add_option("--examples", command->examples, "of each device")
      ->capture_default_str()
      ->check(between<uint64_t>(1, 1 << 26));
}

}  // namespace

void add_job(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* job = add_group(app, "job", "what is trained, on which devices, in which rounds",
                            "  coterie job create job.json --model model.cotf --evaluation held-out.cotf\n"
                            "  coterie --data-dir ./data job watch jk2x9q4c\n");

  CLI::App* create = add_server_command(*job, "create", "create a job from a JSON file; it starts at once", kCreateJob);
  const auto files = std::make_shared<JobFiles>();
  create->add_option("FILE", files->job, "the job as JSON, as POST /admin/v1/jobs takes it")->required();
  create->add_option("--model", files->model, "model file to upload and start from, or to evaluate")->type_name("FILE");
  create->add_option("--before", files->before, "model file to upload and compare the evaluated one with")
      ->type_name("FILE");
  create->add_option("--evaluation", files->evaluation, "data set file to upload and judge every model on")
      ->type_name("FILE");
  const std::vector<std::string_view> strategies = strategy_names();
  create
      ->add_option("--strategy", files->strategy,
                   "how the server moves the model, in place of the file's strategy.kind")
      ->check(one_of({strategies.begin(), strategies.end()}));
  add_output_option(*create, admin);
  create->callback([&, files] { invocation.run = [&admin, files] { return create_job(admin, *files); }; });

  add_tune(*job, invocation);

  CLI::App* list =
      add_server_command(*job, "list", "all jobs",
                         "  coterie job list --state running\n  coterie job list -o json | jq -r '.jobs[].id'\n");
  const auto listed = std::make_shared<JobListOptions>();
  list->add_option("--state", listed->state, "only jobs in this state")
      ->check(one_of({"running", "paused", "completed", "cancelled", "failed"}));
  list->add_option("--population", listed->population, "only jobs of this population");
  add_output_option(*list, admin);
  list->callback([&, listed] { invocation.run = [&admin, listed] { return list_jobs(admin, *listed); }; });

  CLI::App* show = add_server_command(*job, "show", "one job's settings and state",
                                      "  coterie job show jk2x9q4c\n  coterie job show jk2x9q4c -o json\n");
  const auto shown = add_job_argument(show);
  add_output_option(*show, admin);
  show->callback([&, shown] { invocation.run = [&admin, shown] { return show_job(admin, *shown); }; });

  CLI::App* result = add_server_command(*job, "result", "what a job with analytics has counted or evaluated",
                                        "  coterie job result jk2x9q4c\n"
                                        "  coterie job result jk2x9q4c --svg histogram.svg\n"
                                        "  coterie job result jk2x9q4c -o json | jq .bins\n");
  const auto told = add_job_argument(result);
  const auto svg = std::make_shared<std::string>();
  result->add_option("--svg", *svg, "draw counts there, too, or what columns are worth to a model")->type_name("FILE");
  add_output_option(*result, admin);
  result->callback(
      [&, told, svg] { invocation.run = [&admin, told, svg] { return show_result(admin, *told, *svg); }; });

  CLI::App* rounds =
      add_server_command(*job, "rounds", "a job's rounds, newest first", "  coterie job rounds jk2x9q4c --limit 5\n");
  const auto of = add_job_argument(rounds);
  const auto limit = std::make_shared<uint32_t>(20);
  rounds->add_option("--limit", *limit, "at most so many")->capture_default_str()->check(between<uint32_t>(1, 1000));
  add_output_option(*rounds, admin);
  rounds->callback(
      [&, of, limit] { invocation.run = [&admin, of, limit] { return list_rounds(admin, *of, *limit); }; });

  CLI::App* why = add_server_command(*job, "why", "what became of the devices that asked in a round",
                                     "  coterie job why jk2x9q4c\n  coterie job why jk2x9q4c --round 7 -o json\n\n"
                                     "Each device that asked has one code, so that they sum to all that did. What a\n"
                                     "device says of itself (`coterie device why`) has the same words.\n");
  const auto asked = add_job_argument(why);
  const auto number = std::make_shared<uint64_t>(0);
  why->add_option("--round", *number, "its number (default: the newest)")->check(between<uint64_t>(1, INT64_MAX));
  add_output_option(*why, admin);
  why->callback([&, asked, number] {
    invocation.run = [&admin, asked, number] { return show_round_why(admin, *asked, *number); };
  });

  CLI::App* trace = add_server_command(*job, "trace", "what a round took its time with, as a file for tracing tools",
                                       "  coterie job trace jk2x9q4c --out round.json\n"
                                       "  coterie job trace jk2x9q4c --round 7 --out round-7.json\n");
  const auto traced = add_job_argument(trace);
  const auto traced_number = std::make_shared<uint64_t>(0);
  const auto trace_file = std::make_shared<std::string>();
  trace->add_option("--round", *traced_number, "its number; left out: the newest that the server keeps")
      ->check(between<uint64_t>(1, INT64_MAX));
  trace
      ->add_option("--out", *trace_file,
                   "where to put it: Trace Event Format, for ui.perfetto.dev and chrome://tracing")
      ->type_name("FILE")
      ->required();
  trace->callback([&, traced, traced_number, trace_file] {
    invocation.run = [&admin, traced, traced_number, trace_file] {
      return save_round_trace(admin, *traced, *traced_number, *trace_file);
    };
  });

  CLI::App* watch =
      add_server_command(*job, "watch", "follow the rounds until the job is over; Ctrl-C leaves it alone",
                         "  coterie job watch jk2x9q4c && coterie model download jk2x9q4c -o model.cotf\n");
  const auto watched = add_job_argument(watch);
  watch->callback([&, watched] { invocation.run = [&admin, watched] { return watch_job(admin, *watched); }; });

  add_job_changes(*job, invocation);
  add_job_plans(*job, invocation);
}

void add_token(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* token = add_group(app, "token", "enrollment tokens: a device shows one, once, to become known",
                              "  coterie token create --uses 100 --label pilot\n  coterie token list\n");

  CLI::App* create =
      add_server_command(*token, "create", "a new token; it is shown this once",
                         "  coterie token create --uses 100 --label pilot\n"
                         "  TOKEN=$(coterie token create 2>/dev/null)   the token alone goes to stdout\n");
  const auto options = std::make_shared<NewToken>();
  create->add_option("--uses", options->uses, "devices it lets in")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1'000'000));
  create->add_option("--population", options->population, "population they belong to")->capture_default_str();
  create->add_option("--label", options->label, "a note for yourself");
  create->add_option("--valid-hours", options->valid_hours, "until it expires")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 8760));
  add_output_option(*create, admin);
  create->callback([&, options] { invocation.run = [&admin, options] { return create_token(admin, *options); }; });

  CLI::App* list = add_server_command(*token, "list", "all tokens that are not removed", "  coterie token list\n");
  add_output_option(*list, admin);
  list->callback([&] { invocation.run = [&admin] { return list_tokens(admin); }; });

  CLI::App* remove = add_server_command(*token, "remove", "end a token; devices it let in stay",
                                        "  coterie token remove deaf5b1855f5ec50\n");
  const auto id = std::make_shared<std::string>();
  remove->add_option("TOKEN", *id, "id of the token (`coterie token list`)")->required();
  remove->callback([&, id] { invocation.run = [&admin, id] { return remove_token(admin, *id); }; });
}

void add_server(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* server = add_group(app, "server", "how the server is", "  coterie --data-dir ./data server status\n");
  CLI::App* status = add_server_command(*server, "status", "version, devices, rounds under way",
                                        "  coterie --data-dir ./data server status\n  coterie server status -o json\n");
  add_output_option(*status, admin);
  status->callback([&] { invocation.run = [&admin] { return show_server(admin); }; });
}

void add_node(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* node = add_group(app, "node", "servers of a fleet", "  coterie node list\n");
  CLI::App* list = add_server_command(*node, "list", "each server of the fleet, and how much it has to do",
                                      "  coterie node list\n  coterie node list -o json\n");
  add_output_option(*list, admin);
  list->callback([&] { invocation.run = [&admin] { return list_nodes(admin); }; });
}

}  // namespace coterie
