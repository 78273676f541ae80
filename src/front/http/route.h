// The server's calls, and which one a request means: method and path → Route, or the status of a refusal. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "front/access.h"
#include "front/http/message.h"
#include "serve/service.h"

namespace ridge::front::http {

enum class Endpoint : uint8_t {
  kServerMetadata,
  kLive,
  kReady,
  kModelReady,
  kModelMetadata,
  kModelConfig,
  kStatistics,
  kInfer,
  kModelStatus,  // TensorFlow Serving's
  kPredict,      // likewise
  kTextModels,   // OpenAI's, and so the next three
  kCompletions,
  kChatCompletions,
  kEmbeddings,
  kTokenize,  // vLLM's
  kDetokenize,
  kVersion,
  kIndex,
  kLoad,
  kUnload,
  kMetrics,
  kDocs,       // the OpenAPI document
  kFrontPage,  // for people
  kLogging,    // the log's settings
  kLoggingChange,
  kTrace,  // the settings of traces
  kTraceChange,
  kRegionStatus,
  kRegionRegister,
  kRegionUnregister,
};

struct RouteRow {
  std::string_view path;  // "{name}" stands for any segment
  Endpoint endpoint = Endpoint::kServerMetadata;
  Method method = Method::kGet;  // kGet: also HEAD
  Groups groups = kHealthCalls;  // whose keys open it
  bool with_version = false;     // "/versions/{version}" may stand behind "{model}"
  serve::RegionKind region_kind = serve::RegionKind::kSystem;
};

std::span<const RouteRow> route_table();

// "/v2/models/{model}/infer" → "/v2/models/{model}/versions/{version}/infer", of a row with_version.
std::string versioned(std::string path);

struct Route {
  Endpoint endpoint = Endpoint::kServerMetadata;
  Groups groups = kHealthCalls;
  std::string model;   // percent-decoded; empty where the path names none
  std::string region;  // of shared memory, likewise
  serve::RegionKind region_kind = serve::RegionKind::kSystem;
  int64_t version = 0;  // 0 = the path names none
  // Rejected: a status other than 200, with its message and, for 405, the methods that are allowed.
  int status = 200;
  std::string message;
  std::string_view allow;
};

// The path of a target in origin form or absolute form (RFC 9112, 3.2), without query and fragment.
std::string_view path_of(std::string_view target);

Route route(Method method, std::string_view target);

// True if the path belongs to OpenAI's API (form of errors). /v1/models/NAME and its verbs are TensorFlow Serving's.
bool is_of_openai(std::string_view target);

}  // namespace ridge::front::http
