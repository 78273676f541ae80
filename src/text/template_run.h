// The tree of a template and its variables → text. Throws TemplateError.
#pragma once

#include <string>

#include "base/json.h"
#include "text/template_parser.h"

namespace ridge::text {

std::string run_template(const TemplateNode& root, const Json& variables);

}  // namespace ridge::text
