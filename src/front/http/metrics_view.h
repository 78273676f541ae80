// The service's statistics as telemetry's snapshot.
#pragma once

#include <vector>

#include "serve/service.h"
#include "telemetry/metrics.h"

namespace ridge::front::http {

std::vector<telemetry::ModelSample> model_samples(const std::vector<serve::ModelStatistics>& statistics);

}  // namespace ridge::front::http
