// The options of `ridge tune` for several models at once (--share).
#pragma once

#include "app/tune_request.h"
#include "base/result.h"
#include "cli/tune_options.h"

namespace ridge::cli {

// An error is wrong usage: options that do not apply to several models, two models of one name.
Result<app::ShareRequest> share_request_of(const TuneOptions& options);

}  // namespace ridge::cli
