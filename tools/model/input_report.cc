#include "tools/model/input_report.h"

#include <algorithm>

namespace coterie {
namespace {

std::vector<InputReport::Stage> stages_of(const StageLog& log, uint64_t examples) {
  std::vector<InputReport::Stage> stages;
  const double all = log.seconds();
  for (size_t i = 0; i < kDataStages; ++i) {
    const auto stage = static_cast<DataStage>(i);
    const StageTotal& total = log.total(stage);
    if (total.calls == 0) continue;
    stages.push_back({.stage = stage,
                      .total = total,
                      .share = all > 0 ? total.seconds / all : 0,
                      .examples_per_second = total.seconds > 0 ? static_cast<double>(examples) / total.seconds : 0});
  }
  return stages;
}

// The one that took longest; the step itself is none of them.
DataStage slowest(const std::vector<InputReport::Stage>& stages, DataStage otherwise) {
  const InputReport::Stage* found = nullptr;
  for (const InputReport::Stage& each : stages) {
    if (each.stage != DataStage::step && (found == nullptr || each.total.seconds > found->total.seconds)) found = &each;
  }
  return found == nullptr ? otherwise : found->stage;
}

DataSupply supply_of(double wait_share) {
  if (wait_share < kSlowShare) return DataSupply::sufficient;
  return wait_share < kStarvingShare ? DataSupply::slow : DataSupply::starving;
}

}  // namespace

InputReport report_input(const StageLog& loading, uint64_t loaded, const StageLog& steps, uint64_t step_count,
                         uint32_t batch_size, uint64_t steps_an_epoch) {
  InputReport report{.loading = stages_of(loading, loaded), .steps = stages_of(steps, step_count * batch_size)};
  const double all = steps.seconds() / static_cast<double>(step_count);
  report.loading_seconds = loading.seconds();
  report.computing_seconds = steps.total(DataStage::step).seconds / static_cast<double>(step_count);
  report.wait_seconds = all - report.computing_seconds;
  report.wait_share = all > 0 ? report.wait_seconds / all : 0;
  report.loading_epochs = all > 0 ? report.loading_seconds / (all * static_cast<double>(steps_an_epoch)) : 0;
  report.supply = supply_of(report.wait_share);
  report.slowest_of_batch = slowest(report.steps, DataStage::batch);
  report.slowest_of_loading = slowest(report.loading, DataStage::read);
  return report;
}

}  // namespace coterie
