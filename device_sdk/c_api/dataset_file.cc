// coterie_dataset_*: a data set file as a coterie_dataset.
#include <memory>
#include <utility>

#include "device_sdk/c_api/fence.h"
#include "device_sdk/c_api/source_dataset.h"
#include "device_sdk/c_api/structs.h"
#include "device_sdk/runtime/dataset_source.h"

namespace {

using namespace coterie;

Status open_file(const char* path, coterie_dataset* dataset) {
  if (path == nullptr || dataset == nullptr) {
    return Error(ErrorCode::invalid_argument, "path and dataset must not be NULL");
  }
  COT_TRY(check_size(*dataset, "dataset"));
  COT_ASSIGN(DatasetSource source, DatasetSource::open(path));
  auto kept = std::make_unique<DatasetSource>(std::move(source));
  fill_known_part(*dataset, dataset_of(*kept.release()));
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
  if (dataset == nullptr) return;
  const auto* file = dynamic_cast<DatasetSource*>(source_of(*dataset));
  if (file == nullptr) return;
  delete file;
  fill_known_part(*dataset, coterie_dataset{});
}

}  // extern "C"
