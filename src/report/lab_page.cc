#include "report/lab_page.h"

#include <nlohmann/json.hpp>

namespace ridge::report {

std::string lab_page(const Json& ledger, Language language) {
  std::string title = "ridge lab";
  auto conditions = ledger.find("conditions");
  if (conditions != ledger.end() && conditions->is_object())
    if (Result<std::string> name = json_member<std::string>(*conditions, "name")) title += " · " + *name;
  return framed(title, language, ledger, "lab_script");
}

}  // namespace ridge::report
