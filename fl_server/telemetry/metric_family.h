// A family of metrics of one name, in a registry of prometheus-cpp.
#pragma once

#include <prometheus/registry.h>

namespace coterie {

// `builder`: prometheus::BuildCounter() and its like. The family lives as long as the registry.
template <typename Builder>
auto& metric_family(prometheus::Registry& registry, Builder builder, const char* name, const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

}  // namespace coterie
