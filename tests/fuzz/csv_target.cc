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
  if (rows->front().fields.size() < 64) {  // two targets
    const auto both =
        csv_table(text, "fuzz", {.target = rows->front().fields.front() + "," + rows->front().fields.back()});
    if (both) COT_ASSERT(DatasetSource::load(dataset_file(*both)));
  }
  // A contract is read back as it was written, and reads the table it was fitted on.
  const auto table = CsvRows::parse(text);
  options = {.target = rows->front().fields.back()};
  const auto target = table ? csv_target(*table, options) : Result<ContractTarget>(table.error());
  if (!target || rows->front().fields.size() > 64) return 0;
  const uint32_t fitted[] = {0};
  const auto contract = fit_csv(*table, options, {*target}, fitted);
  if (!contract) return 0;
  const auto again = parse_contract(to_json_text(*contract));
  std::vector<std::string> notes;
  if (again && *again == *contract) COT_ASSERT(encode_csv(*table, *again, notes));  // else it was no UTF-8
  return 0;
}
