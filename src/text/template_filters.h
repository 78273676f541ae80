// Jinja2's filters, as far as chat templates use them. Throws TemplateError.
#pragma once

#include <string_view>

#include "text/template_parameters.h"

namespace ridge::text {

bool knows_filter(std::string_view name);
// A filter that is known.
Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments, Budget& budget);

}  // namespace ridge::text
