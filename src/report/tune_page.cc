#include "report/tune_page.h"

#include <nlohmann/json.hpp>

namespace ridge::report {

std::string tune_page(const Json& tuning, Language language) {
  std::string title = "ridge tune";
  auto untuned = tuning.find("baseline");  // of the model as given; the winner's may be a file of another precision
  if (untuned != tuning.end() && untuned->is_object())
    if (Result<std::string> model = json_member<std::string>(*untuned, "model")) title += " · " + *model;
  return framed(title, language, tuning, "tune_script");
}

}  // namespace ridge::report
