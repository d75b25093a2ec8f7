#include "tools/cli/explained_run.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model.h"
#include "secure/crypto/digest.h"
#include "tools/cli/local_files.h"
#include "tools/cli/table.h"
#include "tools/explain/attribution_picture.h"
#include "tools/explain/explanation_record.h"

namespace coterie {
namespace {

// What a record may have of `data`: a column of a terminal may be 4 bytes.
std::string kept_name(const std::string& data) {
  int columns = kExplanationTextBytesMax;
  std::string name = shortened(data, columns);
  while (name.size() > kExplanationTextBytesMax) name = shortened(data, --columns);
  return name;
}

}  // namespace

Status check_model_of_run(const std::string& run, const Model& model) {
  const std::string file = run + "/model.cotf";
  const Result<Model> made = open_model(file);
  if (!made) return made.error().with_context("--run: it names the folder of a run that has left its model");
  if (content_digest(made->file()) == content_digest(model.file())) return {};
  return Error(ErrorCode::invalid_argument, "--run: the model is not " + printable(file) + "; explain that one");
}

Status keep_in_run(const std::string& run, const Model& model, const Shape& image, const std::string& method,
                   const std::string& data, std::span<const KeptExplanation> explanations) {
  const std::string folder = run + "/" + kExplanationsFolder;
  const Digest digest = content_digest(model.file());
  for (const KeptExplanation& kept : explanations) {
    const Explanation& one = *kept.explanation;
    COT_ASSIGN(const Picture picture, attribution_picture(image, std::span(&one, 1)));
    COT_ASSIGN(const Bytes png, encode_png(picture));
    const ExplanationRecord record{.method = method,
                                   .model_digest = digest,
                                   .data = kept_name(data),
                                   .example = one.example,
                                   .label = kept.label,
                                   .output = one.picked,
                                   .predicted = one.predicted,
                                   .score = one.score,
                                   .checked = kept.checked};
    const std::string stem = folder + "/" + explanation_stem(record);
    COT_TRY(os::make_directories(folder));
    COT_TRY(os::write_file_atomically(stem + ".png", png));
    COT_TRY(os::write_file_atomically(stem + ".json", as_bytes(to_json(record).dump(2) + "\n")));
  }
  return {};
}

}  // namespace coterie
