// What collects traces of rounds, where a configuration names a collector.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace coterie {

struct Observers;
struct ServerConfig;
class SpanExporter;

// Null: none is configured. It hears from `observers`, which outlive it. Errors: those of reading the token's file.
Result<std::unique_ptr<SpanExporter>> begin_tracing(const ServerConfig& config, const std::string& incarnation,
                                                    Observers& observers);

}  // namespace coterie
