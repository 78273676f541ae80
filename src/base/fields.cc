#include "base/fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge {

std::string JsonCursor::path() const {
  if (parent_ == nullptr) return "";
  const std::string above = parent_->path();
  if (name_.empty()) return fmt::format("{}[{}]", above, index_);
  return above.empty() ? std::string(name_) : fmt::format("{}.{}", above, name_);
}

void JsonCursor::fail(const std::string& what) const {
  if (!ok()) return;
  const std::string where = path();
  *status_ = invalid((where.empty() ? "the document " : "member '" + where + "' ") + what);
}

void JsonCursor::fail(const Error& error) const {
  if (!ok()) return;
  const std::string where = path();
  *status_ = where.empty() ? error : wrap(error, "member '" + where + "'");
}

void JsonCursor::mistyped(std::string_view expected) const {
  fail(fmt::format("should be {}, found {}", expected, dump_json(*json_).substr(0, 80)));
}

std::optional<JsonCursor> JsonCursor::member(std::string_view name) const {
  if (!json_->is_object()) {
    mistyped("an object");
    return std::nullopt;
  }
  const auto found = json_->find(name);
  if (found == json_->end() || found->is_null()) return std::nullopt;
  return JsonCursor(*found, *this, name, 0);
}

JsonCursor JsonCursor::absent(std::string_view name) const {
  static const Json kEmpty = Json::object();
  return JsonCursor(kEmpty, *this, name, 0);
}

void JsonCursor::each_element(const std::function<void(JsonCursor)>& read) const {
  if (!json_->is_array()) return mistyped("an array");
  for (size_t i = 0; i < json_->size(); ++i) read(JsonCursor((*json_)[i], *this, "", i));
}

void JsonCursor::each_member(const std::function<void(const std::string&, JsonCursor)>& read) const {
  if (!json_->is_object()) return mistyped("an object");
  for (const auto& [name, member] : json_->items()) read(name, JsonCursor(member, *this, name, 0));
}

void JsonCursor::read(bool& value) const {
  if (!json_->is_boolean()) return mistyped("a boolean");
  value = json_->get<bool>();
}

void JsonCursor::read(std::string& value) const {
  if (!json_->is_string()) return mistyped("a string");
  value = json_->get<std::string>();
}

void JsonCursor::read(int64_t& value, Range range) const {
  if (!json_->is_number_integer()) return mistyped("an integer");
  double number = 0;
  read(number, range);
  if (ok()) value = json_->get<int64_t>();
}

void JsonCursor::read(double& value, Range range) const {
  if (!json_->is_number()) return mistyped("a number");
  const double number = json_->get<double>();
  if (number < range.least || (range.open && number <= range.least))
    return fail(fmt::format("is {}; {} {} is needed", number, range.open ? "more than" : "at least", range.least));
  value = number;
}

Json& make_object(Json& json) {
  if (json.is_null()) json = Json::object();
  return json;
}

Json& make_array(Json& json) { return json = Json::array(); }
Json& add_member(Json& object, std::string_view name) { return object[std::string(name)]; }
Json& add_element(Json& array) { return array.emplace_back(); }
void set_json(Json& json, bool value) { json = value; }
void set_json(Json& json, int64_t value) { json = value; }
void set_json(Json& json, uint64_t value) { json = value; }
void set_json(Json& json, double value) { json = value; }
void set_json(Json& json, std::string_view value) { json = value; }

}  // namespace ridge
