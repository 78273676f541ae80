#include "text/template_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "text/python_text.h"
#include "text/template_format.h"
#include "text/template_items.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

template <typename Self>
struct MethodRow {
  std::string_view name;
  ParameterNames parameters;
  Value (*call)(const Self& self, const Parameters& given, Budget& budget);
};

// ---- of str

Value texts_value(const std::vector<std::string>& texts, Budget& budget) {
  std::vector<Value> values;
  for (const std::string& text : texts) {
    budget.charge(text.size());
    values.push_back(text_value(text));
  }
  return list_value(std::move(values));
}

Value split_value(std::string_view self, const Parameters& given, Budget& budget, Side from) {
  const auto separator = given.text(0);
  if (separator && separator->empty()) refuse("empty separator");
  return texts_value(split_text(self, separator, given.integer(1, -1), from), budget);
}

// startswith, endswith: one text, or one of a tuple.
template <typename Fits>
Value fits_any(const Parameters& given, Fits fits) {
  const auto fits_one = [&](const Value& part) {
    if (!part.text()) refuse(fmt::format("expected a str or a tuple of str, found {}", type_name(part)));
    return fits(*part.text());
  };
  const Value& wanted = given.needed(0);
  if (!wanted.items() || !wanted.items()->tuple) return {fits_one(wanted)};
  const auto& parts = wanted.items()->values;
  return {std::any_of(parts.begin(), parts.end(), fits_one)};
}

int64_t occurrences(std::string_view self, std::string_view part) {
  if (part.empty()) return static_cast<int64_t>(count_code_points(self)) + 1;
  int64_t count = 0;
  for (size_t at = self.find(part); at != std::string::npos; at = self.find(part, at + part.size())) ++count;
  return count;
}

int64_t place_of(std::string_view self, size_t byte) {
  return byte == std::string::npos ? -1 : static_cast<int64_t>(count_code_points(self.substr(0, byte)));
}

Value join_texts(const std::string& self, const Parameters& given, Budget& budget) {
  const std::vector<Value> values = iterate(given.needed(0), budget);
  for (const Value& value : values)
    if (!value.text()) refuse(fmt::format("join: expected str, found {}", type_name(value)));
  return joined(values, self, nullptr, budget);
}

// partition(), rpartition().
Value parted(const std::string& self, std::string_view separator, Side from) {
  if (separator.empty()) refuse("empty separator");
  const size_t at = from == kLeft ? self.find(separator) : self.rfind(separator);
  std::vector<Value> parts{text_value(self), text_value(""), text_value("")};
  if (at != std::string::npos)
    parts = {text_value(self.substr(0, at)), text_value(std::string(separator)),
             text_value(self.substr(at + separator.size()))};
  else if (from == kRight)
    std::swap(parts.front(), parts.back());
  return list_value(std::move(parts), true);
}

Value padded(const std::string& self, const Parameters& given, char align, Budget& budget) {
  const std::string_view fill = given.text(1).value_or(" ");
  if (count_code_points(fill) != 1) refuse("the fill character must be exactly one character long");
  given.needed(0);
  return text_value(aligned(self, given.integer(0, 0), fill, align, budget));
}

// s: self, p: parameters, b: budget.
constexpr std::array<MethodRow<std::string>, 36> kTextMethods{{
    {"strip", {"chars"}, [](auto& s, auto& p, auto&) { return text_value(stripped(s, p.text(0))); }},
    {"lstrip", {"chars"}, [](auto& s, auto& p, auto&) { return text_value(stripped(s, p.text(0), kLeft)); }},
    {"rstrip", {"chars"}, [](auto& s, auto& p, auto&) { return text_value(stripped(s, p.text(0), kRight)); }},
    {"split", {"sep", "maxsplit"}, [](auto& s, auto& p, auto& b) { return split_value(s, p, b, kLeft); }},
    {"rsplit", {"sep", "maxsplit"}, [](auto& s, auto& p, auto& b) { return split_value(s, p, b, kRight); }},
    {"splitlines", {"keepends"}, [](auto& s, auto& p, auto& b) { return texts_value(split_lines(s, p.flag(0)), b); }},
    {"startswith",
     {"prefix"},
     [](auto& s, auto& p, auto&) { return fits_any(p, [&](std::string_view part) { return s.starts_with(part); }); }},
    {"endswith",
     {"suffix"},
     [](auto& s, auto& p, auto&) { return fits_any(p, [&](std::string_view part) { return s.ends_with(part); }); }},
    {"removeprefix",
     {"prefix"},
     [](auto& s, auto& p, auto&) {
       const std::string_view affix = p.text(0).value_or("");
       return text_value(s.starts_with(affix) ? s.substr(affix.size()) : s);
     }},
    {"removesuffix",
     {"suffix"},
     [](auto& s, auto& p, auto&) {
       const std::string_view affix = p.text(0).value_or("");
       return text_value(s.ends_with(affix) ? s.substr(0, s.size() - affix.size()) : s);
     }},
    {"replace",
     {"old", "new", "count"},
     [](auto& s, auto& p, auto& b) {
       return text_value(replaced(s, p.needed_text(0), p.needed_text(1), p.integer(2, -1), b));
     }},
    {"find", {"sub"}, [](auto& s, auto& p, auto&) { return Value{place_of(s, s.find(p.needed_text(0)))}; }},
    {"rfind", {"sub"}, [](auto& s, auto& p, auto&) { return Value{place_of(s, s.rfind(p.needed_text(0)))}; }},
    {"index",
     {"sub"},
     [](auto& s, auto& p, auto&) {
       const int64_t place = place_of(s, s.find(p.needed_text(0)));
       if (place < 0) refuse("substring not found");
       return Value{place};
     }},
    {"count", {"sub"}, [](auto& s, auto& p, auto&) { return Value{occurrences(s, p.needed_text(0))}; }},
    {"join", {"iterable"}, join_texts},
    {"upper", {}, [](auto& s, auto&, auto&) { return text_value(upper_case(s)); }},
    {"lower", {}, [](auto& s, auto&, auto&) { return text_value(lower_case(s)); }},
    {"title",
     {},
     [](auto& s, auto&, auto&) { return text_value(title_case(s, [](char32_t c) { return !has_case(c); })); }},
    {"capitalize", {}, [](auto& s, auto&, auto&) { return text_value(title_case(s, [](char32_t) { return false; })); }},
    {"isdigit", {}, [](auto& s, auto&, auto&) { return Value{is_digits(s)}; }},
    {"isalpha", {}, [](auto& s, auto&, auto&) { return Value{is_letters(s)}; }},
    {"isspace", {}, [](auto& s, auto&, auto&) { return Value{!s.empty() && stripped(s).empty()}; }},
    {"isupper", {}, [](auto& s, auto&, auto&) { return Value{all_in_case(s, true)}; }},
    {"islower", {}, [](auto& s, auto&, auto&) { return Value{all_in_case(s, false)}; }},
    {"isdecimal", {}, [](auto& s, auto&, auto&) { return Value{is_digits(s)}; }},
    {"isalnum", {}, [](auto& s, auto&, auto&) { return Value{is_letters_or_numbers(s)}; }},
    {"isascii",
     {},
     [](auto& s, auto&, auto&) {
       return Value{std::all_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })};
     }},
    {"rindex",
     {"sub"},
     [](auto& s, auto& p, auto&) {
       const int64_t place = place_of(s, s.rfind(p.needed_text(0)));
       if (place < 0) refuse("substring not found");
       return Value{place};
     }},
    {"partition", {"sep"}, [](auto& s, auto& p, auto&) { return parted(s, p.needed_text(0), kLeft); }},
    {"rpartition", {"sep"}, [](auto& s, auto& p, auto&) { return parted(s, p.needed_text(0), kRight); }},
    {"center", {"width", "fillchar"}, [](auto& s, auto& p, auto& b) { return padded(s, p, 'c', b); }},
    {"ljust", {"width", "fillchar"}, [](auto& s, auto& p, auto& b) { return padded(s, p, '<', b); }},
    {"rjust", {"width", "fillchar"}, [](auto& s, auto& p, auto& b) { return padded(s, p, '>', b); }},
    {"zfill",
     {"width"},
     [](auto& s, auto& p, auto& b) { return text_value(aligned(s, p.integer(0, 0), "0", '=', b)); }},
    {"format", kAny, [](auto& s, auto& p, auto& b) { return text_value(brace_formatted(text_value(s), p.all(), b)); }},
}};

// ---- of dict, list and loop

Value names_or_values(const Members& self, Budget& budget, bool names) {
  std::vector<Value> values;
  budget.charge(self.values.size() * sizeof(Value));
  for (const auto& [key, value] : self.values) values.push_back(names ? key : value);
  return list_value(std::move(values));
}

Value member_or_default(const Members& self, const Parameters& given, Budget& budget) {
  const Value& key = given.needed(0);
  const Value* found = self.find(key, budget);
  budget.charge(self.values.size());
  return found ? *found : given.get(1) ? *given.get(1) : Value{None{}};
}

constexpr std::array<MethodRow<Members>, 5> kDictMethods{{
    {"copy", {}, [](auto& s, auto&, auto&) { return dict_value(s.values); }},
    {"items", {}, [](auto& s, auto&, auto& b) { return item_pairs(s, b); }},
    {"keys", {}, [](auto& s, auto&, auto& b) { return names_or_values(s, b, true); }},
    {"values", {}, [](auto& s, auto&, auto& b) { return names_or_values(s, b, false); }},
    {"get", {"key", "default"}, member_or_default},
}};

constexpr std::array<MethodRow<Items>, 3> kListMethods{{
    {"copy", {}, [](auto& s, auto&, auto&) { return list_value(s.values, s.tuple); }},
    {"index",
     {"value"},
     [](auto& s, auto& p, auto& b) {
       for (size_t i = 0; i < s.values.size(); ++i)
         if (equal(s.values[i], p.needed(0), b)) return Value{static_cast<int64_t>(i)};
       refuse("the value is not in the list");
     }},
    {"count",
     {"value"},
     [](auto& s, auto& p, auto& b) {
       const auto is_it = [&](const Value& value) { return equal(value, p.needed(0), b); };
       return Value{static_cast<int64_t>(std::count_if(s.values.begin(), s.values.end(), is_it))};
     }},
}};

constexpr std::array<MethodRow<Loop>, 2> kLoopMethods{{
    {"cycle", kAny,
     [](auto& s, auto& p, auto&) {
       const auto& items = p.all().places;
       if (items.empty()) refuse("no items for cycling given");
       return Value(items[s.index % items.size()]);
     }},
    {"changed", kAny,
     [](auto& s, auto& p, auto& b) {
       Value now = list_value(p.all().places, true);
       const bool changed = !s.last_changed || !equal(*s.last_changed, now, b);
       s.last_changed = std::move(now);
       return Value{changed};
     }},
}};

// Other methods of Python's types: str's are not supported; others' would change the value, which a template may not.
constexpr std::array<std::string_view, 11> kOtherTextMethods{"swapcase",     "isnumeric",   "format_map", "encode",
                                                             "casefold",     "expandtabs",  "translate",  "maketrans",
                                                             "isidentifier", "isprintable", "istitle"};
constexpr std::array<std::string_view, 6> kOtherDictMethods{"clear",      "pop",    "popitem",
                                                            "setdefault", "update", "fromkeys"};
constexpr std::array<std::string_view, 8> kOtherListMethods{"append", "extend",  "insert", "remove",
                                                            "sort",   "reverse", "clear",  "pop"};

template <typename Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_method(const Value& object, std::string_view name) {
  if (object.text()) return row_of(kTextMethods, name) || among(kOtherTextMethods, name);
  if (object.members()) return row_of(kDictMethods, name) || among(kOtherDictMethods, name);
  if (object.items()) return row_of(kListMethods, name) || among(kOtherListMethods, name);
  return object.is<const Loop*>() && row_of(kLoopMethods, name);
}

template <typename Self, size_t size>
Value call_row(const std::array<MethodRow<Self>, size>& rows, const Self& self, const Method& method,
               const Arguments& arguments, Budget& budget) {
  const auto* row = row_of(rows, method.name);
  if (!row && method.self.text()) refuse(fmt::format("the method '{}' of a str is not supported", method.name));
  if (!row)
    refuse(fmt::format("the method '{}' of a {} changes it, which a template may not", method.name,
                       type_name(method.self)));
  return row->call(self, Parameters(row->name, row->parameters, arguments), budget);
}

// Escapes what it writes between its own, and gives Markups.
Value call_of_markup(const Value& self, const Method& method, Arguments arguments, Budget& budget) {
  const auto escape = [](const Value& value) {
    return value.text() && !value.safe ? text_value(escaped(*value.text()), true) : value;
  };
  if (method.name == "format") return text_value(brace_formatted(self, arguments, budget), true);
  if (method.name == "replace" && arguments.places.size() > 1) arguments.places[1] = escape(arguments.places[1]);
  if (method.name == "join" && arguments.places.size() == 1) {
    std::vector<Value> parts = iterate(arguments.places[0], budget);
    for (Value& part : parts) part = escape(part);
    arguments.places[0] = list_value(std::move(parts));
  }
  Value result = call_row(kTextMethods, *self.text(), method, arguments, budget);
  if (const Items* items = result.items()) {
    std::vector<Value> parts = items->values;
    for (Value& part : parts) part.safe = true;
    return list_value(std::move(parts), items->tuple);
  }
  result.safe = result.text() != nullptr;
  return result;
}

// ---- attributes

Value loop_attribute(const Loop& loop, std::string_view name) {
  const auto index = static_cast<int64_t>(loop.index), count = static_cast<int64_t>(loop.values.size());
  if (name == "index") return {index + 1};
  if (name == "index0") return {index};
  if (name == "revindex") return {count - index};
  if (name == "revindex0") return {count - index - 1};
  if (name == "first") return {index == 0};
  if (name == "last") return {index + 1 == count};
  if (name == "length") return {count};
  if (name == "depth") return {int64_t{1}};  // loops that call themselves have more
  if (name == "depth0") return {int64_t{0}};
  if (name == "previtem" && index > 0) return loop.values[loop.index - 1];
  if (name == "nextitem" && index + 1 < count) return loop.values[loop.index + 1];
  return undefined_value(std::string(name));
}

// ---- functions

std::string time_now(const std::string& format) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 1024> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format.c_str(), &local)};
}

Value make_dict(const Arguments& a, Budget& budget) {
  std::vector<std::pair<Value, Value>> values;
  if (a.places.size() > 1 || (a.places.size() == 1 && !a.places[0].members()))
    refuse("dict takes a dict, and names with values");
  if (!a.places.empty()) values = a.places[0].members()->values;
  for (const auto& [key, value] : a.names) set_member(values, text_value(key), value, budget);
  return dict_value(std::move(values));
}

Value make_range(const Parameters& given, Budget& budget) {
  given.needed(0);
  int64_t from = given.integer(0, 0), to = given.integer(1, 0);
  const int64_t by = given.integer(2, 1);
  if (given.all().places.size() == 1) to = std::exchange(from, 0);
  if (by == 0) refuse("range() arg 3 must not be zero");
  std::vector<Value> values;
  for (int64_t i = from; by < 0 ? i > to : i < to;) {
    if (values.size() >= 100'000) refuse("a range of more than 100000 numbers");  // Jinja2's sandbox has this limit
    values.push_back({i});
    if (__builtin_add_overflow(i, by, &i)) break;
  }
  budget.charge(values.size() * sizeof(Value));
  return list_value(std::move(values));
}

}  // namespace

Value get_attribute(const Value& object, const std::string& name) {
  if (object.undefined()) refuse(fmt::format("'{}' is undefined", std::get<Undefined>(object.data).name));
  if (has_method(object, name)) return {std::make_shared<const Method>(Method{object, name})};
  const Value* found = nullptr;
  if (const Members* members = object.members()) found = members->find(name);
  if (object.is<Namespace*>())
    for (const auto& [key, value] : std::get<Namespace*>(object.data)->values)
      if (key == name) found = &value;
  if (object.is<const Loop*>()) return loop_attribute(*std::get<const Loop*>(object.data), name);
  return found ? *found : undefined_value(name);
}

Value call_method(const Method& method, const Arguments& arguments, Budget& budget) {
  const Value& self = method.self;
  if (const std::string* text = self.text()) {
    budget.charge(text->size());
    return self.safe ? call_of_markup(self, method, arguments, budget)
                     : call_row(kTextMethods, *text, method, arguments, budget);
  }
  if (const Members* members = self.members()) return call_row(kDictMethods, *members, method, arguments, budget);
  if (const Items* items = self.items()) return call_row(kListMethods, *items, method, arguments, budget);
  return call_row(kLoopMethods, *std::get<const Loop*>(self.data), method, arguments, budget);
}

Value call_function(std::string_view name, const Arguments& arguments, Budget& budget) {
  static constexpr ParameterNames kRange{"start", "stop", "step"}, kMessage{"message"}, kFormat{"format"};
  if (name == "dict") return make_dict(arguments, budget);
  if (name == "range") return make_range(Parameters(name, kRange, arguments), budget);
  if (name == "raise_exception")
    refuse(std::string(Parameters(name, kMessage, arguments).text(0).value_or("the template raised an exception")));
  return text_value(time_now(std::string(Parameters(name, kFormat, arguments).text(0).value_or(""))));
}

}  // namespace ridge::text
