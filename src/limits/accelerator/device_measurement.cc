#include "limits/accelerator/device_measurement.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge::limits::accelerator {

std::string row_name(const PeakRow& row) { return fmt::format("{} {}", precision_name(row.precision), row.way); }
std::string row_name(const BandwidthRow& row) { return row.level + " " + row.access; }
std::string row_name(const LinkRow& row) {
  return fmt::format("{}, {}", way_name(row.way), host_memory_name(row.memory));
}
std::string row_name(const StartRow& row) { return row.what; }

Json to_json(const DeviceMeasurement& measured) { return json_of(measured); }

}  // namespace ridge::limits::accelerator
