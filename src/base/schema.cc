#include "base/schema.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "base/proc_text.h"

namespace ridge {
namespace {

constexpr const char *kColumns = "columns", *kCsv = "csv";

struct NamedUnit {
  std::string_view end, unit;
};
constexpr NamedUnit kUnits[] = {
    {"_ms", "ms"}, {"_per_s", "/s"}, {"_percent", "%"}, {"percent_of_limit", "% of the limit"}, {"_bytes", "B"}};

// The row that a name ends with, or is; null: none.
const NamedUnit* row_of(std::string_view name) {
  const auto* row = std::ranges::find_if(
      kUnits, [&](const NamedUnit& each) { return name.ends_with(each.end) || name == each.end.substr(1); });
  return row == std::end(kUnits) ? nullptr : row;
}

void joined(std::string& words, std::string_view word, char with) {
  if (!words.empty() && !word.empty()) words += with;
  words += word;
}

struct Path {
  std::string member, id, label, unit, csv, better, range_of;
  int leaves = 0;
};

std::string text_at(const Json& schema, const char* name) { return schema.value(name, std::string()); }

bool has_marks(const Json& properties, const char* mark) {
  return std::ranges::any_of(properties, [&](const Json& field) { return field.contains(mark); });
}

// "p99 at 95 %" of "{} at 95 %" and "p99"; else one after the other.
std::string labelled(std::string label, const std::string& part) {
  if (const size_t at = label.find("{}"); at != std::string::npos) return label.replace(at, 2, part);
  joined(label, part, ' ');
  return label;
}

// "output-tokens" of "output_tokens_per_s".
std::string id_of(std::string name) {
  const NamedUnit* row = row_of(name);
  if (row != nullptr && row->end.front() == '_' && name.ends_with(row->end)) name.resize(name.size() - row->end.size());
  std::ranges::replace(name, '_', '-');
  return name;
}

// Calls `found` for each figure beneath `schema` that has the mark, kColumns or kCsv; with `parts`, for these.
void walk(const Json& schema, const char* mark, const Path& path, const std::vector<std::string>& parts,
          const std::function<void(const Path&)>& found) {
  const Json& properties = schema.at("properties");
  const bool all = mark == kCsv && !has_marks(properties, mark);
  for (const auto& [name, field] : properties.items()) {
    if (parts.empty() ? !all && !field.contains(mark) : std::ranges::find(parts, name) == parts.end()) continue;
    const bool has_parts = field.contains("properties");
    const std::string marked = text_at(field, mark);
    Path here = path;
    here.member += "/" + name;
    joined(here.id, id_of(name), '-');
    if (field.contains("better")) here.better = text_at(field, "better");
    here.leaves = field.value("leaves", here.leaves);
    here.range_of = text_at(field, "range_of");
    here.label = labelled(path.label, parts.empty() || field.contains("title") ? text_at(field, "title") : name);
    joined(here.csv, mark == kCsv && marked.empty() && (!has_parts || all) ? name : marked, '_');
    if (const std::string unit = text_at(field, "unit"); !unit.empty()) here.unit = unit;
    if (has_parts && (mark == kCsv || !marked.empty()))
      walk(field, mark, here, mark == kCsv || marked == "*" ? std::vector<std::string>() : split_words(marked), found);
    else
      found(here);
  }
}

}  // namespace

void set_type(Json& schema, const char* type) { schema["type"] = type; }
void add_name(Json& schema, std::string_view name) { schema["enum"].push_back(std::string(name)); }

Json& element_schema(Json& schema) {
  set_type(schema, "array");
  return schema["items"] = Json::object();
}

Json& named_schema(Json& schema) {
  set_type(schema, "object");
  return schema["additionalProperties"] = Json::object();
}

Json& field_schema(Json& object, std::string_view name, const Figure& figure, bool required) {
  Json& properties = object["properties"];
  if (properties.is_null()) properties = Json::object();
  // First, as an object that grows copies its members.
  if (required && !properties.contains(std::string(name))) object["required"].push_back(std::string(name));
  Json& schema = object["properties"][std::string(name)];  // may be there: a list that others add to
  if (schema.is_null()) schema = Json::object();
  if (*figure.label_ != '\0') schema["title"] = figure.label_;
  if (*figure.meaning_ != '\0') schema["description"] = figure.meaning_;
  if (const std::string_view unit = *figure.unit_ != '\0' ? figure.unit_ : unit_of(name); !unit.empty())
    schema["unit"] = std::string(unit);
  if (figure.better_ != Better::kNeither) schema["better"] = figure.better_ == Better::kLow ? "low" : "high";
  if (figure.columns_ != nullptr) schema[kColumns] = figure.columns_;
  if (figure.leaves_ != 0) schema["leaves"] = figure.leaves_;
  if (*figure.range_of_ != 0) schema["range_of"] = figure.range_of_;
  if (figure.csv_ != nullptr) schema[kCsv] = figure.csv_;
  return schema;
}

void allow_null(Json& schema) {
  if (schema.contains("anyOf")) return schema["anyOf"].push_back(Json::object({{"type", "null"}}));
  if (!schema.contains("type") || schema["type"].is_array()) return;
  schema["type"] = Json::array({schema["type"], "null"});
  if (schema.contains("enum")) schema["enum"].push_back(nullptr);
}

Json& either_reason(Json& schema) {
  const Json reason = {
      {"type", "object"}, {"properties", {{"reason", {{"type", "string"}}}}}, {"required", {"reason"}}};
  schema["anyOf"] = Json::array({Json::object(), reason});
  return schema["anyOf"].front();
}

std::string_view unit_of(std::string_view name) {
  const NamedUnit* row = row_of(name);
  return row == nullptr ? std::string_view() : row->unit;
}

std::vector<Column> columns_of(const Json& schema) {
  std::vector<Column> columns;
  walk(schema, kColumns, {}, {}, [&](const Path& path) {
    const Better better = path.better == "low"    ? Better::kLow
                          : path.better == "high" ? Better::kHigh
                                                  : Better::kNeither;
    columns.push_back({path.member, path.id, path.label, path.unit, better, path.leaves, path.range_of});
  });
  std::stable_partition(columns.begin(), columns.end(),
                        [](const Column& column) { return column.leaves != Figure::kBelow; });
  for (auto range = columns.begin(); range != columns.end(); ++range)
    if (const auto figure = std::ranges::find(columns, range->range_of, &Column::member); figure < range)
      std::rotate(figure + 1, range, range + 1);
  return columns;
}

std::string csv_columns_of(const Json& schema) {
  std::string text;
  walk(schema, kCsv, {}, {}, [&](const Path& path) {
    const auto* unit = std::ranges::find(kUnits, path.unit, &NamedUnit::unit);
    std::string name = path.csv;
    if (unit != std::end(kUnits) && unit_of(name) != path.unit) name += unit->end;
    joined(text, name + "=" + path.member, ' ');
  });
  return text;
}

}  // namespace ridge
