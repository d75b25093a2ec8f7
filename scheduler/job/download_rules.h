// What goes with the job key download.
//
// Deltas are made of what a round has come to, whatever came in and behind whatever noise: no security level, strategy
// or rule of a job has a say in them. So nothing is refused beside them.
#pragma once

#include "base/problem.h"
#include "scheduler/job/download_settings.h"

namespace coterie {

Problems download_problems(const DownloadSettings& download);

}  // namespace coterie
