// Whether a port can be listened on, before gRPC tries it: its own error does not say what is wrong.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ridge::front::grpc {

// The address and port as gRPC names them: "0.0.0.0:8001", "[::]:8001". kInvalid: not an address. kFailed: the port is taken, …
Result<std::string> check_listening(const std::string& address, uint16_t port);

}  // namespace ridge::front::grpc
