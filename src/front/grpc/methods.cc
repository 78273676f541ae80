// Which exchange answers a call: make_exchange() of call.h.
#include "front/grpc/call.h"
#include "front/grpc/infer_call.h"
#include "front/grpc/unary_call.h"
#include "front/grpc/watch_call.h"

namespace ridge::front::grpc {
namespace {

// For what the server does not have, and for clients that may not call.
class RefusedCall final : public Exchange {
 public:
  RefusedCall(Call& call, Error why) : call_(call), why_(std::move(why)) {}
  void begin() override { call_.finish(std::move(why_)); }
  void received(bool) override {}

 private:
  Call& call_;
  Error why_;
};

struct StreamMethod {
  std::string_view path;
  Groups groups;  // whose keys open it
  std::unique_ptr<Exchange> (*make)(Call& call);
};

// The others than unary_methods(); the one that counts comes first.
constexpr StreamMethod kOtherMethods[] = {
    {"/inference.GRPCInferenceService/ModelInfer", kInferenceCalls, infer_exchange},
    {"/inference.GRPCInferenceService/ModelStreamInfer", kInferenceCalls, stream_exchange},
    {"/grpc.health.v1.Health/Watch", kHealthCalls, health_watch_exchange},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", kDescribingCalls, reflection_exchange},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kDescribingCalls, reflection_exchange},
};

// Makes the method's exchange, if the client's key opens it.
template <typename Make>
std::unique_ptr<Exchange> exchange_for(Call& call, Groups groups, Make make) {
  Status allowed = call.check_access(groups);
  return allowed ? make() : std::make_unique<RefusedCall>(call, std::move(allowed).error());
}

}  // namespace

std::unique_ptr<Exchange> make_exchange(Call& call) {
  const std::string& path = call.path();
  for (const StreamMethod& method : kOtherMethods)
    if (method.path == path) return exchange_for(call, method.groups, [&] { return method.make(call); });
  for (const UnaryMethod& method : unary_methods())
    if (method.path == path) return exchange_for(call, method.groups, [&] { return unary_exchange(call, method); });
  return std::make_unique<RefusedCall>(call, Error{Code::kUnsupported, "this server has no method '" + path + "'"});
}

}  // namespace ridge::front::grpc
