#include "text/template_calls.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <initializer_list>

#include "text/unicode.h"

namespace ridge::text {
namespace {

[[noreturn]] void refuse(std::string message) { throw TemplateError{std::move(message)}; }

// Parameters of a call, by place or by name.
class Given {
 public:
  Given(std::string_view callee, std::initializer_list<std::string_view> parameters, const Arguments& arguments)
      : callee_(callee), names_(parameters), values_(names_.size(), nullptr) {
    if (arguments.places.size() > names_.size())
      refuse(fmt::format("{} takes at most {} arguments, found {}", callee, names_.size(), arguments.places.size()));
    for (size_t i = 0; i < arguments.places.size(); ++i) values_[i] = &arguments.places[i];
    for (const auto& [name, value] : arguments.names) {
      const auto found = std::find(names_.begin(), names_.end(), name);
      if (found == names_.end()) refuse(fmt::format("{} has no parameter '{}'", callee, name));
      values_[static_cast<size_t>(found - names_.begin())] = &value;
    }
  }
  // Null: not given, or None.
  const Value* get(size_t i) const { return values_[i] && !values_[i]->is<None>() ? values_[i] : nullptr; }
  const Value& needed(size_t i) const {
    if (!values_[i]) refuse(fmt::format("{} needs '{}'", callee_, names_[i]));
    return *values_[i];
  }
  std::string text(size_t i, std::string_view otherwise) const {
    const Value* value = get(i);
    if (!value) return std::string(otherwise);
    if (!value->text())
      refuse(fmt::format("{}: '{}' should be a str, found {}", callee_, names_[i], type_name(*value)));
    return *value->text();
  }
  int64_t integer(size_t i, int64_t otherwise) const {
    const Value* value = get(i);
    if (!value) return otherwise;
    if (value->is<bool>()) return std::get<bool>(value->data);
    if (!value->is<int64_t>())
      refuse(fmt::format("{}: '{}' should be an int, found {}", callee_, names_[i], type_name(*value)));
    return std::get<int64_t>(value->data);
  }
  bool flag(size_t i, bool otherwise) const { return values_[i] ? truth(*values_[i]) : otherwise; }

 private:
  std::string_view callee_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

// ---- texts

bool python_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

enum Side { kLeft = 1, kRight = 2, kBoth = 3 };

// strip(), lstrip(), rstrip(); `characters` null: white space.
std::string stripped(std::string_view text, const std::string* characters, int side) {
  const auto drops = [&](std::string_view character) {
    size_t at = 0;
    return characters ? characters->find(character) != std::string::npos : python_space(next_code_point(character, at));
  };
  while ((side & kLeft) && !text.empty()) {
    size_t length = 0;
    next_code_point(text, length);
    if (!drops(text.substr(0, length))) break;
    text.remove_prefix(length);
  }
  while ((side & kRight) && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!drops(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return std::string(text);
}

void append_upper(std::string& out, char32_t c) {
  if (c == 0xDF)
    out += "SS";
  else
    append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}
void append_lower(std::string& out, char32_t c) {
  append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}
bool cased(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

std::string changed_case(std::string_view text, bool upper) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    upper ? append_upper(out, c) : append_lower(out, c);
  }
  return out;
}

// The first letter of each word is large; words begin where `begins` says so of the character before, and at the beginning.
template <typename Begins>
std::string titled(std::string_view text, Begins begins) {
  std::string out;
  bool first = true;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    first ? append_upper(out, c) : append_lower(out, c);
    first = begins(c);
  }
  return out;
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

std::vector<std::string> python_lines(std::string_view text, bool keep_ends = false) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const char32_t c = next_code_point(text, at);
    const bool line_ends =
        (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!line_ends) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return lines;
}

Value texts_value(const std::vector<std::string>& texts, Budget& budget) {
  std::vector<Value> values;
  for (const std::string& text : texts) {
    budget.charge(text.size());
    values.push_back(text_value(text));
  }
  return list_value(std::move(values));
}

// split() and rsplit(); `separator` null: rows of white space.
std::vector<std::string> split_text(std::string_view text, const std::string* separator, int64_t most,
                                    bool from_right) {
  if (separator && separator->empty()) refuse("empty separator");
  std::vector<std::string> parts;
  if (!separator) {
    std::vector<std::pair<size_t, size_t>> words;
    size_t begin = 0;
    bool inside = false;
    for (size_t at = 0; at < text.size();) {
      const size_t here = at;
      const bool space = python_space(next_code_point(text, at));
      if (space && inside) words.emplace_back(begin, here);
      if (!space && !inside) begin = here;
      inside = !space;
    }
    if (inside) words.emplace_back(begin, text.size());
    const auto count = static_cast<int64_t>(words.size());
    if (most < 0 || count <= most + 1) {
      for (const auto& [from, to] : words) parts.emplace_back(text.substr(from, to - from));
      // The last part of a limited split keeps what follows it.
      if (most >= 0 && count == most + 1 && count > 0) {
        if (from_right)
          parts.front() = stripped(text.substr(0, words.front().second), nullptr, kLeft);
        else
          parts.back() = stripped(text.substr(words.back().first), nullptr, kRight);
      }
      return parts;
    }
    if (from_right) {
      const size_t first = words.size() - static_cast<size_t>(most);
      parts.push_back(stripped(text.substr(0, words[first - 1].second), nullptr, kLeft));
      for (size_t i = first; i < words.size(); ++i)
        parts.emplace_back(text.substr(words[i].first, words[i].second - words[i].first));
      return parts;
    }
    for (size_t i = 0; i < static_cast<size_t>(most); ++i)
      parts.emplace_back(text.substr(words[i].first, words[i].second - words[i].first));
    parts.emplace_back(text.substr(words[static_cast<size_t>(most)].first));
    return parts;
  }
  if (from_right) {
    size_t end = text.size();
    while (most-- != 0 && end >= separator->size()) {
      const size_t found = text.substr(0, end).rfind(*separator);
      if (found == std::string_view::npos) break;
      parts.emplace_back(text.substr(found + separator->size(), end - found - separator->size()));
      end = found;
    }
    parts.emplace_back(text.substr(0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  size_t from = 0;
  while (most-- != 0) {
    const size_t found = text.find(*separator, from);
    if (found == std::string_view::npos) break;
    parts.emplace_back(text.substr(from, found - from));
    from = found + separator->size();
  }
  parts.emplace_back(text.substr(from));
  return parts;
}

bool all_of_class(std::string_view text, std::initializer_list<utf8proc_category_t> categories) {
  for (size_t at = 0; at < text.size();) {
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(next_code_point(text, at)));
    if (std::find(categories.begin(), categories.end(), category) == categories.end()) return false;
  }
  return !text.empty();
}

// islower(), isupper(): all letters with a case have this one, and there are such.
bool all_in_case(std::string_view text, bool upper) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    if (category == (upper ? UTF8PROC_CATEGORY_LL : UTF8PROC_CATEGORY_LU) || category == UTF8PROC_CATEGORY_LT)
      return false;
    any = any || cased(c);
  }
  return any;
}

// ---- lists

size_t length_of(const Value& value) {
  if (value.undefined()) return 0;
  if (const std::string* text = value.text()) return count_code_points(*text);
  if (const Items* items = value.items()) return items->values.size();
  if (const Members* members = value.members()) return members->values.size();
  if (value.is<const Loop*>()) return std::get<const Loop*>(value.data)->values.size();
  refuse(fmt::format("object of type '{}' has no len()", type_name(value)));
}

// "a.b.0" of an item, as filters take it.
Value attribute_of(const Value& item, const Value& path, Budget& budget) {
  if (!path.text()) return get_item(item, path, budget);
  static const std::string dot = ".";
  Value found = item;
  for (const std::string& part : split_text(*path.text(), &dot, -1, false)) {
    const bool digits = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
    found = get_item(found, digits ? Value{static_cast<int64_t>(std::stoll(part))} : text_value(part), budget);
  }
  return found;
}

// What sort, unique, min, max and dictsort look at.
Value sort_key(const Value& value, const Value* attribute, bool case_sensitive, Budget& budget) {
  Value key = attribute ? attribute_of(value, *attribute, budget) : value;
  if (!case_sensitive && key.text()) return text_value(changed_case(*key.text(), false));
  return key;
}

std::vector<Value> sorted_values(std::vector<Value> values, const Value* attribute, bool case_sensitive, bool reverse,
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
  return sorted;
}

Value item_pairs(const Members& members, Budget& budget) {
  budget.charge(members.values.size() * sizeof(Value) * 3);
  std::vector<Value> pairs;
  for (const auto& [key, value] : members.values) pairs.push_back(list_value({text_value(key), value}, true));
  return list_value(std::move(pairs));
}

Value extreme(std::string_view name, const Value& input, const Arguments& arguments, Budget& budget, int wanted) {
  const Given given(name, {"case_sensitive", "attribute"}, arguments);
  std::optional<Value> best, best_key;
  for (const Value& value : iterate(input, budget)) {
    Value key = sort_key(value, given.get(1), given.flag(0, false), budget);
    if (best && compare(key, *best_key, budget) != wanted) continue;
    best = value;
    best_key = std::move(key);
  }
  return best ? *best : undefined_value("no item");
}

// select, reject, selectattr, rejectattr.
Value selected(const Value& input, const Arguments& arguments, Budget& budget, bool by_attribute, bool wanted) {
  size_t next = by_attribute ? 1 : 0;
  if (arguments.places.size() < next || !arguments.names.empty()) refuse("expected the name of an attribute");
  std::string test;
  if (arguments.places.size() > next) {
    if (!arguments.places[next].text()) refuse("the name of a test should be a str");
    test = *arguments.places[next++].text();
    if (!knows_test(test)) refuse(fmt::format("the test '{}' is not supported", test));
  }
  const std::vector<Value> operands(arguments.places.begin() + static_cast<ptrdiff_t>(next), arguments.places.end());
  std::vector<Value> kept;
  for (const Value& item : iterate(input, budget)) {
    const Value value = by_attribute ? attribute_of(item, arguments.places[0], budget) : item;
    if ((test.empty() ? truth(value) : apply_test(test, value, operands, budget)) == wanted) kept.push_back(item);
  }
  return list_value(std::move(kept));
}

Value mapped(const Value& input, const Arguments& arguments, Budget& budget) {
  std::vector<Value> values;
  if (arguments.places.empty()) {
    const Given given("map", {"attribute", "default"}, arguments);
    for (const Value& item : iterate(input, budget)) {
      Value value = attribute_of(item, given.needed(0), budget);
      if (value.undefined() && given.get(1)) value = *given.get(1);
      values.push_back(std::move(value));
    }
    return list_value(std::move(values));
  }
  const std::string* name = arguments.places[0].text();
  if (!name || !knows_filter(*name)) refuse(fmt::format("map: the filter '{}' is not supported", name ? *name : ""));
  if (*name == "map") refuse("map: of the filter 'map' is not supported");
  const Arguments rest{{arguments.places.begin() + 1, arguments.places.end()}, arguments.names};
  for (const Value& item : iterate(input, budget)) values.push_back(apply_filter(*name, item, rest, budget));
  return list_value(std::move(values));
}

// ---- numbers

Value to_integer(const Value& value, const Given& given) {
  Value otherwise{given.integer(0, 0)};
  if (value.is<double>()) {
    const double number = std::get<double>(value.data);
    return std::abs(number) < 9e18 ? Value{static_cast<int64_t>(number)} : otherwise;
  }
  if (is_number(value))
    return {static_cast<int64_t>(value.is<bool>() ? std::get<bool>(value.data) : std::get<int64_t>(value.data))};
  if (!value.text()) return otherwise;
  std::string text = stripped(*value.text(), nullptr, kBoth);
  if (text.starts_with('+')) text.erase(0, 1);
  const char* end = text.data() + text.size();
  int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc() && read.ptr == end)
    return {whole};
  double number = 0;
  if (const auto read = std::from_chars(text.data(), end, number);
      read.ec == std::errc() && read.ptr == end && std::abs(number) < 9e18)
    return {static_cast<int64_t>(number)};
  return otherwise;
}

Value to_float(const Value& value, const Given& given) {
  Value otherwise = given.get(0) ? *given.get(0) : Value{0.0};
  if (is_number(value)) return {number(value)};
  if (!value.text()) return otherwise;
  std::string text = stripped(*value.text(), nullptr, kBoth);
  if (text.starts_with('+')) text.erase(0, 1);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? Value{number} : otherwise;
}

double needed_number(const Value& value, std::string_view what) {
  if (!is_number(value)) refuse(fmt::format("{}: expected a number, found {}", what, type_name(value)));
  return number(value);
}

Value rounded(const Value& input, const Arguments& arguments) {
  const Given given("round", {"precision", "method"}, arguments);
  const double value = needed_number(input, "round");
  const std::string method = given.text(1, "common");
  const double scale = std::pow(10.0, static_cast<double>(given.integer(0, 0)));
  if (method == "ceil") return {std::ceil(value * scale) / scale};
  if (method == "floor") return {std::floor(value * scale) / scale};
  if (method != "common") refuse("round: method should be common, ceil or floor");
  if (input.is<int64_t>() && given.integer(0, 0) >= 0) return input;
  if (given.integer(0, 0) < 0 || given.integer(0, 0) > 15) return {std::nearbyint(value * scale) / scale};
  // Of the decimals, not of the product, as Python has it.
  double result = 0;
  const std::string decimals = fmt::format("{:.{}f}", value, given.integer(0, 0));
  std::from_chars(decimals.data(), decimals.data() + decimals.size(), result);
  return {result};
}

Value summed(const Value& input, const Arguments& arguments, Budget& budget) {
  const Given given("sum", {"attribute", "start"}, arguments);
  int64_t whole = 0;
  double real = 0;
  bool is_real = false;
  const auto add = [&](const Value& value) {
    real += needed_number(value, "sum");
    if (value.is<double>()) {
      is_real = true;
    } else if (__builtin_add_overflow(
                   whole, value.is<bool>() ? int64_t{std::get<bool>(value.data)} : std::get<int64_t>(value.data),
                   &whole)) {
      refuse("sum: the number is too large");
    }
  };
  if (given.get(1)) add(*given.get(1));
  for (const Value& value : iterate(input, budget))
    add(given.get(0) ? attribute_of(value, *given.get(0), budget) : value);
  return is_real ? Value{real} : Value{whole};
}

std::string indented(const std::string& text, const Arguments& arguments, Budget& budget) {
  const Given given("indent", {"width", "first", "blank"}, arguments);
  const Value* width = given.get(0);
  std::string space;
  if (width && width->text()) {
    space = *width->text();
  } else {
    const int64_t count = std::max<int64_t>(0, given.integer(0, 4));
    budget.charge(static_cast<size_t>(count));
    space.assign(static_cast<size_t>(count), ' ');
  }
  const std::vector<std::string> lines = python_lines(text + "\n");
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    const bool indents = i > 0 ? !lines[i].empty() || given.flag(2, false) : given.flag(1, false);
    budget.charge(space.size() + lines[i].size());
    if (indents) out += space;
    out += lines[i];
  }
  return out;
}

Value as_json(const Value& input, const Arguments& arguments, Budget& budget) {
  const Given given("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, arguments);
  JsonForm form;
  form.ascii = given.flag(0, false);
  form.sort_keys = given.flag(3, false);
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

Value joined(const Value& input, const Arguments& arguments, Budget& budget) {
  const Given given("join", {"d", "attribute"}, arguments);
  const std::string separator = given.get(0) ? to_text(*given.get(0), budget) : "";
  std::string out;
  bool first = true;
  for (const Value& value : iterate(input, budget)) {
    budget.charge(separator.size());
    if (!std::exchange(first, false)) out += separator;
    out += to_text(given.get(1) ? attribute_of(value, *given.get(1), budget) : value, budget);
  }
  return text_value(std::move(out));
}

Value unique_values(const Value& input, const Arguments& arguments, Budget& budget) {
  const Given given("unique", {"case_sensitive", "attribute"}, arguments);
  std::vector<Value> values, keys;
  for (const Value& value : iterate(input, budget)) {
    Value key = sort_key(value, given.get(1), given.flag(0, false), budget);
    if (std::any_of(keys.begin(), keys.end(), [&](const Value& other) { return equal(key, other, budget); })) continue;
    keys.push_back(std::move(key));
    values.push_back(value);
  }
  return list_value(std::move(values));
}

Value sorted_dict(const Value& input, const Arguments& arguments, Budget& budget) {
  const Given given("dictsort", {"case_sensitive", "by", "reverse"}, arguments);
  if (!input.members()) refuse("dictsort: expected a dict");
  const Value place{int64_t{given.text(1, "key") == "value"}};
  return list_value(sorted_values(iterate(item_pairs(*input.members(), budget), budget), &place, given.flag(0, false),
                                  given.flag(2, false), budget));
}

Value reversed(const Value& input, Budget& budget) {
  if (input.text()) {
    std::vector<std::string> characters = split_characters(*input.text());
    std::string out;
    for (size_t i = characters.size(); i-- > 0;) out += characters[i];
    return text_value(std::move(out));
  }
  std::vector<Value> values = iterate(input, budget);
  std::reverse(values.begin(), values.end());
  return list_value(std::move(values));
}

using FilterFunction = Value (*)(const Value&, const Arguments&, Budget&);
struct FilterRow {
  std::string_view name;
  FilterFunction apply;
};

Value absolute(const Value& v, const Arguments&, Budget&) {
  if (v.is<int64_t>() && std::get<int64_t>(v.data) != INT64_MIN) return {std::abs(std::get<int64_t>(v.data))};
  return {std::abs(needed_number(v, "abs"))};
}
Value defaulted(const Value& v, const Arguments& a, Budget&) {
  const Given given("default", {"default_value", "boolean"}, a);
  if (!v.undefined() && (truth(v) || !given.flag(1, false))) return v;
  return a.places.empty() && a.names.empty() ? text_value("") : given.needed(0);
}
Value length_filter(const Value& v, const Arguments&, Budget&) { return {static_cast<int64_t>(length_of(v))}; }
Value same_text(const Value& v, const Arguments&, Budget& b) { return v.text() ? v : text_value(to_text(v, b)); }
// As Jinja2's title filter: words begin behind white space and -({[<.
Value title_filter(const Value& v, const Arguments&, Budget& b) {
  return text_value(titled(to_text(v, b), [](char32_t c) {
    return python_space(c) ||
           (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) != std::string_view::npos);
  }));
}

constexpr std::array<FilterRow, 35> kFilters{{
    {"abs", absolute},
    {"capitalize", [](const Value& v, const Arguments&,
                      Budget& b) { return text_value(titled(to_text(v, b), [](char32_t) { return false; })); }},
    {"count", length_filter},
    {"d", defaulted},
    {"default", defaulted},
    {"dictsort", sorted_dict},
    {"first",
     [](const Value& v, const Arguments&, Budget& b) {
       const std::vector<Value> values = iterate(v, b);
       return values.empty() ? undefined_value("first of nothing") : values.front();
     }},
    {"float", [](const Value& v, const Arguments& a, Budget&) { return to_float(v, Given("float", {"default"}, a)); }},
    {"indent", [](const Value& v, const Arguments& a, Budget& b) { return text_value(indented(to_text(v, b), a, b)); }},
    {"int", [](const Value& v, const Arguments& a, Budget&) { return to_integer(v, Given("int", {"default"}, a)); }},
    {"items",
     [](const Value& v, const Arguments&, Budget& b) {
       if (v.undefined()) return list_value({});
       if (!v.members()) refuse("Can only get item pairs from a mapping.");
       return item_pairs(*v.members(), b);
     }},
    {"join", joined},
    {"last",
     [](const Value& v, const Arguments&, Budget& b) {
       const std::vector<Value> values = iterate(v, b);
       return values.empty() ? undefined_value("last of nothing") : values.back();
     }},
    {"length", length_filter},
    {"list", [](const Value& v, const Arguments&, Budget& b) { return list_value(iterate(v, b)); }},
    {"lower",
     [](const Value& v, const Arguments&, Budget& b) { return text_value(changed_case(to_text(v, b), false)); }},
    {"map", mapped},
    {"max", [](const Value& v, const Arguments& a, Budget& b) { return extreme("max", v, a, b, 1); }},
    {"min", [](const Value& v, const Arguments& a, Budget& b) { return extreme("min", v, a, b, -1); }},
    {"reject", [](const Value& v, const Arguments& a, Budget& b) { return selected(v, a, b, false, false); }},
    {"rejectattr", [](const Value& v, const Arguments& a, Budget& b) { return selected(v, a, b, true, false); }},
    {"replace",
     [](const Value& v, const Arguments& a, Budget& b) {
       const Given given("replace", {"old", "new", "count"}, a);
       return text_value(
           replaced(to_text(v, b), to_text(given.needed(0), b), to_text(given.needed(1), b), given.integer(2, -1), b));
     }},
    {"reverse", [](const Value& v, const Arguments&, Budget& b) { return reversed(v, b); }},
    {"round", [](const Value& v, const Arguments& a, Budget&) { return rounded(v, a); }},
    {"safe", same_text},
    {"select", [](const Value& v, const Arguments& a, Budget& b) { return selected(v, a, b, false, true); }},
    {"selectattr", [](const Value& v, const Arguments& a, Budget& b) { return selected(v, a, b, true, true); }},
    {"sort",
     [](const Value& v, const Arguments& a, Budget& b) {
       const Given given("sort", {"reverse", "case_sensitive", "attribute"}, a);
       return list_value(sorted_values(iterate(v, b), given.get(2), given.flag(1, false), given.flag(0, false), b));
     }},
    {"string", same_text},
    {"sum", summed},
    {"title", title_filter},
    {"tojson", as_json},
    {"trim",
     [](const Value& v, const Arguments& a, Budget& b) {
       const Given given("trim", {"chars"}, a);
       const std::string characters = given.text(0, "");
       return text_value(stripped(to_text(v, b), given.get(0) ? &characters : nullptr, kBoth));
     }},
    {"unique", unique_values},
    {"upper",
     [](const Value& v, const Arguments&, Budget& b) { return text_value(changed_case(to_text(v, b), true)); }},
}};

// ---- tests

using TestFunction = bool (*)(const Value&, const Value&, Budget&);
struct TestRow {
  std::string_view name;
  bool operand;
  TestFunction holds;
};

bool is_equal(const Value& v, const Value& o, Budget& b) { return equal(v, o, b); }
bool is_unequal(const Value& v, const Value& o, Budget& b) { return !equal(v, o, b); }
bool is_less(const Value& v, const Value& o, Budget& b) { return compare(v, o, b) < 0; }
bool is_more(const Value& v, const Value& o, Budget& b) { return compare(v, o, b) > 0; }
bool is_at_most(const Value& v, const Value& o, Budget& b) { return compare(v, o, b) <= 0; }
bool is_at_least(const Value& v, const Value& o, Budget& b) { return compare(v, o, b) >= 0; }
bool leaves(const Value& v, const Value& by, int64_t rest) {
  if (!v.is<int64_t>() || !by.is<int64_t>() || std::get<int64_t>(by.data) == 0 || std::get<int64_t>(by.data) == -1)
    refuse("expected ints");
  return std::abs(std::get<int64_t>(v.data) % std::get<int64_t>(by.data)) == rest;
}
bool has_items(const Value& v, const Value&, Budget&) { return v.text() || v.items() || v.members() || v.undefined(); }

constexpr std::array<TestRow, 36> kTests{{
    {"defined", false, [](const Value& v, const Value&, Budget&) { return !v.undefined(); }},
    {"undefined", false, [](const Value& v, const Value&, Budget&) { return v.undefined(); }},
    {"none", false, [](const Value& v, const Value&, Budget&) { return v.is<None>(); }},
    {"string", false, [](const Value& v, const Value&, Budget&) { return v.text() != nullptr; }},
    {"number", false, [](const Value& v, const Value&, Budget&) { return is_number(v); }},
    {"integer", false, [](const Value& v, const Value&, Budget&) { return v.is<int64_t>(); }},
    {"float", false, [](const Value& v, const Value&, Budget&) { return v.is<double>(); }},
    {"boolean", false, [](const Value& v, const Value&, Budget&) { return v.is<bool>(); }},
    {"true", false, [](const Value& v, const Value&, Budget&) { return v.is<bool>() && std::get<bool>(v.data); }},
    {"false", false, [](const Value& v, const Value&, Budget&) { return v.is<bool>() && !std::get<bool>(v.data); }},
    {"mapping", false, [](const Value& v, const Value&, Budget&) { return v.members() != nullptr; }},
    {"sequence", false, has_items},
    {"iterable", false,
     [](const Value& v, const Value& o, Budget& b) { return has_items(v, o, b) || v.is<const Loop*>(); }},
    {"callable", false,
     [](const Value& v, const Value&, Budget&) {
       return v.is<const Macro*>() || v.is<Function>() || v.is<std::shared_ptr<const Method>>();
     }},
    {"odd", false, [](const Value& v, const Value&, Budget&) { return leaves(v, {int64_t{2}}, 1); }},
    {"even", false, [](const Value& v, const Value&, Budget&) { return leaves(v, {int64_t{2}}, 0); }},
    {"divisibleby", true, [](const Value& v, const Value& o, Budget&) { return leaves(v, o, 0); }},
    {"lower", false, [](const Value& v, const Value&, Budget& b) { return all_in_case(to_text(v, b), false); }},
    {"upper", false, [](const Value& v, const Value&, Budget& b) { return all_in_case(to_text(v, b), true); }},
    {"in", true, [](const Value& v, const Value& o, Budget& b) { return contains(o, v, b); }},
    {"sameas", true,
     [](const Value& v, const Value& o, Budget& b) { return v.data.index() == o.data.index() && equal(v, o, b); }},
    {"eq", true, is_equal},
    {"equalto", true, is_equal},
    {"==", true, is_equal},
    {"ne", true, is_unequal},
    {"!=", true, is_unequal},
    {"lt", true, is_less},
    {"lessthan", true, is_less},
    {"<", true, is_less},
    {"gt", true, is_more},
    {"greaterthan", true, is_more},
    {">", true, is_more},
    {"le", true, is_at_most},
    {"<=", true, is_at_most},
    {"ge", true, is_at_least},
    {">=", true, is_at_least},
}};

template <typename Rows>
auto* row_of(const Rows& rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  return found == rows.end() || name.empty() ? nullptr : &*found;
}

// ---- methods

constexpr std::array<std::string_view, 25> kTextMethods{
    "strip",   "lstrip",     "rstrip",  "split",   "rsplit",     "startswith",   "endswith",    "upper", "lower",
    "title",   "capitalize", "replace", "find",    "rfind",      "count",        "index",       "join",  "isdigit",
    "isalpha", "isspace",    "isupper", "islower", "splitlines", "removeprefix", "removesuffix"};
// What Python's str has besides.
constexpr std::array<std::string_view, 16> kOtherTextMethods{
    "format",     "format_map", "encode",     "center",   "ljust",     "rjust",        "zfill",   "casefold",
    "expandtabs", "partition",  "rpartition", "swapcase", "translate", "isidentifier", "isalnum", "isnumeric"};
constexpr std::array<std::string_view, 4> kDictMethods{"items", "keys", "values", "get"};
constexpr std::array<std::string_view, 2> kListMethods{"index", "count"};
// Of Python's lists and dicts; transformers' templates may not change a value.
constexpr std::array<std::string_view, 13> kChangingMethods{"append",  "extend", "insert",  "remove",  "sort",
                                                            "reverse", "clear",  "pop",     "popitem", "setdefault",
                                                            "update",  "copy",   "fromkeys"};

template <typename Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_method(const Value& object, std::string_view name) {
  if (object.text()) return among(kTextMethods, name) || among(kOtherTextMethods, name);
  if (object.members())
    return among(kDictMethods, name) || (among(kChangingMethods, name) && name != "append" && name != "extend" &&
                                         name != "insert" && name != "remove" && name != "sort" && name != "reverse");
  if (object.items())
    return among(kListMethods, name) || (among(kChangingMethods, name) && name != "popitem" && name != "setdefault" &&
                                         name != "update" && name != "fromkeys");
  return object.is<const Loop*>() && (name == "cycle" || name == "changed");
}

Value text_method(const std::string& self, const std::string& name, const Arguments& a, Budget& budget) {
  if (!among(kTextMethods, name)) refuse(fmt::format("the method '{}' of a str is not supported", name));
  budget.charge(self.size());
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    const Given given(name, {"chars"}, a);
    const std::string characters = given.text(0, "");
    return text_value(stripped(self, given.get(0) ? &characters : nullptr,
                               name == "strip"    ? kBoth
                               : name == "lstrip" ? kLeft
                                                  : kRight));
  }
  if (name == "split" || name == "rsplit") {
    const Given given(name, {"sep", "maxsplit"}, a);
    const std::string separator = given.text(0, "");
    return texts_value(split_text(self, given.get(0) ? &separator : nullptr, given.integer(1, -1), name == "rsplit"),
                       budget);
  }
  if (name == "startswith" || name == "endswith") {
    const Given given(name, {"prefix"}, a);
    const auto fits = [&](const Value& part) {
      if (!part.text()) refuse(fmt::format("{}: expected a str or a tuple of str, found {}", name, type_name(part)));
      return name == "startswith" ? self.starts_with(*part.text()) : self.ends_with(*part.text());
    };
    const Value& wanted = given.needed(0);
    if (!wanted.items() || !wanted.items()->tuple) return {fits(wanted)};
    const auto& parts = wanted.items()->values;
    return {std::any_of(parts.begin(), parts.end(), fits)};
  }
  if (name == "removeprefix" || name == "removesuffix") {
    const Given given(name, {"affix"}, a);
    const std::string affix = given.text(0, "");
    if (name == "removeprefix" && self.starts_with(affix)) return text_value(self.substr(affix.size()));
    if (name == "removesuffix" && self.ends_with(affix)) return text_value(self.substr(0, self.size() - affix.size()));
    return text_value(self);
  }
  if (name == "replace") {
    const Given given(name, {"old", "new", "count"}, a);
    given.needed(1);
    return text_value(replaced(self, given.text(0, ""), given.text(1, ""), given.integer(2, -1), budget));
  }
  if (name == "find" || name == "rfind" || name == "index" || name == "count") {
    const Given given(name, {"sub"}, a);
    given.needed(0);
    const std::string part = given.text(0, "");
    if (name == "count") {
      int64_t count = part.empty() ? static_cast<int64_t>(count_code_points(self)) + 1 : 0;
      for (size_t at = self.find(part); !part.empty() && at != std::string::npos;
           at = self.find(part, at + part.size()))
        ++count;
      return {count};
    }
    const size_t place = name == "rfind" ? self.rfind(part) : self.find(part);
    if (place == std::string::npos && name == "index") refuse("substring not found");
    return {place == std::string::npos
                ? int64_t{-1}
                : static_cast<int64_t>(count_code_points(std::string_view(self).substr(0, place)))};
  }
  if (name == "join") {
    const Given given(name, {"iterable"}, a);
    std::string out;
    bool first = true;
    for (const Value& value : iterate(given.needed(0), budget)) {
      if (!value.text()) refuse(fmt::format("join: expected str, found {}", type_name(value)));
      budget.charge(self.size() + value.text()->size());
      if (!std::exchange(first, false)) out += self;
      out += *value.text();
    }
    return text_value(std::move(out));
  }
  if (name == "splitlines") return texts_value(python_lines(self, Given(name, {"keepends"}, a).flag(0, false)), budget);
  const Given none(name, {}, a);
  if (name == "upper" || name == "lower") return text_value(changed_case(self, name == "upper"));
  if (name == "title") return text_value(titled(self, [](char32_t c) { return !cased(c); }));
  if (name == "capitalize") return text_value(titled(self, [](char32_t) { return false; }));
  if (name == "isdigit") return {all_of_class(self, {UTF8PROC_CATEGORY_ND})};
  if (name == "isalpha")
    return {all_of_class(self, {UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LM,
                                UTF8PROC_CATEGORY_LO})};
  if (name == "isspace") return {!self.empty() && stripped(self, nullptr, kBoth).empty()};
  return {all_in_case(self, name == "isupper")};  // isupper, islower
}

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

std::string time_now(const std::string& format) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 1024> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format.c_str(), &local)};
}

}  // namespace

bool knows_filter(std::string_view name) { return row_of(kFilters, name) != nullptr; }
bool knows_test(std::string_view name) { return row_of(kTests, name) != nullptr; }
bool takes_operand(std::string_view test) {
  const auto* row = row_of(kTests, test);
  return row && row->operand;
}

Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments, Budget& budget) {
  budget.charge(input.text() ? input.text()->size() : 0);
  return row_of(kFilters, name)->apply(input, arguments, budget);
}

bool apply_test(std::string_view name, const Value& input, const std::vector<Value>& operands, Budget& budget) {
  const auto* row = row_of(kTests, name);
  if (operands.size() != (row->operand ? 1U : 0U))
    refuse(fmt::format("the test '{}' takes {} operands, found {}", name, row->operand ? 1 : 0, operands.size()));
  budget.charge();
  return row->holds(input, row->operand ? operands[0] : input, budget);
}

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

Value get_item(const Value& object, const Value& key, Budget& budget) {
  budget.charge(object.members() ? object.members()->values.size() * 4 : 0);
  if (object.undefined()) refuse(fmt::format("'{}' is undefined", std::get<Undefined>(object.data).name));
  if (key.is<int64_t>() || key.is<bool>()) {
    int64_t index = key.is<bool>() ? std::get<bool>(key.data) : std::get<int64_t>(key.data);
    if (const std::string* text = object.text()) {
      budget.charge(text->size());
      const auto count = static_cast<int64_t>(count_code_points(*text));
      if (index < 0) index += count;
      if (index < 0 || index >= count) return undefined_value("index out of range");
      size_t at = 0, begin = 0;
      for (int64_t i = 0; i <= index; ++i) {
        begin = at;
        next_code_point(*text, at);
      }
      return text_value(text->substr(begin, at - begin));
    }
    if (const Items* items = object.items()) {
      const auto count = static_cast<int64_t>(items->values.size());
      if (index < 0) index += count;
      if (index < 0 || index >= count) return undefined_value("index out of range");
      return items->values[static_cast<size_t>(index)];
    }
  }
  if (!key.text()) return undefined_value(fmt::format("an item by a {}", type_name(key)));
  if (const Members* members = object.members())
    if (const Value* found = members->find(*key.text())) return *found;
  return get_attribute(object, *key.text());
}

Value get_slice(const Value& object, const Value& begin, const Value& end, const Value& step, Budget& budget) {
  if (object.undefined()) refuse(fmt::format("'{}' is undefined", std::get<Undefined>(object.data).name));
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
  return text_value(std::move(text));
}

Value call_method(const Method& method, const Arguments& a, Budget& budget) {
  const std::string& name = method.name;
  if (const std::string* text = method.self.text()) return text_method(*text, name, a, budget);
  if (method.self.is<const Loop*>()) {
    const Loop& loop = *std::get<const Loop*>(method.self.data);
    if (name == "cycle") {
      if (a.places.empty()) refuse("no items for cycling given");
      return a.places[loop.index % a.places.size()];
    }
    Value now = list_value(a.places, true);
    const bool changed = !loop.last_changed || !equal(*loop.last_changed, now, budget);
    loop.last_changed = std::move(now);
    return {changed};
  }
  if (const Members* members = method.self.members()) {
    if (name == "items") return item_pairs(*members, budget);
    if (name == "keys" || name == "values") {
      std::vector<Value> values;
      budget.charge(members->values.size() * sizeof(Value));
      for (const auto& [key, value] : members->values) values.push_back(name == "keys" ? text_value(key) : value);
      return list_value(std::move(values));
    }
    if (name == "get") {
      const Given given("get", {"key", "default"}, a);
      const Value& key = given.needed(0);
      const Value* found = key.text() ? members->find(*key.text()) : nullptr;
      budget.charge(members->values.size());
      return found ? *found : given.get(1) ? *given.get(1) : a.places.size() > 1 ? a.places[1] : Value{None{}};
    }
  }
  if (const Items* items = method.self.items(); items && (name == "index" || name == "count")) {
    const Given given(name, {"value"}, a);
    int64_t count = 0;
    for (size_t i = 0; i < items->values.size(); ++i) {
      if (!equal(items->values[i], given.needed(0), budget)) continue;
      if (name == "index") return {static_cast<int64_t>(i)};
      ++count;
    }
    if (name == "index") refuse("the value is not in the list");
    return {count};
  }
  refuse(fmt::format("the method '{}' of a {} changes it, which a template may not", name, type_name(method.self)));
}

Value call_function(std::string_view name, const Arguments& a, Budget& budget) {
  if (name == "raise_exception")
    throw TemplateError{Given(name, {"message"}, a).text(0, "the template raised an exception")};
  if (name == "strftime_now") return text_value(time_now(Given(name, {"format"}, a).text(0, "")));
  if (name == "dict") {
    std::vector<std::pair<std::string, Value>> values;
    if (a.places.size() > 1 || (a.places.size() == 1 && !a.places[0].members()))
      refuse("dict takes a dict, and names with values");
    if (!a.places.empty()) values = a.places[0].members()->values;
    for (const auto& [key, value] : a.names) {
      const auto found = std::find_if(values.begin(), values.end(),
                                      [&, &key = key](const auto& member) { return member.first == key; });
      if (found == values.end())
        values.emplace_back(key, value);
      else
        found->second = value;
    }
    return dict_value(std::move(values));
  }
  const Given given("range", {"start", "stop", "step"}, a);
  int64_t from = given.integer(0, 0), to = given.integer(1, 0);
  const int64_t by = given.integer(2, 1);
  given.needed(0);
  if (a.places.size() == 1) to = std::exchange(from, 0);
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

bool contains(const Value& container, const Value& item, Budget& budget) {
  budget.charge();
  if (const std::string* text = container.text()) {
    if (!item.text()) refuse(fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
    budget.charge(text->size());
    return text->find(*item.text()) != std::string::npos;
  }
  if (const Members* members = container.members()) {
    budget.charge(members->values.size());
    return item.text() && members->find(*item.text());
  }
  if (const Items* items = container.items())
    return std::any_of(items->values.begin(), items->values.end(),
                       [&](const Value& value) { return equal(value, item, budget); });
  if (container.undefined()) return false;
  refuse(fmt::format("argument of type '{}' is not iterable", type_name(container)));
}

std::vector<std::string> split_characters(std::string_view text) {
  std::vector<std::string> characters;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    next_code_point(text, at);
    characters.emplace_back(text.substr(begin, at - begin));
  }
  return characters;
}

std::vector<Value> iterate(const Value& value, Budget& budget) {
  if (value.undefined()) return {};
  budget.charge(length_of(value.is<None>() || is_number(value) ? undefined_value("") : value) * sizeof(Value));
  if (const Items* items = value.items()) return items->values;
  std::vector<Value> values;
  if (const Members* members = value.members()) {
    for (const auto& [key, member] : members->values) values.push_back(text_value(key));
    return values;
  }
  if (const std::string* text = value.text()) {
    for (std::string& character : split_characters(*text)) values.push_back(text_value(std::move(character)));
    return values;
  }
  refuse(fmt::format("'{}' object is not iterable", type_name(value)));
}

}  // namespace ridge::text
