#include "tune/implementation.h"

#include <nlohmann/json.hpp>

namespace ridge::tune {

Json to_json(const Implementation& implementation) {
  Json json;
  json["engine"] = implementation.engine;
  json["variant"] = implementation.variant;
  json["precision"] = precision_name(implementation.precision);
  if (!implementation.file.empty()) json["file"] = implementation.file;
  return json;
}

}  // namespace ridge::tune
