// VersionLoader: compiles versions in its own time, one after the other, so that whoever follows the registry carries
// out a rollback while a large model is being compiled.
#pragma once

#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/serving/served_version.h"
#include "fl_server/serving/serving_plan.h"

namespace coterie {

// One thread's.
class VersionLoader {
 public:
  virtual ~VersionLoader() = default;
  // From now on this version is under way, with the steps around it, if there are any; where it `promotes`, others make
  // room for it. Precondition: none is.
  virtual void begin(const VersionToLoad& wanted, const Digest& file,
                     const std::shared_ptr<const ServingSteps>& steps) = 0;
  // What has become of it, once; none: it is under way, or there is none. Errors: the blob store's,
  // ModelServer::prepare.
  virtual std::optional<Result<std::shared_ptr<ServedVersion>>> take() = 0;
};

}  // namespace coterie
