// Measures what a device can do at best, beside what it should: peaks per precision, bandwidth per level of memory, the way to the
// host and the cost of starting work; with clock, power and slowdowns seen meanwhile.
//
// Method: limits/metric.h. What a kernel computes is checked after every visit.
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
  std::string machine_cache;  // limits of this machine's CPU (limits/limits_store.h); empty: the default file
};

// What a device cannot do is a row with the reason. Interrupted, it returns what was measured until then.
Result<DeviceMeasurement> measure(const gpu::Device& device, const Options& options, Clock& clock = system_clock());

}  // namespace ridge::limits::accelerator
