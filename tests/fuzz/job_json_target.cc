// Any text as a job: a list of problems, or a job that is stored, read back and planned.
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "fl_server/json/job_json.h"
#include "fl_server/json/json_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const std::string_view text = as_text({data, size});
  Problems problems;
  const auto json = parse_json(text, problems);
  COT_ASSERT(json.has_value() == problems.empty());
  if (const auto stored = job_settings_from_stored_json(text)) {
    const auto again = job_settings_from_stored_json(job_settings_to_json_text(*stored));
    COT_ASSERT(again && *again == *stored);
  }
  if (!json) return 0;
  const JobSettings spec = job_settings_from_json(*json, problems);
  for (const Problem& problem : problems) COT_ASSERT(problem.pointer.empty() || problem.pointer[0] == '/');
  if (!problems.empty()) return 0;
  const auto again = job_settings_from_stored_json(job_settings_to_json_text(spec));
  COT_ASSERT(again && *again == spec);
  COT_ASSERT(validate(spec).empty());
  const HorizontalSettings& settings = spec.horizontal();
  if (validate_with_model(settings, 1'000).empty()) {
    COT_ASSERT(validate(plan_of(settings, JobId("j"), 1'000)).has_value());
  }
  return 0;
}
