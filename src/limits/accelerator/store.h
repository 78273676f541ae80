// Measured figures of devices, stored between runs beside the CPU's (limits/limits_file.h): per device a list of
// measurements with their settings, newest last.
//   "cards": {"<api> <card> <name>": [{"setting": …, "most_seconds": 20, "measured": <to_json of DeviceMeasurement>}]}
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/accelerator/measure.h"

namespace ridge::limits::accelerator {

struct StoredLimits {
  std::optional<DeviceMeasurement> measured;
  double most_seconds = 0;  // time given to the measurement
  std::string reason;       // why there is none: nothing measured, another setting, or a damaged entry
  bool damaged = false;
};
// The device's figures under the current setting. `file` empty: the default one.
StoredLimits recall(const gpu::DeviceFacts& facts, const Setting& now, const std::string& file = "");

using MeasureDevice = std::function<Result<DeviceMeasurement>()>;

// The figures of a device: recalled, unless `fresh` is set or they were given less time than options.most_seconds;
// otherwise measured and stored. Interrupted measurements are not stored, nor (unless options.keep_disturbed) those of
// a busy machine. A damaged or unwritable file costs one warning and nothing else. Processes that find no figures at
// the same time measure in sequence.
Result<DeviceMeasurement> recall_or_measure(const gpu::DeviceFacts& facts, const Setting& now, const Options& options,
                                            bool fresh, const MeasureDevice& measure);

// Measured by measure() (measure.h).
Result<DeviceMeasurement> recall_or_measure(const gpu::Device& device, const Options& options, bool fresh);

}  // namespace ridge::limits::accelerator
