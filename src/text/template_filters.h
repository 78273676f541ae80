// Jinja2's filters, as far as chat templates use them. Throws TemplateError.
#pragma once

#include <string_view>

#include "text/template_parameters.h"

namespace ridge::text {

// TemplateError: a filter that is not known, too: Jinja2 looks for it only when a template comes to it.
Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments, Budget& budget);

}  // namespace ridge::text
