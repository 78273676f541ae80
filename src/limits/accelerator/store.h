// Measured figures of devices, kept between runs beside the CPU's (limits/limits_file.h): per device a list of what was measured
// under which setting, the newest last.
//   "cards": {"<api> <card> <name>": [{"setting": …, "most_seconds": 20, "measured": <as to_json of DeviceMeasurement writes it>}]}
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
  double most_seconds = 0;  // that measuring was given
  std::string reason;  // why there is none: nothing was measured, under another setting, or what is kept is damaged
  bool damaged = false;
};
// What was measured of the device under the setting of now. `file` empty: the default one.
StoredLimits recall(const gpu::DeviceFacts& facts, const Setting& now, const std::string& file = "");

using MeasureDevice = std::function<Result<DeviceMeasurement>()>;

// The figures of a device: recalled, unless `fresh` is set or they were given less time than options.most_seconds; otherwise
// measured and kept. What was interrupted is not kept. A file that is damaged, or cannot be written, costs one warning and nothing
// else. Processes that find no figures at the same time measure one after the other, not against each other.
Result<DeviceMeasurement> recall_or_measure(const gpu::DeviceFacts& facts, const Setting& now, const Options& options,
                                            bool fresh, const MeasureDevice& measure);

// Measured by measure() (measure.h).
Result<DeviceMeasurement> recall_or_measure(const gpu::Device& device, const Options& options, bool fresh);

}  // namespace ridge::limits::accelerator
