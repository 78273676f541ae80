// Contents of a template's values: items by place and by name, slices, iteration. Throws TemplateError.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/template_value.h"

namespace ridge::text {

struct Loop {
  std::vector<Value> values;
  size_t index = 0;
  mutable std::optional<Value> last_changed;
};

size_t length_of(const Value& value);
Value get_item(const Value& object, const Value& key, Budget& budget);  // object[key]
// "a.b.0" of an item, as filters take it.
Value get_path(const Value& item, const Value& path, Budget& budget);
// object[begin:end:step]; None or undefined: not given.
Value get_slice(const Value& object, const Value& begin, const Value& end, const Value& step, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);
// Lists the items of a loop.
std::vector<Value> iterate(const Value& value, Budget& budget);
// items() of a dict.
Value item_pairs(const Members& members, Budget& budget);
// All of them, with `between` between two.
Value joined(const std::vector<Value>& values, std::string_view between, const Value* attribute, Budget& budget);
// replace() of Python's str; a negative count: all.
std::string replaced(std::string_view text, std::string_view old, std::string_view with, int64_t count, Budget& budget);

}  // namespace ridge::text
