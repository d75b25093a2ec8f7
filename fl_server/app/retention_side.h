// What keeps the server's stores from growing for ever, from its construction to its end.
#pragma once

#include <memory>

namespace coterie {

class RetentionLoop;
struct ServerConfig;
class ServerStores;

// Only whoever leads has one. `stores` outlives it.
std::unique_ptr<RetentionLoop> begin_retention(const ServerConfig& config, ServerStores& stores);

}  // namespace coterie
