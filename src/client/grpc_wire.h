// gRPC's unary calls over HTTP/2 without TLS (grpc/doc/PROTOCOL-HTTP2.md), by nghttp2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/wire.h"

namespace ridge::client {

// `message` behind its prefix: not compressed, length [bytes] as 32 bits, big-endian. Precondition: less than 4 GiB.
std::string grpc_message(std::string_view message);

// `authority`: "HOST:PORT".
std::unique_ptr<Wire> grpc_wire(std::string authority, const BodyLimits& keep);

}  // namespace ridge::client
