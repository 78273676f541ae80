// The protocol's JSON about servers and models: metadata, statistics, the repository's index. Pure.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "serve/service.h"

namespace ridge::front::http {

// `shared_memory`, `traces`: as of extensions().
Json server_metadata(const std::string& version, bool shared_memory, bool traces);
Json model_metadata(const serve::ModelMetadata& model);
Json model_statistics(std::span<const serve::ModelStatistics> models);
// The answer of TensorFlow Serving's GetModelStatus for these versions of one model.
Json model_version_status(std::span<const serve::IndexEntry> versions);
Json repository_index(std::span<const serve::IndexEntry> entries);

}  // namespace ridge::front::http
