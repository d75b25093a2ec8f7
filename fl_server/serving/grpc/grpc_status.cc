#include "fl_server/serving/grpc/grpc_status.h"

#include <string>

namespace coterie {
namespace {

grpc::StatusCode code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::malformed:
    case ErrorCode::length_required: return grpc::INVALID_ARGUMENT;
    case ErrorCode::unauthenticated:
    case ErrorCode::ticket_expired: return grpc::UNAUTHENTICATED;
    case ErrorCode::permission_denied:
    case ErrorCode::refused: return grpc::PERMISSION_DENIED;
    case ErrorCode::not_found: return grpc::NOT_FOUND;
    case ErrorCode::conflict:
    case ErrorCode::round_closed: return grpc::FAILED_PRECONDITION;
    case ErrorCode::too_large:
    case ErrorCode::rate_limited:
    case ErrorCode::storage_full: return grpc::RESOURCE_EXHAUSTED;
    case ErrorCode::overloaded:
    case ErrorCode::unavailable: return grpc::UNAVAILABLE;
    case ErrorCode::timed_out: return grpc::DEADLINE_EXCEEDED;
    case ErrorCode::unsupported_version: return grpc::UNIMPLEMENTED;
    case ErrorCode::data_loss: return grpc::DATA_LOSS;
    case ErrorCode::cancelled: return grpc::CANCELLED;
    case ErrorCode::internal: break;
  }
  return grpc::INTERNAL;
}

}  // namespace

grpc::Status grpc_status_of(const Error& error) { return {code_of(error.code()), std::string(error.message())}; }

}  // namespace coterie
