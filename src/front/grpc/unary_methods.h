// The methods with one request and one answer, but for ModelInfer: from message to message. Thread-safe as Service.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "front/access.h"
#include "front/grpc/api.h"
#include "front/grpc/message_bytes.h"
#include "serve/service.h"

namespace ridge::front::grpc {

enum class Rights : uint8_t {
  kAll,
  kRegions,  // clients that may use shared memory
  kLoading,  // clients that may control a server that loads and unloads on request
};

enum class RunsOn : uint8_t {
  kLoop,     // at once
  kControl,  // a thread for what takes a while
  kLoads,    // a thread for what may take minutes
};

struct UnaryContext {
  serve::Service& service;
  const ApiOptions& options;
  bool from_this_machine;  // the client
  std::string& model;      // receives the model that the request names, for the access log
};

struct UnaryMethod {
  std::string_view path;  // "/package.Service/Method"
  Rights rights;
  Groups groups;  // whose keys open it
  RunsOn runs_on;
  size_t longest;  // [bytes] of the request; 0: any
  Result<std::string> (*answer)(const UnaryContext& context, const MessageBytes& request);
};
std::span<const UnaryMethod> unary_methods();

}  // namespace ridge::front::grpc
