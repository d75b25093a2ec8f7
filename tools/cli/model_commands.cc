#include "tools/cli/model_commands.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "base/text/suggest.h"
#include "device_sdk/runtime/model.h"
#include "secure/crypto/digest.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/layers_table.h"
#include "tools/cli/local_files.h"
#include "tools/cli/model_int8.h"
#include "tools/cli/opened_model.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/inspect.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

std::string measure(const nlohmann::json& model, const char* key, bool is_ratio) {
  const auto found = model.find(key);
  if (found == model.end() || !found->is_number()) return "-";
  return is_ratio ? format_percent(found->get<double>()) : format_fixed(found->get<double>(), 3);
}

}  // namespace

ExitCode list_models(const AdminCommand& command, const std::string& job) {
  return with_admin(command, "model list", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get_pages("jobs/" + path_segment(job) + "/models", "models"));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    using enum Table::Align;
    Table table({{"VERSION", right},
                 {"LOSS", right},
                 {"ACCURACY", right},
                 {"BYTES", right},
                 {"CREATED"},
                 {"DIGEST"},
                 {"RELEASED"}});
    for (const nlohmann::json& model : answer.value("models", nlohmann::json::array())) {
      table.add({cell_of(model, "/version"), measure(model, "evaluation_loss", false),
                 measure(model, "evaluation_accuracy", true), cell_of(model, "/bytes"),
                 short_time(cell_of(model, "/created")), cell_of(model, "/digest").substr(0, 16),
                 model.value("released", false) ? "yes" : ""});
    }
    print_text(table.text());
    return {};
  });
}

ExitCode release_model(const AdminCommand& command, const std::string& job, std::optional<uint64_t> version) {
  return with_admin(command, version ? "model promote" : "model rollback", [&](AdminClient& admin) -> Status {
    const std::string models = "jobs/" + path_segment(job) + "/models";
    COT_ASSIGN(const nlohmann::json answer,
               admin.post(models + (version ? "/" + std::to_string(*version) + ":promote" : ":rollback")));
    if (command.wants_json()) print_json(answer);
    else
      print_text("version " + printable(cell_of(answer, "/released/version")) + " of job " +
                 printable(cell_of(answer, "/id")) + " is released\n");
    return {};
  });
}

ExitCode delete_model(const AdminCommand& command, const std::string& job, uint64_t version) {
  return with_admin(command, "model delete", [&](AdminClient& admin) -> Status {
    COT_TRY(admin.remove("jobs/" + path_segment(job) + "/models/" + std::to_string(version)));
    print_text("version " + std::to_string(version) + " of job " + printable(job) + " is removed\n");
    return {};
  });
}

ExitCode download_model(const AdminCommand& command, const std::string& job, std::optional<uint64_t> version,
                        const std::string& file) {
  return with_admin(command, "model download", [&](AdminClient& admin) -> Status {
    const std::string models = "jobs/" + path_segment(job) + "/models";
    if (!version) {
      COT_ASSIGN(const nlohmann::json list, admin.get_pages(models, "models"));
      version = 0;
      for (const nlohmann::json& model : list.value("models", nlohmann::json::array())) {
        version = std::max(*version, model.value("version", uint64_t{0}));
      }
    }
    const std::string target = models + "/" + std::to_string(*version);
    COT_ASSIGN(const nlohmann::json record, admin.get(target));
    COT_ASSIGN(const Bytes model, admin.download(target + "/content"));
    if (content_digest(model).hex() != record.value("digest", "")) {
      return Error(ErrorCode::data_loss, "the model that came does not have the digest it should have; try again");
    }
    COT_TRY(os::write_file_atomically(file, model));
    if (command.wants_json()) print_json(record);
    else
      print_text("version " + std::to_string(*version) + ": " + format_bytes(model.size()) + " written to " + file +
                 "\n");
    return {};
  });
}

ExitCode upload_model(const AdminCommand& command, const std::string& file) {
  return with_admin(command, "model upload", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const Bytes model, read_input(file));
    const Result<nlohmann::json> answer = admin.upload("models", model);
    if (!answer) return answer.error().with_context(file);
    if (command.wants_json()) print_json(*answer);
    else print_text(printable(cell_of(*answer, "/digest")) + "\n");
    return {};
  });
}

ExitCode new_model(const NewModel& options) {
  const std::optional<ModelKind> kind = model_kind_from(options.kind);
  if (!kind) {
    return fail_on_input("model new", Error(ErrorCode::invalid_argument,
                                            "the kind must be " + listed(model_kind_names()) + ", is " + options.kind));
  }
  const Result<Shape> input = parse_shape(options.input);
  if (!input) return fail_on_input("model new", input.error());
  const Result<Bytes> model = make_model(*kind, *input, options.classes, options.seed);
  if (!model) return fail_on_input("model new", model.error().with_context(options.kind + " for " + options.input));
  if (const Status written = os::write_file_atomically(options.file, *model); !written) {
    return fail_on_output("model new", written.error());
  }
  print_text(options.kind + ": " + format_bytes(model->size()) + " written to " + options.file + "\n");
  return ExitCode::ok;
}

ExitCode new_head(const NewHead& options) {
  if (const Status distinct = distinct_files({{"FILE", options.from}}, {{"-o", options.to}}); !distinct) {
    return fail_on_input("model new-head", distinct.error());
  }
  const Result<Model> model = open_model(options.from);
  if (!model) return fail_on_input("model new-head", model.error());
  const Result<Bytes> file = replace_head(*model, options.head);
  if (!file) return fail_on_input("model new-head", file.error());
  if (const Status written = os::write_file_atomically(options.to, *file); !written) {
    return fail_on_output("model new-head", written.error());
  }
  print_text(printable(options.head.layer) + ": " + std::to_string(options.head.classes) + " outputs; " +
             format_bytes(file->size()) + " written to " + options.to + "\n");
  return ExitCode::ok;
}

ExitCode inspect_model(const std::string& file, bool as_json) {
  const Result<OpenedModel> opened = open_answering_model(file);
  if (!opened) return fail_on_input("model inspect", opened.error());
  const ModelReport report = inspect(opened->model);
  if (as_json) {
    nlohmann::json layers = nlohmann::json::array();
    for (const ModelLayer& layer : report.layers) {
      layers.push_back(
          {{"name", layer.name}, {"op", layer.op}, {"output", layer.output}, {"parameters", layer.parameters}});
    }
    nlohmann::json answer = {{"name", report.name},
                             {"digest", report.digest},
                             {"input", report.input},
                             {"output", report.output},
                             {"file_bytes", report.file_bytes},
                             {"parameters", report.parameters},
                             {"flops", report.flops},
                             {"layers", layers}};
    if (opened->int8) answer["int8"] = json_of(*opened->int8);
    print_json(answer);
    return ExitCode::ok;
  }
  print_text(printable(report.name) + ": input " + report.input + ", output " + report.output + ", " +
             format_count(report.parameters) + " parameters,\n" + format_fixed(report.flops / 1e6, 2) +
             " million operations an example\ndigest " + report.digest + "\n\n" + layers_table(report) +
             (opened->int8 ? "\n" + table_of(*opened->int8) : std::string()));
  return ExitCode::ok;
}

}  // namespace coterie
