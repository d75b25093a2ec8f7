#include "tools/cli/model_clusters.h"

#include <algorithm>

#include "base/os/file.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model clusters";

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

Result<Bytes> file_of(const ModelClustersOptions& options) {
  std::vector<Model> models;
  for (const std::string& name : options.from) {
    COT_ASSIGN(Model model, open_model(name));
    models.push_back(std::move(model));
  }
  if (options.take > 0) {
    if (models.size() > 1 || options.count > 0) return bad("--take is of one file, and goes with no --count");
    COT_ASSIGN(const Model own, cluster_model(models.front(), options.take - 1));
    return Bytes(own.file().begin(), own.file().end());
  }
  if (models.size() > 1 && options.count > 0) return bad("--count is of one file; of several each is one cluster");
  if (models.size() > 1) return stack_models(models);
  if (options.count == 0) return bad("one file needs --count, for so many models made of it, or --take");
  return stack_of_one(models.front(), options.count, options.spread, options.seed);
}

}  // namespace

ExitCode write_clusters(const ModelClustersOptions& options) {
  const Result<Bytes> file = file_of(options);
  if (!file) return fail_on_input(kCommand, file.error());
  const Status written = os::write_file_atomically(options.to, *file);
  if (!written) return fail_on_output(kCommand, written.error());
  const uint64_t models = options.take > 0 ? 1 : std::max<uint64_t>(options.count, options.from.size());
  print_text(std::to_string(models) + (models == 1 ? " model; " : " models; ") + format_bytes(file->size()) +
             " written to " + options.to + "\n");
  return ExitCode::ok;
}

}  // namespace coterie
