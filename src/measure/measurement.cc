#include "measure/measurement.h"

#include <nlohmann/json.hpp>

namespace ridge::measure {

Json to_json(const Measurement& measurement) { return json_of(measurement); }

}  // namespace ridge::measure
