#include "text/template_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/python_text.h"
#include "text/template_methods.h"
#include "text/template_parameters.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

void refuse_undefined(const Value& object) {
  if (object.undefined()) refuse(fmt::format("'{}' is undefined", std::get<Undefined>(object.data).name));
}

// A place among `count`, from the end if negative; negative: outside.
int64_t place_among(const Value& key, size_t count) {
  const int64_t at = key.is<bool>() ? std::get<bool>(key.data) : std::get<int64_t>(key.data);
  const auto size = static_cast<int64_t>(count);
  return at >= size ? -1 : at < 0 ? at + size : at;
}

}  // namespace

size_t length_of(const Value& value) {
  if (value.undefined()) return 0;
  if (const std::string* text = value.text()) return count_code_points(*text);
  if (const Items* items = value.items()) return items->values.size();
  if (const Members* members = value.members()) return members->values.size();
  if (value.is<const Loop*>()) return std::get<const Loop*>(value.data)->values.size();
  refuse(fmt::format("object of type '{}' has no len()", type_name(value)));
}

Value get_item(const Value& object, const Value& key, Budget& budget) {
  budget.charge(object.members() ? object.members()->values.size() * 4 : object.text() ? object.text()->size() : 0);
  refuse_undefined(object);
  if ((key.is<int64_t>() || key.is<bool>()) && (object.text() || object.items())) {
    const int64_t place = place_among(key, length_of(object));
    if (place < 0) return undefined_value("index out of range");
    const auto at = static_cast<size_t>(place);
    if (object.items()) return object.items()->values[at];
    size_t begin = 0, end = 0;
    for (size_t i = 0; i <= at; ++i) {
      begin = end;
      next_code_point(*object.text(), end);
    }
    return text_value(object.text()->substr(begin, end - begin), object.safe);
  }
  if (const Members* members = object.members())
    if (const Value* found = members->find(key, budget)) return *found;
  if (!key.text()) return undefined_value(fmt::format("an item by a {}", type_name(key)));
  return get_attribute(object, *key.text());
}

Value get_path(const Value& item, const Value& path, Budget& budget) {
  if (!path.text()) return get_item(item, path, budget);
  Value found = item;
  for (const std::string& part : split_text(*path.text(), ".")) {
    const bool digits = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
    found = get_item(found, digits ? Value{static_cast<int64_t>(std::stoll(part))} : text_value(part), budget);
  }
  return found;
}

Value get_slice(const Value& object, const Value& begin, const Value& end, const Value& step, Budget& budget) {
  refuse_undefined(object);
  const auto bound = [](const Value& value) -> std::optional<int64_t> {
    if (value.is<None>() || value.undefined()) return std::nullopt;
    if (!value.is<int64_t>()) refuse("slice indices must be integers or None");
    return std::get<int64_t>(value.data);
  };
  if (!object.text() && !object.items()) refuse(fmt::format("a {} cannot be sliced", type_name(object)));
  const std::vector<Value> values = iterate(object, budget);
  const auto count = static_cast<int64_t>(values.size());
  const int64_t by = bound(step).value_or(1);
  if (by == 0) refuse("slice step cannot be zero");
  const auto place = [&](std::optional<int64_t> given, int64_t otherwise) {
    if (!given) return otherwise;
    const int64_t at = *given < 0 ? std::max<int64_t>(*given, -count - 1) + count : *given;
    return std::clamp<int64_t>(at, by < 0 ? -1 : 0, by < 0 ? count - 1 : count);
  };
  const int64_t from = place(bound(begin), by < 0 ? count - 1 : 0), to = place(bound(end), by < 0 ? -1 : count);
  std::vector<Value> taken;
  for (int64_t i = from; by < 0 ? i > to : i < to;) {
    taken.push_back(values[static_cast<size_t>(i)]);
    if (__builtin_add_overflow(i, by, &i)) break;
  }
  if (object.items()) return list_value(std::move(taken), object.items()->tuple);
  std::string text;
  for (const Value& value : taken) text += *value.text();
  return text_value(std::move(text), object.safe);
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  budget.charge();
  if (const std::string* text = container.text()) {
    if (!item.text()) refuse(fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
    budget.charge(text->size());
    return text->find(*item.text()) != std::string::npos;
  }
  if (const Members* members = container.members()) {
    budget.charge(members->values.size());
    return members->find(item, budget) != nullptr;
  }
  if (const Items* items = container.items())
    return std::any_of(items->values.begin(), items->values.end(),
                       [&](const Value& value) { return equal(value, item, budget); });
  if (container.undefined()) return false;
  refuse(fmt::format("argument of type '{}' is not iterable", type_name(container)));
}

std::vector<Value> iterate(const Value& value, Budget& budget) {
  if (value.undefined()) return {};
  budget.charge(length_of(value.is<None>() || is_number(value) ? undefined_value("") : value) * sizeof(Value));
  if (const Items* items = value.items()) return items->values;
  std::vector<Value> values;
  if (const Members* members = value.members()) {
    for (const auto& [key, member] : members->values) values.push_back(key);
    return values;
  }
  if (const std::string* text = value.text()) {
    for (std::string& character : split_characters(*text)) values.push_back(text_value(std::move(character)));
    return values;
  }
  refuse(fmt::format("'{}' object is not iterable", type_name(value)));
}

Value item_pairs(const Members& members, Budget& budget) {
  budget.charge(members.values.size() * sizeof(Value) * 3);
  std::vector<Value> pairs;
  for (const auto& [key, value] : members.values) pairs.push_back(list_value({key, value}, true));
  return list_value(std::move(pairs));
}

Value joined(const std::vector<Value>& values, std::string_view between, const Value* attribute, Budget& budget) {
  std::string out;
  bool first = true;
  for (const Value& value : values) {
    budget.charge(between.size());
    if (!std::exchange(first, false)) out += between;
    out += to_text(attribute ? get_path(value, *attribute, budget) : value, budget);
  }
  return text_value(std::move(out));
}

std::string replaced(std::string_view text, std::string_view old, std::string_view with, int64_t count,
                     Budget& budget) {
  std::string out;
  if (old.empty()) {  // between all characters
    for (size_t at = 0; count != 0;) {
      out += with;
      --count;
      budget.charge(with.size());
      if (at >= text.size()) return out;
      const size_t begin = at;
      next_code_point(text, at);
      out += text.substr(begin, at - begin);
      if (count == 0) return out + std::string(text.substr(at));
    }
    return std::string(text);
  }
  size_t from = 0;
  while (count-- != 0) {
    const size_t found = text.find(old, from);
    if (found == std::string_view::npos) break;
    budget.charge(with.size() + found - from);
    out += text.substr(from, found - from);
    out += with;
    from = found + old.size();
  }
  return out + std::string(text.substr(from));
}

}  // namespace ridge::text
