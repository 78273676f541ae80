// Which exchange answers a call: make_exchange() of call.h.
#include "front/grpc/call.h"
#include "front/grpc/infer_call.h"
#include "front/grpc/unary_call.h"
#include "front/grpc/watch_call.h"

namespace ridge::front::grpc {
namespace {

// For what the server does not have.
class UnknownMethod final : public Exchange {
 public:
  explicit UnknownMethod(Call& call) : call_(call) {}
  void begin() override {
    call_.finish(Error{Code::kUnsupported, "this server has no method '" + call_.method() + "'"});
  }
  void received(bool) override {}

 private:
  Call& call_;
};

struct StreamMethod {
  std::string_view path;
  std::unique_ptr<Exchange> (*make)(Call& call);
};

// The others than unary_methods(); the one that counts comes first.
constexpr StreamMethod kOtherMethods[] = {
    {"/inference.GRPCInferenceService/ModelInfer", infer_exchange},
    {"/inference.GRPCInferenceService/ModelStreamInfer", stream_exchange},
    {"/grpc.health.v1.Health/Watch", health_watch_exchange},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", reflection_exchange},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", reflection_exchange},
};

}  // namespace

std::unique_ptr<Exchange> make_exchange(Call& call) {
  const std::string& path = call.method();
  for (const StreamMethod& method : kOtherMethods)
    if (method.path == path) return method.make(call);
  for (const UnaryMethod& method : unary_methods())
    if (method.path == path) return unary_exchange(call, method);
  return std::make_unique<UnknownMethod>(call);
}

}  // namespace ridge::front::grpc
