// A server's certificate for gRPC, as it is when a connection begins. Included only by this folder's own sources.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "front/tls.h"

namespace ridge::front::grpc {

// They outlive the server.
std::shared_ptr<::grpc::ServerCredentials> tls_credentials(std::shared_ptr<const Tls> tls);

}  // namespace ridge::front::grpc
