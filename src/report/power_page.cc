#include "report/power_page.h"

#include <nlohmann/json.hpp>

namespace ridge::report {

std::string power_page(const Json& sweep, Language language) {
  std::string title = "ridge power sweep";
  if (sweep.is_object())
    if (Result<std::string> device = json_member<std::string>(sweep, "device")) title += " · " + *device;
  return framed(title, language, sweep, "power_script");
}

}  // namespace ridge::report
