// KeptModels: the model that a device trained from last, of each job whose models come as deltas, until the next one of
// the job is made of it:
//
//   kept-<job>-<model>.cotf   the file; <job> is the first 16 digits of the digest of its name, <model> its own digest
//
// One a job, kKeptModelsMax in all: there is no more on the disk than so many models, whatever a server assigns. What
// a file holds is known by its digest alone, which its reader looks at. Not thread-safe; the caller holds the
// directory's lock.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace coterie {

inline constexpr size_t kKeptModelsMax = 4;

class KeptModels {
 public:
  explicit KeptModels(std::string directory) : directory_(std::move(directory)) {}

  std::string path(const JobId& job, const Digest& model) const;
  // Those that there are of a job, by their names: two after a death between write and removal.
  std::vector<Digest> of(const JobId& job) const;
  // Removes all but this one of the job, and of other jobs' those beyond the limit, what was written first first. What
  // cannot be removed stays until the next time.
  void keep_only(const JobId& job, const Digest& model) const;
  // Removes what a download has left half done.
  void drop_parts() const;

 private:
  std::vector<std::string> names() const;

  std::string directory_;
};

}  // namespace coterie
