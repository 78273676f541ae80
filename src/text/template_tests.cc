#include "text/template_tests.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "text/python_text.h"
#include "text/template_items.h"
#include "text/template_parameters.h"

namespace ridge::text {
namespace {

struct TestRow {
  std::string_view name;
  bool operand;
  bool (*holds)(const Value& value, const Value& operand, Budget& budget);
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
bool is_called(const Value& v, const Value&, Budget&) {
  return v.is<const Macro*>() || v.is<Function>() || v.is<std::shared_ptr<const Method>>();
}

// v: value, o: operand, b: budget.
constexpr std::array<TestRow, 37> kTests{{
    {"defined", false, [](auto& v, auto&, auto&) { return !v.undefined(); }},
    {"undefined", false, [](auto& v, auto&, auto&) { return v.undefined(); }},
    {"none", false, [](auto& v, auto&, auto&) { return v.template is<None>(); }},
    {"string", false, [](auto& v, auto&, auto&) { return v.text() != nullptr; }},
    {"number", false, [](auto& v, auto&, auto&) { return is_number(v); }},
    {"integer", false, [](auto& v, auto&, auto&) { return v.template is<int64_t>(); }},
    {"float", false, [](auto& v, auto&, auto&) { return v.template is<double>(); }},
    {"boolean", false, [](auto& v, auto&, auto&) { return v.template is<bool>(); }},
    {"true", false, [](auto& v, auto&, auto&) { return v.template is<bool>() && truth(v); }},
    {"false", false, [](auto& v, auto&, auto&) { return v.template is<bool>() && !truth(v); }},
    {"mapping", false, [](auto& v, auto&, auto&) { return v.members() != nullptr; }},
    {"sequence", false, has_items},
    {"iterable", false, [](auto& v, auto& o, auto& b) { return has_items(v, o, b) || v.template is<const Loop*>(); }},
    {"callable", false, is_called},
    {"escaped", false, [](auto& v, auto&, auto&) { return v.safe; }},
    {"odd", false, [](auto& v, auto&, auto&) { return leaves(v, {int64_t{2}}, 1); }},
    {"even", false, [](auto& v, auto&, auto&) { return leaves(v, {int64_t{2}}, 0); }},
    {"divisibleby", true, [](auto& v, auto& o, auto&) { return leaves(v, o, 0); }},
    {"lower", false, [](auto& v, auto&, auto& b) { return all_in_case(to_text(v, b), false); }},
    {"upper", false, [](auto& v, auto&, auto& b) { return all_in_case(to_text(v, b), true); }},
    {"in", true, [](auto& v, auto& o, auto& b) { return contains(o, v, b); }},
    {"sameas", true, [](auto& v, auto& o, auto& b) { return v.data.index() == o.data.index() && equal(v, o, b); }},
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

}  // namespace

bool takes_operand(std::string_view test) {
  const TestRow* row = row_of(kTests, test);
  return row == nullptr || row->operand;
}

bool apply_test(std::string_view name, const Value& input, const std::vector<Value>& operands, Budget& budget) {
  const TestRow* row = row_of(kTests, name);
  if (row == nullptr) refuse(fmt::format("the test '{}' is not supported", name));
  if (operands.size() != (row->operand ? 1U : 0U))
    refuse(fmt::format("the test '{}' takes {} operands, found {}", name, row->operand ? 1 : 0, operands.size()));
  budget.charge();
  return row->holds(input, row->operand ? operands[0] : input, budget);
}

}  // namespace ridge::text
