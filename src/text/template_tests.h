// Jinja2's tests ("x is defined"). Throws TemplateError.
#pragma once

#include <string_view>
#include <vector>

#include "text/template_value.h"

namespace ridge::text {

// True if what stands behind its name may be its operand; of a test that is not known, too.
bool takes_operand(std::string_view test);
bool apply_test(std::string_view name, const Value& input, const std::vector<Value>& operands, Budget& budget);

}  // namespace ridge::text
