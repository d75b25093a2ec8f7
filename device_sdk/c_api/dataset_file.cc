// coterie_dataset_*: a data set file as a coterie_dataset.
#include <memory>
#include <utility>

#include "base/os/file.h"
#include "device_sdk/c_api/fence.h"
#include "device_sdk/c_api/structs.h"
#include "device_sdk/runtime/dataset_source.h"

namespace {

using namespace coterie;

constexpr uint64_t kFileBytesMax = 1ull << 34;

uint64_t file_size(void* context) {
  return static_cast<DatasetSource*>(context)->size();
}

int read_from_file(void* context, uint64_t index, float* features, size_t feature_count, int32_t* label) {
  return static_cast<DatasetSource*>(context)->read(index, std::span(features, feature_count), *label) ? 0
                                                                                                       : 1;
}

Status open_file(const char* path, coterie_dataset* dataset) {
  if (path == nullptr || dataset == nullptr) {
    return Error(ErrorCode::invalid_argument, "path and dataset must not be NULL");
  }
  COT_TRY(check_size(*dataset, "dataset"));
  COT_ASSIGN(Bytes file, os::read_file(path, kFileBytesMax));
  Result<DatasetSource> source = DatasetSource::load(std::move(file));
  if (!source) return source.error().with_context(path);
  coterie_dataset filled{};
  filled.context = new DatasetSource(std::move(*source));
  filled.size = &file_size;
  filled.read = &read_from_file;
  fill_known_part(*dataset, filled);
  return {};
}

}  // namespace

extern "C" {

coterie_status coterie_dataset_open(const char* path, coterie_dataset* dataset, char* error_text,
                                    size_t error_text_size) {
  std::string message;
  const auto body = [&]() -> coterie_status {
    const Status opened = open_file(path, dataset);
    if (opened) return COTERIE_OK;
    message = opened.error().message();
    return status_of(opened.error());
  };
  install_assert_handler();
  const coterie_status status = fenced(body, [&message](const char* why) { message = why; });
  write_text(message, error_text, error_text_size);
  return status;
}

void coterie_dataset_close(coterie_dataset* dataset) {
  if (dataset == nullptr || dataset->read != &read_from_file) return;
  delete static_cast<DatasetSource*>(std::exchange(dataset->context, nullptr));
  dataset->size = nullptr;
  dataset->read = nullptr;
}

}  // extern "C"
