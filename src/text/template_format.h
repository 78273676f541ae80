// "%s" % values and "{}".format(values) of Python's str. Throws TemplateError.
#pragma once

#include <string>

#include "text/template_parameters.h"

namespace ridge::text {

// `arguments`: a tuple, a dict or one value. Where `pattern` is a Markup, what is written into it is escaped.
std::string percent_formatted(const Value& pattern, const Value& arguments, Budget& budget);
std::string brace_formatted(const Value& pattern, const Arguments& given, Budget& budget);
// To `width` characters. `align`: '<', '>', '^', 'c' as center() has it, or '=': the fill stands behind a sign.
std::string aligned(std::string text, int64_t width, std::string_view fill, char align, Budget& budget);

}  // namespace ridge::text
