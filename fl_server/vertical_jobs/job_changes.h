// What has changed in a coordinator's jobs between two looks at them, as events. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "fl_server/events/event.h"
#include "vertical/coordinator/job_survey.h"

namespace coterie {

// The name of a vertical job on the admin plane: 32 hexadecimal digits.
JobId name_of(const vertical::VerticalJobId& job);

// What an event says of a job as it is now.
event::VerticalJobChanged told_of(const vertical::SurveyedJob& job);

class VerticalJobChanges {
 public:
  struct Changes {
    std::vector<std::pair<JobId, event::VerticalJobChanged>> changed;  // and new ones
    std::vector<JobId> known;  // that the first look found: as they are, nothing has happened to them
    std::vector<JobId> gone;   // that the coordinator does not keep any more
  };

  // All jobs as they are now.
  Changes look(const std::vector<vertical::SurveyedJob>& jobs);

 private:
  bool has_looked_ = false;
  std::map<JobId, event::VerticalJobChanged> before_;
};

}  // namespace coterie
