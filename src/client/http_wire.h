// HTTP/1.1: requests come whole, responses by ResponseParser.
#pragma once

#include <memory>

#include "client/wire.h"

namespace ridge::client {

std::unique_ptr<Wire> http_wire(const Keep& keep);

}  // namespace ridge::client
