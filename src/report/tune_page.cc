#include "report/tune_page.h"

#include <nlohmann/json.hpp>

namespace ridge::report {

std::string tune_page(const Json& tuning, Language language) {
  std::string title = "ridge tune";
  auto best = tuning.find("best");
  if (best != tuning.end() && best->is_object())
    if (Result<std::string> model = json_member<std::string>(*best, "model")) title += " · " + *model;
  return framed(title, language, tuning, "tune_script");
}

}  // namespace ridge::report
