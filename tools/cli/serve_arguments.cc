// coterie serve: its grammar.
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/serve/serve.h"

namespace coterie {
namespace {

constexpr const char* kExamples =
    "  coterie serve model.cotf              answers at https://127.0.0.1:8500; when\n"
    "                        the file is written anew, by the new model\n"
    "  coterie serve runs/demo-20261121-063000\n"
    "                        the model that a demo has trained\n"
    "  coterie --data-dir ./data serve --job jk2x9q4c\n"
    "                        each round's model, as soon as it is published\n"
    "  coterie serve model.cotf --processes 4\n"
    "                        the same by four processes\n"
    "  coterie serve model.cotf --steps steps.json\n"
    "                        clients send pictures or rows of a table, and get\n"
    "                        labels\n"
    "  curl --cacert coterie-serving/ca.pem \\\n"
    "       -H \"Authorization: Bearer $(cat coterie-serving/token)\" \\\n"
    "       https://127.0.0.1:8500/v2/models/model\n\n"
    "Clients speak the Open Inference Protocol v2 over REST, with its extension\n"
    "for binary tensors, and over gRPC (--grpc). docs/SERVING.md shows requests,\n"
    "versions and limits.\n\n"
    "Exit codes: 1 failed, 2 usage or no such model, 3 connection settings,\n"
    "4 network or access, 130 interrupted: requests under way were answered.";

void add_limits(CLI::App& serve, ServeOptions& options) {
  serve
      .add_option("--processes", options.processes,
                  "that share the port and the cores: one that dies takes no other along, and is started again")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 64));
  serve
      .add_option("--hung-after-s", options.hung_after_s,
                  "without a sign of life one of several processes is killed, and another takes its place; 0: never")
      ->capture_default_str()
      ->check(between<uint32_t>(0, 3600));
  serve.add_option("--workers", options.workers, "threads that compute, of each process")
      ->default_str("one a core")
      ->check(between<uint32_t>(1, 256));
  serve.add_option("--batch-max", options.batch_max, "examples that a worker computes at a time")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1024));
  serve.add_option("--waiting-max", options.waiting_max, "examples that wait for a worker; beyond: 503")
      ->capture_default_str()
      ->check(between<uint64_t>(1, 1'000'000));
  serve.add_option("--wait-ms-max", options.wait_ms_max, "how long a request waits for a worker; beyond: 504")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 600'000));
  serve.add_option("--body-mib-max", options.body_mib_max, "of a request; beyond: 413")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1024));
}

void add_comparison(CLI::App& serve, ServeOptions& options) {
  serve
      .add_option("--canary-percent", options.canary_percent,
                  "of requests that name no version: so many go to the latest, where another is promoted")
      ->capture_default_str()
      ->check(between<uint32_t>(0, 100));
  serve.add_flag("--shadow", options.has_shadow,
                 "the latest computes beside the promoted one: compared and counted, never returned");
}

void add_access(CLI::App& serve, ServeOptions& options) {
  serve.add_option("--state-dir", options.state_dir, "token and certificates, made on first use")
      ->capture_default_str()
      ->type_name("DIR");
  CLI::Option* token =
      serve.add_option("--client-token-file", options.client_token_file, "the token that clients show, instead")
          ->type_name("FILE");
  CLI::Option* certificate =
      serve.add_option("--certificate", options.certificate_file, "PEM chain to show, instead")->type_name("FILE");
  CLI::Option* key = serve.add_option("--key", options.key_file, "its private key")->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
  serve
      .add_flag("--insecure-loopback", options.is_insecure,
                "neither TLS nor a token, on 127.0.0.1 alone: whoever is on this machine may ask")
      ->excludes(token)
      ->excludes(certificate);
}

}  // namespace

void add_serve(CLI::App& app, Invocation& invocation) {
  CLI::App* serve =
      add_command(app, "serve", "answer requests with a model (Open Inference Protocol v2)", kExamples)->fallthrough();
  const auto options = std::make_shared<ServeOptions>();
  CLI::Option* source =
      serve->add_option("MODEL", options->source, "a model file, or a folder with model.cotf")->type_name("");
  CLI::Option* job =
      serve->add_option("--job", options->job, "follow this job of a server instead (`coterie job list`)");
  source->excludes(job);
  serve
      ->add_option("--steps", options->steps,
                   "what happens before the model and behind it: pictures, columns, labels (docs/SERVING.md)")
      ->type_name("FILE");
  serve->add_option("--name", options->name, "that clients ask by")->default_str("the file's, or the job's id");
  serve->add_option("--address", options->address, "to listen on")->capture_default_str();
  serve->add_option("--port", options->port, "0 lets the system choose")
      ->capture_default_str()
      ->check(between<uint16_t>(0, 65535));
  serve->add_option("--grpc", options->grpc_port, "answer over gRPC, too, at this port; 0 lets the system choose")
      ->type_name("PORT")
      ->check(between<uint16_t>(0, 65535));
  add_limits(*serve, *options);
  add_comparison(*serve, *options);
  add_access(*serve, *options);
  serve->callback([&invocation, options, source, job] {
    if (source->count() + job->count() == 0) throw CLI::RequiredError("MODEL or --job");
    invocation.run = [&invocation, options] { return serve_model(*options, invocation.admin); };
  });
}

}  // namespace coterie
