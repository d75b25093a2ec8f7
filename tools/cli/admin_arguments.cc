// job, token and server: commands that only talk to a server.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/device_commands.h"
#include "tools/cli/job_commands.h"

namespace coterie {
namespace {

std::shared_ptr<std::string> add_job_argument(CLI::App* command) {
  const auto job = std::make_shared<std::string>();
  command->add_option("JOB", *job, "id of the job (`coterie job list`)")->required();
  return job;
}

}  // namespace

void add_output_option(CLI::App& app, AdminCommand& command) {
  app.add_option("-o,--output", command.output, "table or json")->capture_default_str()->check(CLI::IsMember({"table", "json"}));
}

void add_job(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* job = app.add_subcommand("job", "create, watch and steer jobs")->require_subcommand(1)->fallthrough();
  job->description("Jobs: what is trained, on which devices, in which rounds.\n\nExamples:\n"
                   "  coterie job create job.json --model model.cotf --evaluation held-out.cotf\n"
                   "  coterie --data-dir ./data job watch jk2x9q4c\n");

  CLI::App* create = job->add_subcommand("create", "create a job from a JSON file; it starts at once")->fallthrough();
  const auto files = std::make_shared<JobFiles>();
  create->add_option("FILE", files->job, "the job as JSON, as POST /admin/v1/jobs takes it")->required();
  create->add_option("--model", files->model, "model file to upload and start from");
  create->add_option("--evaluation", files->evaluation, "data set file to upload and judge every model on");
  add_output_option(*create, admin);
  create->callback([&, files] { invocation.run = [&admin, files] { return create_job(admin, *files); }; });

  CLI::App* list = job->add_subcommand("list", "all jobs")->fallthrough();
  add_output_option(*list, admin);
  list->callback([&] { invocation.run = [&admin] { return list_jobs(admin); }; });

  CLI::App* show = job->add_subcommand("show", "one job's settings and state")->fallthrough();
  const auto shown = add_job_argument(show);
  add_output_option(*show, admin);
  show->callback([&, shown] { invocation.run = [&admin, shown] { return show_job(admin, *shown); }; });

  CLI::App* rounds = job->add_subcommand("rounds", "a job's rounds, newest first")->fallthrough();
  const auto of = add_job_argument(rounds);
  const auto limit = std::make_shared<uint32_t>(20);
  rounds->add_option("--limit", *limit, "at most so many")->capture_default_str()->check(CLI::Range(1, 1000));
  add_output_option(*rounds, admin);
  rounds->callback([&, of, limit] { invocation.run = [&admin, of, limit] { return list_rounds(admin, *of, *limit); }; });

  CLI::App* watch = job->add_subcommand("watch", "follow the rounds until the job is over")->fallthrough();
  const auto watched = add_job_argument(watch);
  watch->callback([&, watched] { invocation.run = [&admin, watched] { return watch_job(admin, *watched); }; });

  const std::pair<const char*, const char*> verbs[] = {{"pause", "no new round, until resumed"},
                                                       {"resume", "go on with a paused job"},
                                                       {"cancel", "end a job for good; its models stay"}};
  for (const auto& [verb, help] : verbs) {
    CLI::App* change = job->add_subcommand(verb, help)->fallthrough();
    const auto changed = add_job_argument(change);
    add_output_option(*change, admin);
    change->callback([&, changed, name = std::string(verb)] {
      invocation.run = [&admin, changed, name] { return change_job(admin, *changed, name); };
    });
  }
}

void add_token(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* token = app.add_subcommand("token", "enrollment tokens: let devices in")->require_subcommand(1)->fallthrough();
  token->description("Enrollment tokens: a device shows one, once, to become known.\n\nExamples:\n"
                     "  coterie token create --uses 100 --label pilot\n"
                     "  coterie token list\n");

  CLI::App* create = token->add_subcommand("create", "a new token; it is shown this once")->fallthrough();
  const auto options = std::make_shared<NewToken>();
  create->add_option("--uses", options->uses, "devices it lets in")->capture_default_str()->check(CLI::Range(1, 1'000'000));
  create->add_option("--population", options->population, "population they belong to")->capture_default_str();
  create->add_option("--label", options->label, "a note for yourself");
  create->add_option("--valid-hours", options->valid_hours, "until it expires")->capture_default_str()->check(CLI::Range(1, 8760));
  add_output_option(*create, admin);
  create->callback([&, options] { invocation.run = [&admin, options] { return create_token(admin, *options); }; });

  CLI::App* list = token->add_subcommand("list", "all tokens that are not removed")->fallthrough();
  add_output_option(*list, admin);
  list->callback([&] { invocation.run = [&admin] { return list_tokens(admin); }; });

  CLI::App* remove = token->add_subcommand("remove", "end a token; devices it let in stay")->fallthrough();
  const auto id = std::make_shared<std::string>();
  remove->add_option("TOKEN", *id, "id of the token (`coterie token list`)")->required();
  add_output_option(*remove, admin);
  remove->callback([&, id] { invocation.run = [&admin, id] { return remove_token(admin, *id); }; });
}

void add_server(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* server = app.add_subcommand("server", "how the server is")->require_subcommand(1)->fallthrough();
  server->description("The server itself.\n\nExamples:\n"
                      "  coterie --data-dir ./data server status\n"
                      "  coterie server status -o json\n");
  CLI::App* status = server->add_subcommand("status", "version, devices, rounds under way")->fallthrough();
  add_output_option(*status, admin);
  status->callback([&] { invocation.run = [&admin] { return show_server(admin); }; });
}

}  // namespace coterie
