// Any text as a table: an error, or a data set file that is read back.
#include "base/assert.h"
#include "device_sdk/runtime/dataset_source.h"
#include "tools/data/csv.h"
#include "tools/data/csv_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const std::string_view text = as_text({data, size});
  const auto rows = parse_csv(text);
  if (!rows || rows->empty()) return 0;
  CsvOptions options{.target = rows->front().fields.back()};
  for (int choice = 0; choice < 4; ++choice) {
    options.target_is_number = choice % 2 == 1;
    options.one_hot = choice < 2;
    const auto table = csv_table(text, "fuzz", options);
    if (!table || rows->front().fields.size() > 64) continue;
    const auto source = DatasetSource::load(dataset_file(*table));
    COT_ASSERT(source && source->size() == table->size());
  }
  return 0;
}
