// Attributes and methods of a template's values, as in Python, and functions of every template. Throws TemplateError.
#pragma once

#include <string>
#include <string_view>

#include "text/template_parameters.h"

namespace ridge::text {

Value get_attribute(const Value& object, const std::string& name);  // object.name
Value call_method(const Method& method, const Arguments& arguments, Budget& budget);
// range, dict, raise_exception, strftime_now.
Value call_function(std::string_view name, const Arguments& arguments, Budget& budget);

}  // namespace ridge::text
