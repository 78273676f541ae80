#include "text/template_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/python_text.h"
#include "text/template_format.h"
#include "text/template_items.h"
#include "text/template_tests.h"

namespace ridge::text {
namespace {

struct FilterRow {
  std::string_view name;
  ParameterNames parameters;
  Value (*apply)(const Value& input, const Parameters& given, Budget& budget);
};

// A text that is a Markup where the input is one.
Value alike(const Value& input, std::string text) { return text_value(std::move(text), input.safe); }

// ---- lists

// Key for sort, unique, min, max and dictsort.
Value sort_key(const Value& value, const Value* attribute, bool case_sensitive, Budget& budget) {
  Value key = attribute ? get_path(value, *attribute, budget) : value;
  return !case_sensitive && key.text() ? text_value(lower_case(*key.text())) : key;
}

Value sorted_values(std::vector<Value> values, const Value* attribute, bool case_sensitive, bool reverse,
                    Budget& budget) {
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& value : values) {
    Value key = sort_key(value, attribute, case_sensitive, budget);
    keyed.emplace_back(std::move(key), std::move(value));
  }
  // Merge sort: a comparison that throws, or is inconsistent, does no harm to it.
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? compare(b.first, a.first, budget) < 0 : compare(a.first, b.first, budget) < 0;
  });
  std::vector<Value> sorted;
  for (auto& [key, value] : keyed) sorted.push_back(std::move(value));
  return list_value(std::move(sorted));
}

Value sorted_dict(const Value& input, const Parameters& given, Budget& budget) {
  if (!input.members()) refuse("dictsort: expected a dict");
  const Value place{int64_t{given.text(1) == "value"}};
  return sorted_values(iterate(item_pairs(*input.members(), budget), budget), &place, given.flag(0), given.flag(2),
                       budget);
}

Value extreme(const Value& input, const Parameters& given, Budget& budget, int wanted) {
  std::optional<Value> best, best_key;
  for (const Value& value : iterate(input, budget)) {
    Value key = sort_key(value, given.get(1), given.flag(0), budget);
    if (best && compare(key, *best_key, budget) != wanted) continue;
    best = value;
    best_key = std::move(key);
  }
  return best ? *best : undefined_value("no item");
}

Value unique_values(const Value& input, const Parameters& given, Budget& budget) {
  std::vector<Value> values, keys;
  for (const Value& value : iterate(input, budget)) {
    Value key = sort_key(value, given.get(1), given.flag(0), budget);
    if (std::any_of(keys.begin(), keys.end(), [&](const Value& other) { return equal(key, other, budget); })) continue;
    keys.push_back(std::move(key));
    values.push_back(value);
  }
  return list_value(std::move(values));
}

Value reversed(const Value& input, const Parameters&, Budget& budget) {
  std::vector<Value> values = iterate(input, budget);
  std::reverse(values.begin(), values.end());
  return input.text() ? alike(input, *joined(values, "", nullptr, budget).text()) : list_value(std::move(values));
}

// first, last.
Value end_of(const Value& input, Budget& budget, bool last) {
  const std::vector<Value> values = iterate(input, budget);
  if (values.empty()) return undefined_value(last ? "last of nothing" : "first of nothing");
  return last ? values.back() : values.front();
}

// select, reject, selectattr, rejectattr.
Value selected(const Value& input, const Parameters& given, Budget& budget, bool by_attribute, bool wanted) {
  if (!truth(input)) return list_value({});
  const auto& [places, names] = given.all();
  size_t next = by_attribute ? 1 : 0;
  if (places.size() < next || !names.empty()) refuse("expected the name of an attribute");
  std::string test;
  if (places.size() > next) {
    if (!places[next].text()) refuse("the name of a test should be a str");
    test = *places[next++].text();
  }
  const std::vector<Value> operands(places.begin() + static_cast<ptrdiff_t>(next), places.end());
  std::vector<Value> kept;
  for (const Value& item : iterate(input, budget)) {
    const Value value = by_attribute ? get_path(item, places[0], budget) : item;
    if ((test.empty() ? truth(value) : apply_test(test, value, operands, budget)) == wanted) kept.push_back(item);
  }
  return list_value(std::move(kept));
}

Value mapped(const Value& input, const Parameters& given, Budget& budget) {
  if (!truth(input)) return list_value({});
  const auto& [places, names] = given.all();
  std::vector<Value> values;
  if (places.empty()) {
    static constexpr ParameterNames kByAttribute{"attribute", "default"};
    const Parameters by_attribute("map", kByAttribute, given.all());
    for (const Value& item : iterate(input, budget)) {
      Value value = get_path(item, by_attribute.needed(0), budget);
      if (value.undefined() && by_attribute.get(1)) value = *by_attribute.get(1);
      values.push_back(std::move(value));
    }
    return list_value(std::move(values));
  }
  const std::string* name = places[0].text();
  if (!name) refuse("map: the name of a filter should be a str");
  if (*name == "map") refuse("map: of the filter 'map' is not supported");
  const Arguments rest{{places.begin() + 1, places.end()}, names};
  for (const Value& item : iterate(input, budget)) values.push_back(apply_filter(*name, item, rest, budget));
  return list_value(std::move(values));
}

// ---- numbers

// The number that a text is, whole; nothing if it is none.
template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  const std::string digits = stripped(text);
  const char *begin = digits.data() + (digits.starts_with('+') ? 1 : 0), *end = digits.data() + digits.size();
  Number number{};
  const auto read = std::from_chars(begin, end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

Value to_integer(const Value& value, const Parameters& given, Budget&) {
  if (value.is<int64_t>()) return value;
  if (value.text())
    if (const auto whole = read_number<int64_t>(*value.text())) return {*whole};
  const auto real = is_number(value) ? number(value) : value.text() ? read_number<double>(*value.text()) : std::nullopt;
  return {real && std::abs(*real) < 9e18 ? static_cast<int64_t>(*real) : given.integer(0, 0)};
}

Value to_float(const Value& value, const Parameters& given, Budget&) {
  if (is_number(value)) return {number(value)};
  const auto real = value.text() ? read_number<double>(*value.text()) : std::nullopt;
  return real ? Value{*real} : given.get(0) ? *given.get(0) : Value{0.0};
}

double needed_number(const Value& value, std::string_view what) {
  if (!is_number(value)) refuse(fmt::format("{}: expected a number, found {}", what, type_name(value)));
  return number(value);
}

Value absolute(const Value& v, const Parameters&, Budget&) {
  if (v.is<int64_t>() && std::get<int64_t>(v.data) != INT64_MIN) return {std::abs(std::get<int64_t>(v.data))};
  return {std::abs(needed_number(v, "abs"))};
}

Value rounded(const Value& input, const Parameters& given, Budget&) {
  const double value = needed_number(input, "round");
  const std::string_view method = given.text(1).value_or("common");
  const int64_t digits = given.integer(0, 0);
  const double scale = std::pow(10.0, static_cast<double>(digits));
  if (method == "ceil") return {std::ceil(value * scale) / scale};
  if (method == "floor") return {std::floor(value * scale) / scale};
  if (method != "common") refuse("round: method should be common, ceil or floor");
  if (input.is<int64_t>() && digits >= 0) return input;
  if (digits < 0 || digits > 15) return {std::nearbyint(value * scale) / scale};
  // Rounds the decimals, not the product, as Python does.
  return {*read_number<double>(fmt::format("{:.{}f}", value, digits))};
}

Value summed(const Value& input, const Parameters& given, Budget& budget) {
  int64_t whole = 0;
  double real = 0;
  bool is_real = false;
  const auto add = [&](const Value& value) {
    real += needed_number(value, "sum");
    is_real = is_real || value.is<double>();
    const int64_t more = value.is<int64_t>() ? std::get<int64_t>(value.data)
                         : value.is<bool>()  ? number(value) == 1
                                             : 0;
    if (__builtin_add_overflow(whole, more, &whole)) refuse("sum: the number is too large");
  };
  if (given.get(1)) add(*given.get(1));
  for (const Value& value : iterate(input, budget)) add(given.get(0) ? get_path(value, *given.get(0), budget) : value);
  return is_real ? Value{real} : Value{whole};
}

// ---- texts

Value indented(const Value& input, const Parameters& given, Budget& budget) {
  const Value* width = given.get(0);
  const int64_t count = width && width->text() ? 0 : std::max<int64_t>(0, given.integer(0, 4));
  budget.charge(static_cast<size_t>(count));
  const std::string space = width && width->text() ? *width->text() : std::string(static_cast<size_t>(count), ' ');
  const std::vector<std::string> lines = split_lines(to_text(input, budget) + "\n");
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    budget.charge(space.size() + lines[i].size());
    if (i > 0 ? !lines[i].empty() || given.flag(2) : given.flag(1)) out += space;
    out += lines[i];
  }
  return alike(input, std::move(out));
}

Value as_json(const Value& input, const Parameters& given, Budget& budget) {
  JsonForm form;
  form.ascii = given.flag(0);
  form.sort_keys = given.flag(3);
  if (given.get(1)) {
    form.indent = static_cast<int>(std::clamp<int64_t>(given.integer(1, 0), 0, 64));
    form.item_separator = ",";
  }
  if (const Value* separators = given.get(2)) {
    const Items* two = separators->items();
    if (!two || two->values.size() != 2 || !two->values[0].text() || !two->values[1].text())
      refuse("tojson: separators should be two texts");
    form.item_separator = *two->values[0].text();
    form.key_separator = *two->values[1].text();
  }
  return text_value(to_json_text(input, form, budget));
}

Value defaulted(const Value& v, const Parameters& given, Budget&) {
  if (!v.undefined() && (truth(v) || !given.flag(1))) return v;
  return given.all().places.empty() && given.all().names.empty() ? text_value("") : given.needed(0);
}

// Words of title begin behind white space and -({[<.
bool begins_title(char32_t c) {
  return python_space(c) ||
         (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) != std::string_view::npos);
}

Value length_filter(const Value& v, const Parameters&, Budget&) { return {static_cast<int64_t>(length_of(v))}; }
Value same_text(const Value& v, const Parameters&, Budget& b) { return v.text() ? v : text_value(to_text(v, b)); }
Value escaped_text(const Value& v, const Parameters&, Budget& b) {
  return v.safe ? v : text_value(escaped(to_text(v, b)), true);
}

Value format_filter(const Value& input, const Parameters& given, Budget& budget) {
  const auto& [places, names] = given.all();
  if (!places.empty() && !names.empty()) refuse("format: arguments by place or by name, not both");
  std::vector<std::pair<Value, Value>> members;
  for (const auto& [name, value] : names) members.emplace_back(text_value(name), value);
  const Value pattern = same_text(input, given, budget);
  const Value arguments = names.empty() ? list_value(places, true) : dict_value(std::move(members));
  return alike(pattern, percent_formatted(pattern, arguments, budget));
}

// v: input, p: parameters, b: budget.
constexpr std::array<FilterRow, 39> kFilters{{
    {"abs", {}, absolute},
    {"capitalize",
     {},
     [](auto& v, auto&, auto& b) { return alike(v, title_case(to_text(v, b), [](char32_t) { return false; })); }},
    {"center",
     {"width"},
     [](auto& v, auto& p, auto& b) { return alike(v, aligned(to_text(v, b), p.integer(0, 80), " ", 'c', b)); }},
    {"count", {}, length_filter},
    {"d", {"default_value", "boolean"}, defaulted},
    {"default", {"default_value", "boolean"}, defaulted},
    {"e", {}, escaped_text},
    {"escape", {}, escaped_text},
    {"dictsort", {"case_sensitive", "by", "reverse"}, sorted_dict},
    {"first", {}, [](auto& v, auto&, auto& b) { return end_of(v, b, false); }},
    {"float", {"default"}, to_float},
    {"format", kAny, format_filter},
    {"indent", {"width", "first", "blank"}, indented},
    {"int", {"default"}, to_integer},
    {"items",
     {},
     [](auto& v, auto&, auto& b) {
       if (v.undefined()) return list_value({});
       if (!v.members()) refuse("Can only get item pairs from a mapping.");
       return item_pairs(*v.members(), b);
     }},
    {"join",
     {"d", "attribute"},
     [](auto& v, auto& p, auto& b) {
       return joined(iterate(v, b), p.get(0) ? to_text(*p.get(0), b) : "", p.get(1), b);
     }},
    {"last", {}, [](auto& v, auto&, auto& b) { return end_of(v, b, true); }},
    {"length", {}, length_filter},
    {"list", {}, [](auto& v, auto&, auto& b) { return list_value(iterate(v, b)); }},
    {"lower", {}, [](auto& v, auto&, auto& b) { return alike(v, lower_case(to_text(v, b))); }},
    {"map", kAny, mapped},
    {"max", {"case_sensitive", "attribute"}, [](auto& v, auto& p, auto& b) { return extreme(v, p, b, 1); }},
    {"min", {"case_sensitive", "attribute"}, [](auto& v, auto& p, auto& b) { return extreme(v, p, b, -1); }},
    {"reject", kAny, [](auto& v, auto& p, auto& b) { return selected(v, p, b, false, false); }},
    {"rejectattr", kAny, [](auto& v, auto& p, auto& b) { return selected(v, p, b, true, false); }},
    {"replace",
     {"old", "new", "count"},
     [](auto& v, auto& p, auto& b) {
       const std::string old = to_text(p.needed(0), b), with = to_text(p.needed(1), b);
       return text_value(replaced(to_text(v, b), old, with, p.integer(2, -1), b));
     }},
    {"reverse", {}, reversed},
    {"round", {"precision", "method"}, rounded},
    {"safe", {}, [](auto& v, auto&, auto& b) { return text_value(to_text(v, b), true); }},
    {"select", kAny, [](auto& v, auto& p, auto& b) { return selected(v, p, b, false, true); }},
    {"selectattr", kAny, [](auto& v, auto& p, auto& b) { return selected(v, p, b, true, true); }},
    {"sort",
     {"reverse", "case_sensitive", "attribute"},
     [](auto& v, auto& p, auto& b) { return sorted_values(iterate(v, b), p.get(2), p.flag(1), p.flag(0), b); }},
    {"string", {}, same_text},
    {"sum", {"attribute", "start"}, summed},
    {"title", {}, [](auto& v, auto&, auto& b) { return text_value(title_case(to_text(v, b), begins_title)); }},
    {"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, as_json},
    {"trim", {"chars"}, [](auto& v, auto& p, auto& b) { return alike(v, stripped(to_text(v, b), p.text(0))); }},
    {"unique", {"case_sensitive", "attribute"}, unique_values},
    {"upper", {}, [](auto& v, auto&, auto& b) { return alike(v, upper_case(to_text(v, b))); }},
}};

}  // namespace

Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments, Budget& budget) {
  budget.charge(input.text() ? input.text()->size() : 0);
  const FilterRow* row = row_of(kFilters, name);
  if (row == nullptr) refuse(fmt::format("the filter '{}' is not supported", name));
  return row->apply(input, Parameters(row->name, row->parameters, arguments), budget);
}

}  // namespace ridge::text
