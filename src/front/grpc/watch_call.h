// Calls whose answers come while the client listens: health and reflection. For this folder's own sources.
#pragma once

#include <memory>

#include "front/grpc/call.h"

namespace ridge::front::grpc {

// grpc.health.v1.Health/Watch: the state now, and whenever it has changed. Every service's name means the whole server.
std::unique_ptr<Exchange> health_watch_exchange(Call& call);

// grpc.reflection.v1 and v1alpha: the services and the schemas of all that is served (reflection.h).
std::unique_ptr<Exchange> reflection_exchange(Call& call);

}  // namespace ridge::front::grpc
