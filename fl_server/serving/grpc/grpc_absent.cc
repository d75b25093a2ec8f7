// For builds without gRPC.
#include "fl_server/serving/grpc/grpc_door.h"

namespace coterie {

Result<std::unique_ptr<GrpcDoor>> GrpcDoor::open(const GrpcDoorSettings& /*settings*/, ModelServer& /*server*/) {
  return Error(ErrorCode::unsupported_version,
               "this program was built without gRPC: install libgrpc++-dev and protobuf-compiler-grpc, and build it "
               "again (cmake says \"gRPC: found\")");
}

}  // namespace coterie
