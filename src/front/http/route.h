// Which endpoint a request means: method and path → Route, or the status to refuse it with. Pure.
#pragma once

#include <cstdint>
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
  kIndex,
  kLoad,
  kUnload,
  kMetrics,
  kLogging,  // the log's settings
  kLoggingChange,
  kRegionStatus,
  kRegionRegister,
  kRegionUnregister,
};

struct Route {
  Endpoint endpoint = Endpoint::kServerMetadata;
  std::string model;   // percent-decoded; empty where the path names none
  std::string region;  // of shared memory, likewise
  serve::RegionKind region_kind = serve::RegionKind::kSystem;
  int64_t version = 0;  // 0 = the path names none
  // Rejected: a status other than 200, with its message and, for 405, the methods that are allowed.
  int status = 200;
  std::string message;
  std::string_view allow;
};

Route route(Method method, std::string_view target);

// Whose keys open it.
Groups groups_of(Endpoint endpoint);

}  // namespace ridge::front::http
