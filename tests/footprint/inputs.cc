// What the smallest program trains: LeNet-5, and 64 random examples for it. Its ops are tests/footprint/lenet5.txt.
#include <cstdio>
#include <string>
#include <vector>

#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/runtime/dataset_source.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

constexpr uint32_t kClasses = 10;
constexpr uint64_t kExamples = 64;

Status write_inputs(const std::string& model_path, const std::string& dataset_path) {
  const Shape image{28, 28, 1};
  COT_ASSIGN(const Bytes model, make_model(ModelKind::lenet5, image, kClasses, 1));
  COT_TRY(os::write_file_atomically(model_path, model));
  Prng prng(1);
  std::vector<float> pixels(kExamples * 28 * 28);
  for (float& pixel : pixels) pixel = static_cast<float>(prng.uniform());
  std::vector<int32_t> labels(kExamples);
  for (int32_t& label : labels) label = static_cast<int32_t>(prng.below(kClasses));
  const auto bytes_of = [](const auto& numbers) {
    return ByteView(reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * sizeof numbers[0]);
  };
  const ByteView columns[] = {bytes_of(pixels), bytes_of(labels)};
  return os::write_file_atomically(dataset_path,
                                   encode_dataset(labelled_dataset("noise", kExamples, image, kClasses), columns));
}

}  // namespace
}  // namespace coterie

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "Usage: coterie-footprint-inputs MODEL DATA_SET\n");
    return 2;
  }
  const coterie::Status done = coterie::write_inputs(argv[1], argv[2]);
  if (!done) std::fprintf(stderr, "coterie-footprint-inputs: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
