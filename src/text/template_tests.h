// Jinja2's tests ("x is defined"). Throws TemplateError.
#pragma once

#include <string_view>
#include <vector>

#include "text/template_value.h"

namespace ridge::text {

bool knows_test(std::string_view name);
bool takes_operand(std::string_view test);
// A test that is known.
bool apply_test(std::string_view name, const Value& input, const std::vector<Value>& operands, Budget& budget);

}  // namespace ridge::text
