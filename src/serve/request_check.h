// Checks a request against the model that it names and turns it into a job. Everything that a client can get wrong is
// found here, before the request meets others in a batch; the error names the tensor at fault.
//
// Pure. Nothing is allocated by a size that the request only claims.
#pragma once

#include "serve/job.h"
#include "serve/model_settings.h"

namespace ridge::serve {

// Rules: docs/contracts.md, "Requests". On success `request` was moved into the job.
Result<JobPtr> check_request(const ModelSettings& settings, InferRequest&& request);

}  // namespace ridge::serve
