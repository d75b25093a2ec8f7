#include "tools/cli/predicted_arrays.h"

#include "base/os/file.h"
#include "tools/cli/table.h"

namespace coterie {

PredictedArrays::PredictedArrays(const std::vector<ModelOutput>& outputs) {
  for (const ModelOutput& output : outputs) {
    widths_.push_back(elements(output.shape));
    Shape shape = {0};
    shape.insert(shape.end(), output.shape.begin(), output.shape.end());
    arrays_.push_back({.name = output.name, .type = output.type, .shape = std::move(shape), .words = {}});
  }
}

void PredictedArrays::add(size_t output, std::span<const float> words) {
  arrays_[output].words.insert(arrays_[output].words.end(), words.begin(), words.end());
}

Result<std::string> PredictedArrays::write(const std::string& path) {
  for (size_t i = 0; i < arrays_.size(); ++i) {
    arrays_[i].shape[0] = static_cast<int64_t>(arrays_[i].words.size() / widths_[i]);
  }
  Result<Bytes> file = model_import::write_npz(arrays_);
  if (!file) return file.error().with_context(path);
  COT_TRY(os::write_file_atomically(path, *file));
  std::string text = "written to " + printable(path) + ":";
  for (const model_import::NpzArray& array : arrays_) {
    text += (&array == arrays_.data() ? " " : ", ") + printable(array.name);
    for (const int64_t& size : array.shape) text += (&size == array.shape.data() ? " " : "x") + std::to_string(size);
  }
  return text + "\n";
}

}  // namespace coterie
