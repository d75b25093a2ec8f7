// Errors as gRPC tells them.
#pragma once

#include <grpcpp/support/status.h>

#include "base/error.h"

namespace coterie {

// The code says whether the same request may come again (UNAVAILABLE); the message is the error's.
grpc::Status grpc_status_of(const Error& error);

}  // namespace coterie
