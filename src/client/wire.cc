#include "client/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace ridge::client {
namespace {

// Indices are gRPC's status codes (grpc/doc/statuscodes.md). `code`: as seen by who asked.
struct GrpcStatus {
  std::string_view name;
  Code code;
};
constexpr std::array<GrpcStatus, 17> kGrpcStatuses = {{{"OK", Code::kFailed},
                                                       {"CANCELLED", Code::kUnavailable},
                                                       {"UNKNOWN", Code::kUnavailable},
                                                       {"INVALID_ARGUMENT", Code::kInvalid},
                                                       {"DEADLINE_EXCEEDED", Code::kUnavailable},
                                                       {"NOT_FOUND", Code::kNotFound},
                                                       {"ALREADY_EXISTS", Code::kInvalid},
                                                       {"PERMISSION_DENIED", Code::kInvalid},
                                                       {"RESOURCE_EXHAUSTED", Code::kUnavailable},
                                                       {"FAILED_PRECONDITION", Code::kInvalid},
                                                       {"ABORTED", Code::kUnavailable},
                                                       {"OUT_OF_RANGE", Code::kInvalid},
                                                       {"UNIMPLEMENTED", Code::kInvalid},
                                                       {"INTERNAL", Code::kUnavailable},
                                                       {"UNAVAILABLE", Code::kUnavailable},
                                                       {"DATA_LOSS", Code::kUnavailable},
                                                       {"UNAUTHENTICATED", Code::kInvalid}}};

const GrpcStatus* grpc_status(int status) {
  const auto index = static_cast<size_t>(status - kGrpcStatus);
  return status >= kGrpcStatus && index < kGrpcStatuses.size() ? &kGrpcStatuses.at(index) : nullptr;
}

}  // namespace

std::string failure_name(int failure) {
  switch (failure) {
    case kTimeout: return "timeout";
    case kNoConnection: return "no connection";
    case kClosed: return "connection closed";
    case kNotHttp: return "not HTTP";
    case kNotGrpc: return "not gRPC";
    case kBadAnswer: return "malformed answer";
    case kErrorInAnswer: return "error in the answer";
    case kNoDone: return "no [DONE]";
    case kNoTokens: return "no tokens";
    case kNoUsage: return "no usage";
    default: break;
  }
  const GrpcStatus* status = grpc_status(failure);
  return status != nullptr ? std::string(status->name) : std::to_string(failure);
}

Code code_of_status(int status) {
  if (const GrpcStatus* grpc = grpc_status(status)) return grpc->code;
  if (status == 404) return Code::kNotFound;
  return status / 100 == 4 ? Code::kInvalid : Code::kUnavailable;
}

std::string error_of(const Json& json) {
  if (!json.is_object()) return "";
  const auto error = json.find("error");
  if (error == json.end()) return "";
  if (error->is_string()) return error->get<std::string>();
  if (!error->is_object()) return dump_json(*error);
  const Result<std::string> message = json_member<std::string>(*error, "message");
  return message ? *message : dump_json(*error);
}

std::string error_text(const Response& response) {
  if (const Result<Json> json = parse_json(response.body, "answer"))
    if (std::string text = error_of(*json); !text.empty()) return text;
  const std::string line = response.body.substr(0, std::min<size_t>(response.body.find('\n'), 200));
  return line.empty() ? "status " + failure_name(response.status) : line;
}

}  // namespace ridge::client
