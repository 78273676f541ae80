#include "tune/variant.h"

#include <nlohmann/json.hpp>

namespace ridge::tune {

Json to_json(const Variant& variant) {
  Json json;
  json["engine"] = variant.engine;
  json["name"] = variant.name;
  json["precision"] = precision_name(variant.precision);
  if (!variant.file.empty()) json["file"] = variant.file;
  return json;
}

}  // namespace ridge::tune
