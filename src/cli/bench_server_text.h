// A load on a served model as text: the table of its points, or one point in detail, and notes.
#pragma once

#include "client/server_measurement.h"

namespace ridge::cli {

void print_server_measurement(const client::ServerMeasurement& measured);

}  // namespace ridge::cli
