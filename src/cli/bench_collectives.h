// ridge bench device --device cuda:0,cuda:1 | cuda:all as text.
#pragma once

#include <string>

#include "limits/accelerator/collectives.h"

namespace ridge::cli {

std::string collectives_text(const limits::accelerator::CollectivesMeasurement& measured);

}  // namespace ridge::cli
