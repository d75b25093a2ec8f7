#include "tools/cli/model_crop.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/os/file.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/job_commands.h"
#include "tools/cli/local_files.h"
#include "tools/cli/model_crop_text.h"
#include "tools/cli/onnx_commands.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/crop/client_build.h"
#include "tools/job_plan/job_check.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model crop";

struct CroppedModel {
  std::string path;
  Model model;
  CropNeeds needs;
};

Result<CroppedModel> read_model(const std::string& path) {
  if (!is_foreign_model(path)) {
    COT_ASSIGN(Model model, open_model(path));
    return CroppedModel{path, std::move(model), {}};
  }
  COT_ASSIGN(Bytes bytes, model_from_foreign(path));
  COT_ASSIGN(Model model, open_model(std::move(bytes), path));
  return CroppedModel{path, std::move(model), {}};
}

// What a training asks for that a build may be without.
std::set<BuildFeature> features_of(const TrainingSettings& training) {
  std::set<BuildFeature> features;
  if (!training.augment.empty()) features.insert(BuildFeature::augmentation);
  if (training.storage != Storage::float32) features.insert(BuildFeature::bf16);
  if (training.early_stopping) features.insert(BuildFeature::early_stopping);
  if (!training.heads.empty()) features.insert(BuildFeature::heads);
  const bool mixes = training.augment.find("mixup") != std::string::npos ||
                     training.augment.find("cutmix") != std::string::npos;  // classes of a mixture are soft
  if (training.target == TargetKind::values || mixes) features.insert(BuildFeature::soft_labels);
  if (training.qat) features.insert(BuildFeature::qat);
  return features;
}

// What jobs ask for, and the file of one that does.
using AskedFeatures = std::map<BuildFeature, std::string>;

// The loss and the optimizer of a job, and its features; a job that trains nothing has none.
Status add_plan(const std::string& path, CropNeeds& needs, AskedFeatures& asked) {
  COT_ASSIGN(const nlohmann::json json, read_job_document(path));
  const CheckedJob checked = check_job(json, {});
  if (!checked.problems.empty()) {
    const Problem& problem = checked.problems.front();
    return Error(ErrorCode::invalid_argument, path + ": " + problem.pointer + " " + problem.detail);
  }
  const TrainingSettings& training = checked.settings.horizontal().training;
  for (const BuildFeature feature : features_of(training)) {
    asked[feature] = path;
    if (!needs.without.contains(feature)) continue;
    return Error(ErrorCode::invalid_argument,
                 path + ": trains with " + std::string(to_string(feature)) + ", which --without leaves out");
  }
  needs.losses.insert(training.loss);
  for (const TrainingHead& head : training.heads) needs.losses.insert(head.loss);
  needs.optimizers.insert(training.optimizer.kind);
  return {};
}

Error lacks(const std::string& list, const std::string& who, const std::vector<std::string>& missing) {
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  return Error(ErrorCode::invalid_argument, "a build from " + list + " refuses " + who + ": it lacks " + names);
}

Result<CropNeeds> read_list(const std::string& path) {
  COT_ASSIGN(const Bytes file, os::read_file(path, kCropListBytesMax));
  Result<CropNeeds> list = read_crop_list(as_text(file));
  if (!list) return list.error().with_context(path);
  return list;
}

// Whether a build from the list takes every model, the losses and optimizers that are asked for, and what jobs ask for.
Status check_list(const std::string& path, const CropNeeds& list, const std::vector<CroppedModel>& models,
                  const CropNeeds& all, const AskedFeatures& asked) {
  for (const CroppedModel& model : models) {
    const std::vector<std::string> missing = missing_in_list(model.needs, list);
    if (!missing.empty()) return lacks(path, model.path, missing);
  }
  const std::vector<std::string> missing = missing_in_list({{}, {}, all.losses, all.optimizers, {}}, list);
  if (!missing.empty()) return lacks(path, "what is asked for", missing);
  for (const auto& [feature, plan] : asked) {
    if (list.without.contains(feature)) return lacks(path, plan, {std::string(to_string(feature))});
  }
  return {};
}

// The build's own reader of the list is cmake/ops_from.py of the tree.
Status agrees(const BuiltClient& client, const CropNeeds& needs) {
  std::vector<std::string> ops;
  for (const auto& [kind, count] : needs.ops) ops.emplace_back(to_string(kind));
  if (client.ops == ops && client.left_out == left_out_by(needs)) return {};
  return Error(ErrorCode::conflict,
               "the source tree reads the list otherwise than this program: are they of one version?");
}

Result<BuiltClient> build(const ModelCropOptions& options, const CropNeeds& needs,
                          const std::vector<CroppedModel>& models) {
  const ClientBuild settings{.source = options.source, .folder = options.build_folder, .list = options.to};
  COT_ASSIGN(BuiltClient client, build_client(settings));
  COT_TRY(agrees(client, needs));
  for (const CroppedModel& model : models) {
    if (const Status taken = client_takes(client, settings, model.model.file()); !taken) {
      return taken.error().with_context(model.path);
    }
  }
  return client;
}

std::string comment_of(const std::vector<CroppedModel>& models) {
  std::string text = "coterie model crop";
  for (const CroppedModel& model : models) {
    text += " " + printable(std::filesystem::path(model.path).filename().string());
  }
  return text;
}

Result<std::vector<CroppedModel>> read_models(const ModelCropOptions& options, CropNeeds& all, AskedFeatures& asked) {
  std::vector<CroppedModel> models;
  for (const std::string& path : options.models) {
    COT_ASSIGN(CroppedModel model, read_model(path));
    model.needs.add(model.model.graph());
    all.add(model.model.graph());
    models.push_back(std::move(model));
  }
  all.losses.insert(options.losses.begin(), options.losses.end());
  all.optimizers.insert(options.optimizers.begin(), options.optimizers.end());
  all.without = options.without;
  for (const std::string& plan : options.plans) COT_TRY(add_plan(plan, all, asked));
  if (!options.is_smallest) return models;
  for (const BuildFeature feature : kBuildFeatures) {
    if (!asked.contains(feature)) all.without.insert(feature);
  }
  return models;
}

Status check_paths(const ModelCropOptions& options) {
  std::vector<CommandFile> read = {{"--check", options.check}};
  for (const std::string& path : options.models) read.push_back({"MODEL", path});
  for (const std::string& path : options.plans) read.push_back({"--plan", path});
  return distinct_files(read, {{"-o", options.to}});
}

}  // namespace

ExitCode crop_models(const ModelCropOptions& options) {
  if (const Status distinct = check_paths(options); !distinct) return fail_on_input(kCommand, distinct.error());
  CropNeeds needs;
  AskedFeatures asked;
  const Result<std::vector<CroppedModel>> models = read_models(options, needs, asked);
  if (!models) return fail_on_input(kCommand, models.error());
  if (!options.check.empty()) {
    const Result<CropNeeds> list = read_list(options.check);
    if (!list) return fail_on_input(kCommand, list.error());
    if (const Status takes = check_list(options.check, *list, *models, needs, asked); !takes) {
      print_error(kCommand, takes.error());
      return ExitCode::failure;
    }
    print_text("a build from " + printable(options.check) + " takes " + counted(models->size(), "model") + "\n");
    return ExitCode::ok;
  }
  const std::string list = crop_list_text(needs, comment_of(*models));
  if (!options.to.empty()) {
    if (const Status written = os::write_file_atomically(options.to, as_bytes(list)); !written) {
      return fail_on_output(kCommand, written.error());
    }
  }
  std::optional<BuiltClient> client;
  if (!options.build_folder.empty()) {
    Result<BuiltClient> built = build(options, needs, *models);
    if (!built) {
      if (Interrupt::requested()) return fail_on_output(kCommand, built.error());
      print_error(kCommand, built.error());
      return ExitCode::failure;
    }
    client = std::move(*built);
  }
  if (options.as_json) {
    print_json(crop_json(needs, client));
    return ExitCode::ok;
  }
  print_text(crop_needs_text(needs));
  if (options.to.empty()) print_text("\n" + list);
  else print_text("\n" + crop_commands_text(options.to));
  if (client) print_text("\n" + crop_client_text(*client));
  return ExitCode::ok;
}

}  // namespace coterie
