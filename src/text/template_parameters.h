// Arguments of a call within a template, matched with the parameters of what is called. Throws TemplateError.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template_value.h"

namespace ridge::text {

[[noreturn]] void refuse(std::string message);

struct Arguments {
  std::vector<Value> places;
  std::vector<std::pair<std::string, Value>> names;
};

// Names, in their order; the rest is empty. kAny: the callee looks at the arguments itself.
using ParameterNames = std::array<std::string_view, 4>;
constexpr ParameterNames kAny{"*"};

class Parameters {
 public:
  // All three outlive it.
  Parameters(std::string_view callee, const ParameterNames& names, const Arguments& arguments);

  const Arguments& all() const { return arguments_; }
  // Null: not given, or None.
  const Value* get(size_t i) const { return values_[i] && !values_[i]->is<None>() ? values_[i] : nullptr; }
  const Value& needed(size_t i) const;
  std::optional<std::string_view> text(size_t i) const;
  std::string_view needed_text(size_t i) const;
  int64_t integer(size_t i, int64_t otherwise) const;
  bool flag(size_t i) const { return values_[i] && truth(*values_[i]); }

 private:
  std::string_view callee_;
  const ParameterNames& names_;
  const Arguments& arguments_;
  std::array<const Value*, ParameterNames().size()> values_{};
};

// The row of a table of names, or null.
template <typename Rows>
constexpr auto* row_of(const Rows& rows, std::string_view name) {
  for (const auto& row : rows)
    if (row.name == name) return &row;
  return static_cast<decltype(&*rows.begin())>(nullptr);
}

}  // namespace ridge::text
