#include "report/plan_page.h"

#include <nlohmann/json.hpp>

namespace ridge::report {

std::string plan_page(const Json& plan, Language language) {
  auto model = plan.find("model");
  std::string title = "ridge plan";
  if (model != plan.end() && model->is_string()) title += " · " + model->get<std::string>();
  return framed(title, language, plan, "plan_script");
}

}  // namespace ridge::report
