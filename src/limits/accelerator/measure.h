// Measures a device's best rates, beside the expected ones: peaks per precision, bandwidth per memory level, the path
// to the host and the cost of starting work; with clock, power and slowdowns during the measurement.
//
// Method: limits/metric.h. Kernel results are checked after every visit.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "gpu/device.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

struct Options {
  RoundOptions rounds;
  std::string machine_cache;    // limits of this machine's CPU (limits/limits_store.h); empty: the default file
  bool keep_disturbed = false;  // store what was measured while the machine was busy
};

// A row that the device does not support holds the reason. Interrupted, it returns what was measured until then.
Result<DeviceMeasurement> measure(const gpu::Device& device, const Options& options, Clock& clock = system_clock());

}  // namespace ridge::limits::accelerator
