// HTTP/1.1: requests come whole, responses by ResponseParser.
#pragma once

#include <memory>

#include "client/answer_reader.h"
#include "client/wire.h"

namespace ridge::client {

// `reader` as of ResponseParser.
std::unique_ptr<Wire> http_wire(const BodyLimits& keep, AnswerReader* reader = nullptr);

}  // namespace ridge::client
