// What the options of `ridge tune` mean for several models at once (--share).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "cli/tune_options.h"
#include "tune/share/co_located_model.h"

namespace ridge::cli {

struct ShareRequest {
  TuneOptions options;                        // as given
  std::vector<TuneRequest> models;            // each as if it were tuned alone
  std::vector<tune::share::ModelGoal> goals;  // parallel to models
  std::optional<int64_t> memory_bytes;        // --memory
};

// An error is wrong usage: options that decide nothing for several models, two models of one name.
Result<ShareRequest> share_request_of(const TuneOptions& options);

}  // namespace ridge::cli
