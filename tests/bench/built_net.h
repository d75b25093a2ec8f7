// Networks that coterie-bench-int8 builds, and how it ends where one of its steps fails.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/model_builder.h"

namespace coterie::bench {

inline void need(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "coterie-bench-int8: %s\n", std::string(status.error().message()).c_str());
  std::exit(1);
}
template <typename T>
T need(Result<T> result) {
  if (!result) need(Status(result.error()));
  return std::move(*result);
}

inline Model loaded(ModelBuilder& build, TensorId output) { return need(Model::load(need(build.finish(output)))); }

inline Model lenet(const std::string& name) {
  ModelBuilder build(name, {28, 28, 1}, 1);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 6, .kernel = 5, .pad = 2}));
  x = build.relu(build.conv2d(build.max_pool2d(x, {}), {.filters = 16, .kernel = 5}));
  x = build.relu(build.dense(build.flatten(build.max_pool2d(x, {})), 120));
  return loaded(build, build.dense(build.relu(build.dense(x, 84)), 10));
}

}  // namespace coterie::bench
