#include "text/template_parameters.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::text {

void refuse(std::string message) { throw TemplateError{std::move(message)}; }

Parameters::Parameters(std::string_view callee, const ParameterNames& names, const Arguments& arguments)
    : callee_(callee), names_(names), arguments_(arguments) {
  if (names == kAny) return;
  const auto* end = std::find(names.begin(), names.end(), "");
  const auto count = static_cast<size_t>(end - names.begin());
  if (arguments.places.size() > count)
    refuse(fmt::format("{} takes at most {} arguments, found {}", callee, count, arguments.places.size()));
  for (size_t i = 0; i < arguments.places.size(); ++i) values_[i] = &arguments.places[i];
  for (const auto& [name, value] : arguments.names) {
    const auto* found = std::find(names.begin(), end, name);
    if (found == end) refuse(fmt::format("{} has no parameter '{}'", callee, name));
    values_[static_cast<size_t>(found - names.begin())] = &value;
  }
}

const Value& Parameters::needed(size_t i) const {
  if (!values_[i]) refuse(fmt::format("{} needs '{}'", callee_, names_[i]));
  return *values_[i];
}

std::optional<std::string_view> Parameters::text(size_t i) const {
  const Value* value = get(i);
  if (!value) return std::nullopt;
  if (!value->text()) refuse(fmt::format("{}: '{}' should be a str, found {}", callee_, names_[i], type_name(*value)));
  return *value->text();
}

std::string_view Parameters::needed_text(size_t i) const {
  needed(i);
  return text(i).value_or("");
}

int64_t Parameters::integer(size_t i, int64_t otherwise) const {
  const Value* value = get(i);
  if (!value) return otherwise;
  if (value->is<bool>()) return std::get<bool>(value->data);
  if (!value->is<int64_t>())
    refuse(fmt::format("{}: '{}' should be an int, found {}", callee_, names_[i], type_name(*value)));
  return std::get<int64_t>(value->data);
}

}  // namespace ridge::text
