// Calls of unary_methods(). Included only by this folder's own sources.
#pragma once

#include <memory>

#include "front/grpc/call.h"
#include "front/grpc/unary_methods.h"

namespace ridge::front::grpc {

std::unique_ptr<Exchange> unary_exchange(Call& call, const UnaryMethod& method);

}  // namespace ridge::front::grpc
