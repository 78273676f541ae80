// Filters, tests, attributes and methods of a template's values, as Jinja2 and Python have them. Throws TemplateError.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template_value.h"

namespace ridge::text {

struct Arguments {
  std::vector<Value> places;
  std::vector<std::pair<std::string, Value>> names;
};

struct Loop {
  std::vector<Value> values;
  size_t index = 0;
  mutable std::optional<Value> last_changed;
};

bool knows_filter(std::string_view name);
bool knows_test(std::string_view name);
bool takes_operand(std::string_view test);

Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments, Budget& budget);
bool apply_test(std::string_view name, const Value& input, const std::vector<Value>& operands, Budget& budget);
Value get_attribute(const Value& object, const std::string& name);      // object.name
Value get_item(const Value& object, const Value& key, Budget& budget);  // object[key]
// object[begin:end:step]; None or undefined: not given.
Value get_slice(const Value& object, const Value& begin, const Value& end, const Value& step, Budget& budget);
Value call_method(const Method& method, const Arguments& arguments, Budget& budget);
Value call_function(std::string_view name, const Arguments& arguments,
                    Budget& budget);  // range, dict, raise_exception, strftime_now
bool contains(const Value& container, const Value& item, Budget& budget);
// What a loop goes through.
std::vector<Value> iterate(const Value& value, Budget& budget);
std::vector<std::string> split_characters(std::string_view text);

}  // namespace ridge::text
