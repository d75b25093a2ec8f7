// What a network thread does when it has looked at its sockets, before it goes on with any that is ready.
#pragma once

#include <functional>

#include "fl_server/net/turns.h"

namespace coterie {

// Has `then` called once, on this thread, when it looks at its sockets the next time; not if the server stops first.
// Does not suspend.
Awaitable<void> call_behind_sockets(std::function<void()> then);

}  // namespace coterie
