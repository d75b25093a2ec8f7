// CoordinatorJobs: VerticalJobs of a coordinator that is asked over TLS with an operator's certificate.
#pragma once

#include <atomic>

#include "fl_server/settings/vertical_settings.h"
#include "fl_server/vertical_jobs/vertical_jobs.h"
#include "vertical/coordinator/coordinator_client.h"

namespace coterie {

class CoordinatorJobs final : public VerticalJobs {
 public:
  // Who comes while so many ask is refused at once: a coordinator that is slow holds no more threads than that.
  static constexpr uint32_t kAtOnceMax = 4;

  explicit CoordinatorJobs(VerticalSettings settings);

  const std::string& tenant() const override { return settings_.tenant; }
  Result<vertical::JobSurvey> list(std::optional<vertical::VerticalJobId> after, size_t most) override;
  Result<vertical::SurveyedJob> get(const vertical::VerticalJobId& job) override;
  Result<vertical::SurveyedJob> steer(const vertical::VerticalJobId& job, VerticalStep step) override;

  // Whoever waits is refused soon, and whoever comes at once: for the end.
  void cancel() { cancelled_ = true; }

 private:
  vertical::LinkPatience patience() const;

  const VerticalSettings settings_;
  const vertical::CoordinatorDoor door_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<uint32_t> under_way_ = 0;
};

}  // namespace coterie
